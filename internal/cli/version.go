package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Example: "  custos version\n  custos version --json",
		Short:   "The version of this program",
		RunE: func(*cobra.Command, []string) error {
			return a.showVersion()
		},
	}
}

func (a *app) showVersion() error {
	v := api.Version{Version: a.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Schema: ledgerSchema()}
	return a.show(v, func(p *page) { p.line("custos %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch) })
}
