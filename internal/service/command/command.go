// Package command is custos service as a person types it: flags in, words out. What it stands
// on is handed to it by the command line.
package command

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/service"
	"custos/internal/sys/systemd"
)

// Port is what the command line gives.
type Port struct {
	Machine service.Machine
	// Config says which custos.toml was named, as an absolute path, "" for the usual one; its
	// error is what keeps a daemon from beginning.
	Config func() (string, error)
	Health func(ctx context.Context) service.Health
	JSON   func() bool
	// Show prints a value as JSON, or the lines and what may be typed next.
	Show func(v any, lines []string, next []api.Hint) error
	Raw  func(text string) error // prints a text as it is
	Note func(text string)       // says something beside what is printed
	// Doing says what is waited for, until what it returns is called.
	Doing func(what string) func()
	// Unwell and Unanswered end the command with codes 1 and 3, without words.
	Unwell, Unanswered error
}

// flags are those of service.
type flags struct {
	user, system   bool
	replace, print bool
	env            []string
}

// New makes the command.
func New(p Port) *cobra.Command {
	c := &cobra.Command{
		Use:     "service",
		Short:   "Have systemd keep the daemon running",
		Example: "  custos service install\n  custos service status",
		Long: `service writes, shows and removes the unit by which systemd starts the daemon and keeps
it running: in the manager of this user (--user, the default but for root), or in that
of the system (--system, which root writes). No agent ends by any of it.`,
	}
	c.AddCommand(p.installCommand(), p.statusCommand(), p.uninstallCommand())
	return c
}

func (f *flags) of(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&f.user, "user", false, "the unit of this user's own manager")
	c.Flags().BoolVar(&f.system, "system", false, "the unit of the system")
	c.MarkFlagsMutuallyExclusive("user", "system")
	return c
}

func (p Port) installCommand() *cobra.Command {
	var f flags
	c := f.of(&cobra.Command{
		Use:   "install",
		Short: "Write the unit, begin, and see that the daemon is well",
		Long: `install writes custos.service with the path of this program, PATH as it is here and
the few variables by which things are found (--env names more), has it begin now and
whenever its manager does, and waits a minute for custos health. Where the daemon does
not get well, everything is put back. A unit that somebody else wrote, or has changed, is
left without --replace, its difference shown. Typed again, it changes nothing.`,
		Example: "  custos service install\n  custos service install --env SSH_AUTH_SOCK\n  custos service install --print",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.install(cmd.Context(), f) },
	})
	c.Flags().BoolVar(&f.replace, "replace", false, "overwrite a unit that somebody else wrote, or has changed")
	c.Flags().BoolVar(&f.print, "print", false, "print the unit, and write nothing; it takes no systemd")
	c.Flags().StringArrayVar(&f.env, "env", nil, "give the daemon the variable `NAME` as it is here; may be repeated")
	return c
}

// service finds the service that the flags mean.
func (p Port) service(f flags) (*service.Service, error) {
	file, err := p.Config()
	if err != nil {
		return nil, err
	}
	s, err := service.New(p.Machine, service.Options{System: f.system || !f.user && p.Machine.IsRoot(), Config: file, Env: f.env, Replace: f.replace, Health: p.Health})
	return s, failure(err)
}

// failure is what went wrong, with what may be done instead.
func failure(err error) error {
	var refused *service.Refusal
	const instead = "custos service install --print"
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &api.Error{Kind: api.BadInput, Message: "nothing was changed: " + refused.Why, Hint: refused.Try}
	case errors.Is(err, systemd.ErrAbsent):
		return &api.Error{Kind: api.CannotLook, Hint: instead,
			Message: "nothing was changed: systemd does not run here. In a container let its engine start custos up; elsewhere have your service manager start it as the unit says that --print prints"}
	case errors.Is(err, service.ErrNoSystemd):
		return &api.Error{Kind: api.CannotLook, Message: "nothing was changed: " + err.Error(), Hint: instead}
	case errors.Is(err, service.ErrUndone):
		return &api.Error{Kind: api.CannotLook, Message: "cannot install the service, and everything is as it was: " + err.Error()}
	}
	return &api.Error{Kind: api.CannotLook, Message: err.Error()}
}

// withJournal names where the daemon said why it did not get well.
func withJournal(said, err error, s *service.Service) error {
	if e, ok := errors.AsType[*api.Error](said); ok && errors.Is(err, service.ErrUndone) {
		e.Hint = s.Journal()
	}
	return said
}

func (p Port) install(ctx context.Context, f flags) error {
	s, err := p.service(f)
	if err != nil {
		return err
	}
	plan, err := s.Compose()
	if err == nil && f.print {
		return p.print(plan)
	}
	if err == nil {
		plan, err = s.Look(plan)
	}
	if err != nil {
		return failure(err)
	}
	if plan.Was != "" && plan.Changes() {
		p.Note(string(diff.Diff(plan.Path, []byte(plan.Was), plan.Path+" (after)", []byte(plan.Text))))
	}
	ended := p.Doing("waiting until the daemon is well")
	done, err := s.Install(ctx)
	ended()
	if err != nil {
		return withJournal(failure(err), err, s)
	}
	next := []api.Hint{{Command: "custos service status", What: "how the unit is"}}
	if done.Linger == "no" || done.Linger == "unknown" {
		next = append([]api.Hint{{Command: s.LingerCommand(), What: "have it begin at boot, and run on when you log out"}}, next...)
	}
	return p.Show(done, installed(done), next)
}

func (p Port) print(plan service.Plan) error {
	if p.JSON() {
		return p.Show(plan, nil, nil)
	}
	return p.Raw(plan.Text)
}

func installed(d service.Done) []string {
	did := map[string]string{"nothing": "It is so already", "installed": "Installed, and running", "replaced": "Replaced, and running", "started": "Started", "enabled": "Enabled"}[d.Did]
	return append([]string{did + ": " + d.Path, d.Health}, d.Notes...)
}

func (p Port) statusCommand() *cobra.Command {
	var f flags
	return f.of(&cobra.Command{
		Use:   "status",
		Short: "Whether the unit is there, runs, and is as it should be",
		Long: `status says of the unit which program it starts and of which version that is, whether it
is enabled, runs, and goes on when its user logs out, and what of it is not as custos
service install would have it. Without --user and --system it says that of both managers.
Exit code 1: there is none, it does not run, or it is not as it should be; 3: systemd cannot
be asked.`,
		Example: "  custos service status\n  custos service status --system --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.status(cmd.Context(), f) },
	})
}

func (p Port) status(ctx context.Context, f flags) error {
	first, err := p.service(flags{user: f.user, system: f.system && p.Machine.IsRoot()})
	if err != nil {
		return err
	}
	list, err := first.Statuses(ctx, f.user, f.system)
	if err != nil {
		return failure(err)
	}
	var next []api.Hint
	if !slices.ContainsFunc(list, isThere) {
		next = []api.Hint{{Command: "custos service install", What: "have systemd keep the daemon running"}}
	}
	if err := p.Show(map[string]any{"units": list}, statusLines(list), next); err != nil {
		return err
	}
	return p.worst(list)
}

func isThere(st service.Status) bool { return st.Unit != "" }

// worst is what is said of several units: one that is not there is none where another is.
func (p Port) worst(list []service.Status) error {
	there := slices.DeleteFunc(slices.Clone(list), func(st service.Status) bool { return !isThere(st) })
	unknown := func(st service.Status) bool { return !st.Known }
	amiss := func(st service.Status) bool {
		return st.Active != "active" || !st.Enabled || len(st.Broken)+len(st.Drift) > 0
	}
	switch {
	case len(there) == 0 && slices.ContainsFunc(list, unknown), slices.ContainsFunc(there, unknown):
		return p.Unanswered
	case len(there) == 0 || slices.ContainsFunc(there, amiss):
		return p.Unwell
	}
	return nil
}

func statusLines(list []service.Status) (lines []string) {
	for _, st := range list {
		lines = append(lines, st.Manager+": "+cmp.Or(st.Unit, "no custos.service"))
		if !st.Known {
			lines = append(lines, "  not known: "+st.Why)
		}
		if !st.Known || !isThere(st) {
			continue
		}
		begins := map[bool]string{true: "begins with its manager", false: "does not begin by itself"}[st.Enabled]
		lines = append(lines, "  program: "+strings.TrimSpace(st.Program+" "+st.Version), "  state: "+st.Active+", "+begins)
		if st.Linger != "" {
			lines = append(lines, "  lingers: "+st.Linger)
		}
		for _, b := range st.Broken {
			lines = append(lines, "  broken: "+b)
		}
		for _, d := range st.Drift {
			lines = append(lines, "  differs: "+d)
		}
	}
	return lines
}

func (p Port) uninstallCommand() *cobra.Command {
	var f flags
	c := f.of(&cobra.Command{
		Use:   "uninstall",
		Short: "Stop the daemon and remove the unit; every agent runs on",
		Long: `uninstall stops the daemon of the unit, keeps it from beginning again, and removes the
unit. Every agent runs on, and what Custos wrote down stays. It refuses where the stop
of the unit would end agents, and leaves a unit that somebody else wrote, or has changed,
without --edited.`,
		Example: "  custos service uninstall",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.uninstall(cmd.Context(), f) },
	})
	c.Flags().BoolVar(&f.replace, "edited", false, "also a unit that somebody else wrote, or has changed")
	return c
}

func (p Port) uninstall(ctx context.Context, f flags) error {
	s, err := p.service(f)
	if err != nil {
		return err
	}
	ended := p.Doing("stopping the daemon")
	out, err := s.Uninstall(ctx)
	ended()
	if err != nil {
		return failure(err)
	}
	return p.Show(out, removed(out), nil)
}

func removed(out service.Removed) (lines []string) {
	if !out.Did {
		lines = append(lines, "There was nothing to remove.")
	}
	if out.Stopped {
		lines = append(lines, "The daemon is down. Every agent runs on.")
	}
	if out.Unit != "" {
		lines = append(lines, "removed "+out.Unit)
	}
	if out.Stays != "" {
		lines = append(lines, "stays: "+out.Stays+", which a package brought")
	}
	return lines
}
