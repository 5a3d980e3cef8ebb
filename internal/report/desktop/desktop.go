// Package desktop shows messages to people on the desktop of the machine Custos runs on, by
// notify-send.
package desktop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/program"
)

// Options say how the program is reached.
type Options struct {
	Name    string
	Program string // default notify-send
	Getenv  func(string) string
}

// Notifier shows each message for as long as the desktop shows such things.
type Notifier struct{ o Options }

var _ report.Notifier = Notifier{}

// New returns the notifier.
func New(o Options) Notifier {
	if o.Program == "" {
		o.Program = "notify-send"
	}
	return Notifier{o}
}

// Name is what routes call it.
func (n Notifier) Name() string { return n.o.Name }

const (
	deadline = 10 * time.Second
	maxText  = 600 // bytes: a bubble, not a page
)

// Notify runs the program. The text is one argument, which no shell reads; it
// passed the redaction of every message.
func (n Notifier) Notify(ctx context.Context, m fleet.Message) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	argv := []string{n.o.Program, "--app-name=custos", "--urgency=" + urgency(m), "--", m.Subject, plain(report.Clip(m.Body, maxText))}
	_, err := program.Run(ctx, program.Call{Argv: argv, Max: 1 << 16,
		Env: program.Environ(n.o.Getenv, "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")})
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("cannot find %s (of the package libnotify-bin): %w", n.o.Program, err)
	case err != nil:
		return fmt.Errorf("cannot run %s: %w", n.o.Program, err)
	}
	return nil
}

func urgency(m fleet.Message) string {
	switch {
	case m.AllClear:
		return "low"
	case m.Priority.AtLeast(fleet.P1):
		return "critical"
	}
	return "normal"
}

// plain keeps a desktop that reads markup from reading any.
func plain(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
