package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/setup"
	"custos/internal/sys/settings"
)

// tmuxSetup is what is asked of custos setup tmux.
type tmuxSetup struct {
	file, key        string
	undo, print, yes bool
}

func (a *app) setupTmuxCommand() *cobra.Command {
	var s tmuxSetup
	c := &cobra.Command{
		Use:   "tmux",
		Short: "Who needs you in the status line of your tmux, and custos top behind a key",
		Long: `setup tmux adds a few marked lines to your tmux.conf: the line of custos status --tmux at
the right of the status line, and a key (prefix u, or --key) that opens custos top in a
window above all others. It shows what would change, and changes it when you say yes; --undo
takes out just these lines. The file as it was is kept beside it, with .before-custos at
the end of its name. --print only prints the lines.`,
		Example: "  custos setup tmux --print\n  custos setup tmux\n  custos setup tmux --undo",
		RunE:    func(*cobra.Command, []string) error { return a.setupTmux(s) },
	}
	c.Flags().StringVar(&s.file, "file", "", "the tmux.conf `FILE` (default: yours)")
	c.Flags().StringVar(&s.key, "key", "u", "the `KEY` after tmux' prefix")
	c.Flags().BoolVar(&s.undo, "undo", false, "take the lines out again")
	c.Flags().BoolVar(&s.print, "print", false, "only print the lines")
	c.Flags().BoolVar(&s.yes, "yes", false, "do not ask")
	return c
}

func (a *app) setupTmux(s tmuxSetup) error {
	lines, err := a.tmuxLines(s.key)
	if err != nil {
		return err
	}
	if s.print {
		return a.show(map[string]string{"lines": lines}, func(p *page) { p.buf.WriteString(lines) })
	}
	f, err := settings.Read(a.tmuxConf(s.file))
	if err != nil {
		return usage("%s", flat(err.Error()))
	}
	text, err := setup.WithoutTmux(string(f.Was))
	if err != nil {
		return usage("cannot change %s: %v", flat(f.Path), err)
	}
	if !s.undo {
		if line := setup.BoundAt(text, s.key); line > 0 {
			return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot bind %s: %s:%d binds it already", s.key, flat(f.Path), line), Hint: "custos setup tmux --key KEY"}
		}
		text = setup.WithTmux(text, lines)
	}
	return a.changeTmux(f, text, s)
}

// changeTmux shows what changes, asks, and writes.
func (a *app) changeTmux(f settings.File, text string, s tmuxSetup) error {
	said := map[string]any{"file": f.Path, "changed": text != string(f.Was)}
	if text == string(f.Was) {
		return a.show(said, func(p *page) { p.line("There is nothing to change in %s.", p.path(f.Path)) })
	}
	if !a.json {
		p := a.page()
		p.buf.WriteString(clean(string(diff.Diff(f.Path, f.Was, f.Path+" (after)", []byte(text)))))
		if err := p.flush(); err != nil {
			return err
		}
	}
	if !s.yes && !a.confirmed("Change "+f.Path+"? Type yes: ") {
		return &api.Error{Kind: api.BadInput, Message: "nothing was changed: it takes a yes", Hint: "custos setup tmux --yes"}
	}
	write := f.Change
	if s.undo {
		write = f.Undo
	}
	if err := f.Same(); err != nil {
		return usage("%s", flat(err.Error()))
	}
	if err := write([]byte(text)); err != nil {
		return usage("%s", flat(err.Error()))
	}
	then := shell([]string{"tmux", "source-file", f.Path})
	if s.undo {
		then = tmuxForgets(f.Path, string(f.Was))
	}
	said["then"] = then
	return a.show(said, func(p *page) {
		if then == "" { // the lines were changed by hand
			p.line("%s is changed.", p.path(f.Path))
			return
		}
		p.line("%s is changed. A tmux that runs takes it up with: %s", p.path(f.Path), then)
	})
}

// tmuxForgets is the command that takes what a tmux.conf said of ours out of a tmux that runs,
// now that the file is without it, or gone; "" where it said nothing of ours.
func tmuxForgets(file, was string) string {
	key := setup.TmuxKey(was)
	if key == "" {
		return ""
	}
	if _, err := os.Stat(file); err != nil {
		file = ""
	}
	return shell(setup.TmuxForgets(key, file))
}

// tmuxConf is the person's tmux.conf: the one that is there, else the usual one.
func (a *app) tmuxConf(file string) string {
	if file != "" {
		return file
	}
	config := a.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(a.home(), ".config")
	}
	usual, other := filepath.Join(a.home(), ".tmux.conf"), filepath.Join(config, "tmux", "tmux.conf")
	if _, err := os.Lstat(usual); err != nil {
		if _, err := os.Lstat(other); err == nil {
			return other
		}
	}
	return usual
}

// plainCommand is what can stand in a tmux.conf as it is.
var plainCommand = regexp.MustCompile(`^[A-Za-z0-9_./+-]+$`)

// tmuxLines are ours. Read again, they add nothing twice.
func (a *app) tmuxLines(key string) (string, error) {
	custos, err := a.myself()
	if err != nil {
		return "", err
	}
	lines, err := setup.TmuxLines(custos, key)
	if err != nil {
		return "", usage("%s", flat(err.Error()))
	}
	return lines, nil
}

// myself is how this program is called from tmux, with its configuration.
func (a *app) myself() (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find out where this program is: %w", err)
	}
	if found, err := exec.LookPath("custos"); err == nil && sameFile(found, file) {
		file = "custos"
	}
	words := []string{file}
	if a.file != "" {
		conf, err := filepath.Abs(a.file)
		if err != nil {
			return "", fmt.Errorf("cannot find %s: %w", a.file, err)
		}
		words = append(words, "--config", conf)
	}
	for _, w := range words {
		if !plainCommand.MatchString(w) {
			return "", usage("cannot write %q into a tmux.conf: its name has characters that tmux or the shell takes for its own", flat(w))
		}
	}
	return strings.Join(words, " "), nil
}
