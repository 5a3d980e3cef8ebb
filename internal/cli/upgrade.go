//go:build linux && !custos_client

package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"custos/internal/upgrade"
)

func (a *app) upgradeCommand() *cobra.Command {
	var o upgrade.Order
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Exchange Custos for another release; every agent runs on",
		Long: `upgrade takes an archive of a release, with SHA256SUMS and SHA256SUMS.minisig beside
it, and puts its three programs in the places of those that run: it verifies them by
the public key, tries them, copies the ledger, exchanges the programs by rename, and has
the daemon go on as the new one, in the same process. When that has not made a whole
pass within a minute, or ends, the old programs are put back, and the ledger, where the
new ones had brought it up to date. Agents keep running, whatever happens.

Nothing is fetched. Without --from it says how it stands: versions, backups, and what
was cut off. --check says what is in the archive, and what would be refused. What a
package manager has put in its place is left to that one. The key is release.pub beside
custos.toml, unless --key names it. Programs that do not read the ledger any more are
refused, and the backup that they read is named.`,
		Example: "  custos upgrade --check --from custos_0.2.0_linux_amd64.tar.gz --key custos.pub\n  custos upgrade --from custos_0.2.0_linux_amd64.tar.gz",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.upgrade(cmd, o) },
	}
	c.Flags().StringVar(&o.From, "from", "", "the `FILE` of the release: custos_0.2.0_linux_amd64.tar.gz")
	c.Flags().StringVar(&o.Key, "key", "", "the `FILE` with the public key, as minisign writes it")
	c.Flags().BoolVar(&o.Unsigned, "unsigned", false, "take a release that nobody vouches for")
	c.Flags().BoolVar(&o.Check, "check", false, "say what it is, and what would be refused; change nothing")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "say each step; change nothing")
	c.Flags().BoolVar(&o.Settle, "settle", false, "put right what was cut off")
	c.MarkFlagsMutuallyExclusive("key", "unsigned")
	return c
}

func (a *app) upgrade(cmd *cobra.Command, o upgrade.Order) error {
	for _, name := range []string{"from", "key"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usage("cannot upgrade: --%s names no file", name)
		}
	}
	conf, err := a.config()
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err == nil && (o.From != "" || o.Settle) && !o.Check && !o.DryRun {
		err = a.Daemon.Person(conf, "upgrade")
	}
	if err != nil {
		return localError(err)
	}
	w := upgrade.World{Config: conf, Own: own, Getenv: a.Getenv, Dial: a.dial, Runs: a.runs}
	w.End = func(ctx context.Context) error { _, err := a.Daemon.End(ctx, conf); return err }
	at := a.progress("looking")
	r, err := w.Do(cmd.Context(), a.Version, o, at.now)
	at.end()
	if err != nil {
		return localError(err)
	}
	return a.show(r, func(p *page) {
		for _, line := range r.Lines() {
			p.line("%s", clean(line))
		}
	})
}
