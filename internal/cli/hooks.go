package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/sys/settings"
)

func (a *app) hooksCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "hooks",
		Short: "Let agents that Custos did not start report what they do",
		Long: `hooks adds Custos's hooks to the settings of an agent CLI, or takes them out
again. It is for agents that a person starts: those that Custos starts get their
hooks on the command line. Those of a kind with accounts ([account.NAME] of custos.toml) are
changed in the folder of each. Only our own lines are added or taken out; what else is
in the file stays as it is, byte for byte.`,
	}
	c.AddCommand(
		a.hookCommand("install", "Add our hooks to the settings of a kind of agent",
			`install shows what would change in the settings, and changes it when you say yes.
The file as it was is kept beside it, with .before-custos at the end of its name.
Agents that run already take up new hooks when they are started again.`),
		a.hookCommand("uninstall", "Take our hooks out of the settings of a kind of agent",
			`uninstall takes out what install put in: the file is then what it was before. It
shows what would change, and changes it when you say yes.`),
		a.hookCommand("status", "Which of our hooks are in the settings of a kind of agent", ""))
	return c
}

func (a *app) hookCommand(do, short, long string) *cobra.Command {
	var file string
	var yes bool
	c := &cobra.Command{
		Use: do + " KIND", Short: short, Long: long,
		Example: "  custos hooks " + do + " claude",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := a.hookChanges(cmd.Context(), do, args[0], file)
			if err != nil {
				return err
			}
			if do == "status" {
				return a.showHooks(all, writeHookState)
			}
			return a.changeHooks(all, do, yes)
		},
	}
	c.Flags().StringVar(&file, "file", "", "the settings `FILE` (default: the kind's own, below the home)")
	if do != "status" {
		c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	return c
}

// hookChange is a settings file as it is, and as it is to be.
type hookChange struct {
	settings.File
	next    api.HookFile
	changed bool
}

// hookState is what is said of a settings file.
type hookState struct {
	Kind    string   `json:"kind"`
	File    string   `json:"file"`
	Exists  bool     `json:"exists"`
	Changed bool     `json:"changed"` // by this command
	Events  []string `json:"events"`
	Missing []string `json:"missing"`
	Command string   `json:"command,omitempty"`
	Limits  []string `json:"limits"`
}

func (s hookChange) state() hookState {
	n := s.next
	return hookState{Kind: n.Kind, File: s.Path, Exists: s.Exists, Changed: s.changed, Events: n.Events, Missing: n.Missing, Command: n.Command, Limits: n.Limits}
}

// hookChanges reads the settings of a kind, its own and those in the folders of its accounts, and asks what is to
// become of each. Which files these are may only be known after asking.
func (a *app) hookChanges(ctx context.Context, do, kind, file string) (all []hookChange, err error) {
	edited := func(e api.HookEdit) (api.HookFile, error) {
		return put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.HookFile, error) { return c.EditHooks(ctx, kind, e) })
	}
	files := []string{file}
	if file == "" {
		usual, err := edited(api.HookEdit{Do: "status"})
		if err != nil {
			return nil, err
		}
		home := a.home()
		if home == "" || usual.Below == "" {
			return nil, usage("cannot find the settings of %s: name them with --file", flat(kind))
		}
		files = append([]string{filepath.Join(home, usual.Below)}, a.ofAccounts(usual.Also)...)
	}
	for _, file := range files {
		var s hookChange
		if s.File, err = settings.Read(file); err != nil {
			return nil, usage("%s", flat(err.Error()))
		}
		if s.next, err = edited(api.HookEdit{Do: do, Settings: string(s.Was)}); err != nil {
			return nil, err
		}
		s.changed = do != "status" && string(s.Was) != s.next.Settings
		all = append(all, s)
	}
	return all, nil
}

// ofAccounts are the settings whose folder is there: who makes it, logs in there first.
func (a *app) ofAccounts(files []string) (there []string) {
	for _, file := range files {
		if _, err := os.Stat(filepath.Dir(file)); err != nil {
			a.complain("left out: "+filepath.Dir(file)+", the folder of an account, is not there", "")
			continue
		}
		there = append(there, file)
	}
	return there
}

// changeHooks shows what changes, asks, and writes.
func (a *app) changeHooks(all []hookChange, do string, yes bool) error {
	var paths []string
	p := a.page()
	for _, s := range all {
		if s.changed {
			paths = append(paths, s.Path)
			p.buf.WriteString(clean(string(diff.Diff(s.Path, s.Was, s.Path+" (after)", []byte(s.next.Settings)))))
		}
	}
	if len(paths) == 0 {
		return a.showHooks(all, func(p *page, s hookState) { p.line("There is nothing to %s in %s.", do, p.path(s.File)) })
	}
	if !a.json {
		if err := p.flush(); err != nil {
			return err
		}
	}
	kind := all[0].next.Kind
	if !yes && !a.confirmed("Change "+strings.Join(paths, ", ")+"? Type yes: ") {
		return &api.Error{Kind: api.BadInput, Message: "nothing was changed: it takes a yes", Hint: shell([]string{"custos", "hooks", do, kind, "--yes"})}
	}
	for _, s := range all {
		if !s.changed {
			continue
		}
		if err := s.write(do); err != nil {
			return usage("%s", flat(err.Error()))
		}
	}
	return a.showHooks(all, func(p *page, s hookState) {
		switch {
		case !s.Changed:
			p.line("There is nothing to %s in %s.", do, p.path(s.File))
		case do == "install":
			writeHookState(p, s)
			p.next([]api.Hint{{Command: shell([]string{"custos", "hooks", "uninstall", kind}), What: "take them out again"}})
		default:
			p.line("Taken out of %s.", p.path(s.File))
		}
	})
}

// showHooks shows the state of each file; one alone is no list in JSON.
func (a *app) showHooks(all []hookChange, write func(*page, hookState)) error {
	states := make([]hookState, len(all))
	for i, s := range all {
		states[i] = s.state()
	}
	var v any = states
	if len(states) == 1 {
		v = states[0]
	}
	return a.show(v, func(p *page) {
		for _, s := range states {
			write(p, s)
		}
	})
}

// write puts the new text in place of the old one, with the files that it names, unless
// it was changed meanwhile.
func (s hookChange) write(do string) error {
	if err := s.Same(); err != nil {
		return err
	}
	for _, f := range s.next.Files {
		if err := settings.Lay(f.Path, []byte(f.Text), 0o600); err != nil {
			return err
		}
	}
	if do == "uninstall" {
		return s.Undo([]byte(s.next.Settings))
	}
	return s.Change([]byte(s.next.Settings))
}

func writeHookState(p *page, s hookState) {
	var f facts
	f.add("file", p.path(s.File))
	if !s.Exists && !s.Changed {
		f.add("", "it is not there")
	}
	f.add("hooked", orNothing(flat(strings.Join(s.Events, ", "))))
	f.add("not hooked", flat(strings.Join(s.Missing, ", ")))
	f.add("calls", flat(s.Command))
	p.table([]column{{paint: p.dim}, {}}, f)
	if len(s.Limits) > 0 {
		p.head("WHAT THEY DO NOT REPORT", "")
		for _, l := range s.Limits {
			p.text(2, l)
		}
	}
}
