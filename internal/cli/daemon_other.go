//go:build !linux || custos_client

package cli

import (
	"context"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/client"
)

// realDaemon is none: Custos watches Linux only.
func realDaemon(e Env) Daemon { return clientDaemon(e) }

func buries() (code int, is bool) { return 0, false }

func sections() []string { return client.Sections() }

func me() string { return "uid " + strconv.Itoa(os.Getuid()) }

// ledgerSchema is 0: there is no ledger.
func ledgerSchema() int { return 0 }

func doctorAlone(_ context.Context, _ string, cause error, _ []string) (api.Doctor, error) {
	return api.Doctor{}, cause
}

// upgradeCommand is refused, as all that is about this machine: see canLook.
func (a *app) upgradeCommand() *cobra.Command {
	return &cobra.Command{Use: "upgrade", Short: "Exchange Custos for another release", Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error { return client.Error() }}
}
