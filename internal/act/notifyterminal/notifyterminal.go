// Package notifyterminal is the action "notify-terminal": it prints one line to
// where Custos runs, and to the terminals of one's own that are configured.
package notifyterminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/act"
	"custos/internal/fleet"
)

// Do is the name of the action.
const Do = "notify-terminal"

// lineRunes bounds the line: a terminal is no log.
const lineRunes = 300

// Options is the section [notify_terminal] of custos.toml.
type Options struct {
	// TTYs are paths of terminals (/dev/pts/3) that get the line too, as long as
	// they are ours. Default: none.
	TTYs []string `toml:"ttys" is:"path"`

	Out io.Writer `toml:"-"` // where Custos runs; nil: nowhere
}

// Action implements act.Action.
type Action struct {
	o  Options
	mu sync.Mutex // one line at a time
}

// New returns the action.
func New(o Options) *Action { return &Action{o: o} }

// Ability implements act.Action. A line that is printed twice does no harm.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: Do, Idempotent: true, Harmless: true, Deadline: fleet.Duration(5 * time.Second)}
	if x.o.Out == nil && len(x.o.TTYs) == 0 {
		a.Cannot, a.Needs = "no terminal is known", "custos up, or ttys in [notify_terminal]"
	}
	return a
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	cmds := []fleet.Command{{Argv: []string{"echo", line(a)}}}
	for _, tty := range x.o.TTYs {
		cmds = append(cmds, fleet.Command{Argv: []string{"sh", "-c", `printf '\r\n%s\r\n' "$1" > "$2"`, "sh", line(a), fleet.Path(tty)}, Note: "only if it is a terminal of ours"})
	}
	return cmds
}

// line is what is told: "custos: [P2] agent-waiting agent/dev: waits for …".
// Escapes are gone and secrets hidden.
func line(a fleet.Action) string {
	return fleet.Line(fleet.Redact(fleet.Text(
		fmt.Sprintf("custos: [%s] %s %s: %s", a.Priority, a.For.Rule, a.Subject, a.Why))), lineRunes)
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot tell: %w", err)
	}
	if x.o.Out == nil && len(x.o.TTYs) == 0 {
		return nil, errors.New("cannot tell: no terminal is known")
	}
	return &run{x: x, line: line(a)}, nil
}

type run struct {
	x    *Action
	line string
	told int
	errs []error
}

// Do implements act.Run. It fails only when no terminal could be written to.
func (r *run) Do(ctx context.Context) error {
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot tell: %w", err)
	}
	if r.x.o.Out != nil {
		_, err := io.WriteString(r.x.o.Out, r.line+"\n")
		r.count(err)
	}
	for _, tty := range r.x.o.TTYs {
		r.count(write(tty, "\r\n"+r.line+"\r\n"))
	}
	if r.told == 0 {
		return fmt.Errorf("cannot tell anyone: %w", errors.Join(r.errs...))
	}
	return nil
}

func (r *run) count(err error) {
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	r.told++
}

// write prints to a terminal of our own, and never waits for it: one that is
// stopped by Ctrl-S gets nothing.
func write(path, text string) error {
	if err := ours(path); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: fleet.Path(path), Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
		return fmt.Errorf("cannot write to %s: it is no terminal", fleet.Path(path))
	}
	if n, err := unix.Write(fd, []byte(text)); err != nil || n < len(text) {
		return fmt.Errorf("cannot write to %s: %w", fleet.Path(path), errors.Join(err, errShort(n, len(text))))
	}
	return nil
}

func errShort(n, want int) error {
	if n == want {
		return nil
	}
	return io.ErrShortWrite
}

// ours looks before anything is opened: to open some devices is to use them.
func ours(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode()&os.ModeCharDevice == 0 {
		return fmt.Errorf("cannot write to %s: it is no terminal", fleet.Path(path))
	}
	if int(st.Uid) != os.Getuid() {
		return fmt.Errorf("cannot write to %s: it is another user's", fleet.Path(path))
	}
	return nil
}

// Verify implements act.Run.
func (r *run) Verify(context.Context) (string, error) {
	effect := fmt.Sprintf("told %d of %d", r.told, r.told+len(r.errs))
	if len(r.errs) > 0 {
		var why []string
		for _, err := range r.errs {
			why = append(why, fleet.Line(err.Error(), 120))
		}
		effect += ": " + strings.Join(why, "; ")
	}
	return effect, nil
}

// Close implements act.Run.
func (r *run) Close() {}
