package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// linesShown is how much of a screen is shown unless more is asked for, up
// to linesAtMost.
const (
	linesShown  = 50
	linesAtMost = 2000
)

func (c *Control) screen(ctx context.Context, call Call) (any, error) {
	name := call.ID
	lines, err := linesAsked(call, linesShown, linesAtMost)
	if err != nil {
		return nil, err
	}
	text, err := c.Screens.Screen(ctx, name, lines)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.nothingShown(ctx, name)
	case err != nil:
		return nil, CannotLook(err)
	}
	return api.Screen{Agent: name, At: c.Now().Wall.UTC(), Text: fleet.Redact(fleet.Text(text))}, nil
}

// nothingShown says why there is nothing to look at of an agent.
func (c *Control) nothingShown(ctx context.Context, name string) error {
	a, err := c.known(ctx, "look at", name)
	switch {
	case err != nil:
		return err
	case a.TerminalStopped != 0:
		return &api.Error{Kind: api.CannotLook, Message: fmt.Sprintf("cannot look at %q: %s", fleet.Line(name, 100), stoppedTerminal(a)), Hint: goOn(a)}
	}
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot look at %q: it has no terminal and no output of its own", fleet.Line(name, 100)),
		Hint: "custos why agent/" + name}
}

// stoppedTerminal says why an agent is neither seen nor reached whose terminal server is stopped.
func stoppedTerminal(a fleet.Agent) string {
	return fmt.Sprintf("its terminal server (process %d) is stopped by a signal", a.TerminalStopped)
}

// goOn is the command that has that server go on.
func goOn(a fleet.Agent) string { return api.Typed("kill", "-CONT", strconv.Itoa(a.TerminalStopped)) }

// known is an agent; an error where there is none of a name, or where that is not known; verb
// is what cannot be done then.
func (c *Control) known(ctx context.Context, verb, name string) (fleet.Agent, error) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return fleet.Agent{}, CannotLook(err)
	}
	registered, err := c.registration(ctx, name)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return fleet.Agent{}, err
	}
	return findAgent(verb, name, &pass.Snapshot, registered)
}

// linesOfLog is how many lines of a log are shown unless more is asked for, up to
// linesOfLogAtMost.
const (
	linesOfLog       = 200
	linesOfLogAtMost = 10000
)

// LogAsk says what of an agent's output is asked for.
type LogAsk struct {
	Agent    string
	Instance string // the newest one
	Errors   bool   // what it wrote to its standard error
	After    string // Next of the answer before; "": from the end
}

func (c *Control) log(ctx context.Context, call Call) (any, error) {
	name := call.ID
	lines, err := linesAsked(call, linesOfLog, linesOfLogAtMost)
	if err != nil {
		return nil, err
	}
	instance, err := c.logged(ctx, name)
	if err != nil {
		return nil, err
	}
	ask := LogAsk{Agent: name, Instance: instance, Errors: call.Ask("errors") == "true", After: call.Ask("after")}
	l, err := c.Screens.Log(ctx, ask)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noLogOf(name, "what it wrote is not kept any more", "custos why agent/"+name)
	case errors.Is(err, fs.ErrInvalid):
		return nil, api.AsBadInput(err)
	case err != nil:
		return nil, CannotLook(err)
	}
	l.Agent, l.At, l.Errors = name, c.Now().Wall.UTC(), ask.Errors
	return redacted(l, ask.After == "", lines), nil
}

// redacted cuts after it has redacted: half of a secret would not be known for one.
func redacted(l api.Log, fromTheEnd bool, lines int) api.Log {
	l.Text, l.Rest = fleet.Redact(fleet.Text(l.Text)), fleet.Redact(fleet.Text(l.Rest))
	if fromTheEnd {
		l.Text = lastLines(l.Text, lines)
	}
	return l
}

func lastLines(text string, n int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-n):], "") + text[len(strings.TrimSuffix(text, "\n")):]
}

// logged is the instance of an agent whose log is kept, or an error that says why none
// is. Where no record knows of the agent, what is seen of it says.
func (c *Control) logged(ctx context.Context, name string) (instance string, err error) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return "", CannotLook(err)
	}
	r, err := c.registration(ctx, name)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return "", err
	}
	a, err := findAgent("show the log of", name, &pass.Snapshot, r)
	switch {
	case err != nil:
		return "", err
	case r != nil:
		return r.Instance, unlessStopped(noLog(*r), a)
	}
	return a.Instance, unlessStopped(noLogUnrecorded(a), a)
}

// unlessStopped is the reason why no log of an agent is kept. It sends to its screen,
// which is not seen while its terminal server is stopped: that is said then.
func unlessStopped(why error, a fleet.Agent) error {
	if why == nil || a.TerminalStopped == 0 {
		return why
	}
	return &api.Error{Kind: api.NotFound, Message: why.Error() + "; and " + stoppedTerminal(a), Hint: goOn(a)}
}

// noLog says why nothing is kept of what a registered agent writes; nil where something is.
func noLog(r fleet.Registration) error {
	switch {
	case r.Owner == fleet.OwnerAdopted && r.Instance == "":
		return noLogOf(r.Name, "Custos did not start it, and keeps nothing of what it writes", "custos peek "+r.Name)
	case r.Instance == "":
		return noLogOf(r.Name, "no instance of it has begun", "custos why agent/"+r.Name)
	case r.Where != fleet.WhereHeadless:
		return noLogOf(r.Name, "it runs in tmux, which keeps only what is on its screen", "custos peek "+r.Name)
	}
	return nil
}

// noLogUnrecorded says why nothing is kept of what an agent writes that is on no record;
// nil where something is.
func noLogUnrecorded(a fleet.Agent) error {
	switch {
	case view.IsLost(a) && a.Pane == nil:
		return nil
	case view.IsLost(a):
		return noLogOf(a.Name, "it runs in tmux, which keeps only what is on its screen", "custos peek "+a.Name)
	case a.Owner == fleet.OwnerUnknown:
		return noLogOf(a.Name, "no shim of Custos keeps what it writes; whether Custos once cared for it is not known", "custos peek "+a.Name)
	}
	return noLogOf(a.Name, "Custos did not start it, and keeps nothing of what it writes", "custos peek "+a.Name)
}

func noLogOf(name, why, hint string) error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show the log of %q: %s", fleet.Line(name, 100), why), Hint: hint}
}

// linesAsked is how many lines a query asks for.
func linesAsked(call Call, usual, most int) (int, error) {
	text := call.Ask("lines")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, api.AsBadInput(fmt.Errorf("cannot show %q lines: want 1 to %d", fleet.Line(text, 20), most))
	}
	return n, nil
}

// Screens shows what agents show, and what they wrote.
type Screens interface {
	// Screen returns at most so many lines from the bottom of an agent's terminal,
	// or of what a headless one wrote: safe to show and redacted. An error that
	// wraps fs.ErrNotExist says that there is nothing to look at.
	Screen(ctx context.Context, agent string, lines int) (string, error)
	// Log returns the text, the rest and the end of what a headless agent wrote, as it
	// was kept. An error that wraps fs.ErrNotExist says that nothing is kept; one that
	// wraps fs.ErrInvalid that After is no answer's.
	Log(ctx context.Context, ask LogAsk) (api.Log, error)
}
