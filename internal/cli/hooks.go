package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) hooksCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "hooks",
		Short: "Let agents that Custos did not start report what they do",
		Long: `hooks adds Custos's hooks to the settings of an agent CLI, or takes them out
again. It is for agents that a person starts: those that Custos starts get their
hooks on the command line. Only our own lines are added or taken out; what else is
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
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.settings(cmd.Context(), do, args[0], file)
			if err != nil {
				return err
			}
			if do == "status" {
				return a.show(s.state(), func(p *page) { writeHookState(p, s.state()) })
			}
			return a.changeHooks(s, do, yes)
		},
	}
	c.Flags().StringVar(&file, "file", "", "the settings `FILE` (default: the kind's own, below the home)")
	if do != "status" {
		c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	return c
}

// settings is a settings file as it is, and as it is to be.
type settings struct {
	file   string
	was    []byte
	exists bool
	next   api.HookFile
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

func (s settings) state() hookState {
	n := s.next
	return hookState{Kind: n.Kind, File: s.file, Exists: s.exists, Events: n.Events, Missing: n.Missing, Command: n.Command, Limits: n.Limits}
}

// settings reads a settings file and asks what is to become of it. Which file it
// is may only be known after asking.
func (a *app) settings(ctx context.Context, do, kind, file string) (s settings, err error) {
	edited := func(e api.HookEdit) (api.HookFile, error) {
		return put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.HookFile, error) { return c.EditHooks(ctx, kind, e) })
	}
	if file == "" {
		usual, err := edited(api.HookEdit{Do: "status"})
		if err != nil {
			return s, err
		}
		home := a.home()
		if home == "" || usual.Below == "" {
			return s, usage("cannot find the settings of %s: name them with --file", flat(kind))
		}
		file = filepath.Join(home, usual.Below)
	}
	if s, err = readSettings(file); err != nil {
		return s, err
	}
	s.next, err = edited(api.HookEdit{Do: do, Settings: string(s.was)})
	return s, err
}

// largestSettings is more than any settings file has.
const largestSettings = 1 << 20

// readSettings reads the file that a name leads to: settings are often links
// into a folder that is under version control.
func readSettings(file string) (settings, error) {
	real, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(file); err == nil {
			return settings{}, usage("cannot read %s: it is a link to nothing", flat(file))
		}
		return settings{file: file}, nil
	}
	if err != nil {
		return settings{}, usage("cannot read the settings: %v", err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return settings{}, usage("cannot read the settings: %v", err)
	case !info.Mode().IsRegular() || info.Size() > largestSettings:
		return settings{}, usage("cannot read %s: it is no file, or larger than 1 MiB", flat(real))
	}
	b, err := os.ReadFile(real)
	if err != nil {
		return settings{}, usage("cannot read the settings: %v", err)
	}
	if !strings.Contains(string(b), "\x00") && string(b) == strings.ToValidUTF8(string(b), "") {
		return settings{file: real, was: b, exists: true}, nil
	}
	return settings{}, usage("cannot read %s: it is no text", flat(real))
}

// changeHooks shows what changes, asks, and writes.
func (a *app) changeHooks(s settings, do string, yes bool) error {
	st := s.state()
	if st.Changed = string(s.was) != s.next.Settings; !st.Changed {
		return a.show(st, func(p *page) { p.line("There is nothing to %s in %s.", do, p.path(s.file)) })
	}
	if !a.json {
		p := a.page()
		p.buf.WriteString(clean(string(diff.Diff(s.file, s.was, s.file+" (after)", []byte(s.next.Settings)))))
		if err := p.flush(); err != nil {
			return err
		}
	}
	if !yes && !a.confirmed("Change "+s.file+"? Type yes: ") {
		return &api.Error{Kind: api.BadInput, Message: "nothing was changed: it takes a yes", Hint: shell([]string{"custos", "hooks", do, s.next.Kind, "--yes"})}
	}
	if err := s.write(do); err != nil {
		return err
	}
	return a.show(st, func(p *page) {
		if do == "install" {
			writeHookState(p, st)
			p.next([]api.Hint{{Command: shell([]string{"custos", "hooks", "uninstall", st.Kind}), What: "take them out again"}})
			return
		}
		p.line("Taken out of %s.", p.path(s.file))
	})
}

// write puts the new text in place of the old one, at once, unless it was
// changed meanwhile. A file that install made goes again with uninstall.
func (s settings) write(do string) error {
	for _, f := range s.next.Files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return fmt.Errorf("cannot write the hooks: %w", err)
		}
		if err := replace(f.Path, []byte(f.Text), 0o600); err != nil {
			return err
		}
	}
	now, err := readSettings(s.file)
	if err != nil {
		return err
	}
	if now.exists != s.exists || !bytes.Equal(now.was, s.was) {
		return usage("cannot change %s: it was changed just now; nothing was written: run the command again", flat(s.file))
	}
	if do == "uninstall" {
		return s.undo()
	}
	mode := s.mode()
	if s.exists {
		if err := replace(s.kept(), s.was, mode); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("cannot write the settings: %w", err)
	}
	return replace(s.file, []byte(s.next.Settings), mode)
}

// undo leaves nothing behind: neither a file that install made, nor the one it
// kept, when that is what the settings are again.
func (s settings) undo() error {
	was, err := os.ReadFile(s.kept())
	kept := err == nil
	if s.next.Settings == "" && !kept {
		err = os.Remove(s.file)
	} else {
		err = replace(s.file, []byte(s.next.Settings), s.mode())
	}
	if err == nil && kept && string(was) == s.next.Settings {
		err = os.Remove(s.kept())
	}
	if err != nil {
		return fmt.Errorf("cannot undo the change of the settings: %w", err)
	}
	return nil
}

// kept is where the settings are kept as they were.
func (s settings) kept() string { return s.file + ".before-custos" }

func (s settings) mode() os.FileMode {
	if info, err := os.Stat(s.file); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}

// replace writes a file beside the old one and renames it: there is always a
// whole one.
func replace(file string, b []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".custos-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", flat(file), err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("cannot write %s: %w", flat(file), err)
	}
	return nil
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
