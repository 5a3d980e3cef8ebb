package agentrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Live is a running agent that is held: its process by a pidfd, its place by its
// identity.
type Live struct {
	World
	Agent    fleet.Agent
	Kind     agent.Kind
	Handle   *proc.Handle
	Provider session.Provider // nil when it has no place that can be reached
	Pane     fleet.PaneID
	Reg      *fleet.Registration // nil when it is not registered
}

// screenLines is how much of a screen is read: the longest dialog takes 16 lines.
const screenLines = 60

// Hold takes hold of an agent that was planned with. It fails with
// act.ErrRefused when it is not ours to touch, or has ended.
func (w World) Hold(ctx context.Context, a *fleet.Agent) (*Live, error) {
	if a == nil {
		return nil, errors.New("cannot act: the target is no agent")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at the agent: %w", err)
	}
	if !a.Owner.MayTouch() {
		return nil, Refused("it is not ours")
	}
	reg, err := w.Registration(ctx, a.Name, nil)
	if err != nil {
		return nil, err
	}
	h, err := w.open(a.Process)
	if errors.Is(err, proc.ErrGone) {
		return nil, Refused("it has ended")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take hold of the agent: %w", err)
	}
	l := &Live{World: w, Agent: *a, Handle: h, Reg: reg}
	l.Kind, _ = w.Kinds.Get(a.Kind)
	return l, nil
}

// Prepare holds an agent for a run, and lets go of it again where ready refuses.
func Prepare[R act.Run](ctx context.Context, w World, a *fleet.Agent, of func(*Live) R, ready func(R, context.Context) error) (act.Run, error) {
	live, err := w.Hold(ctx, a)
	if err != nil {
		return nil, err
	}
	r := of(live)
	if err := ready(r, ctx); err != nil {
		live.Close()
		return nil, err
	}
	return r, nil
}

// Close lets go.
func (l *Live) Close() {
	if l.Handle != nil {
		l.Handle.Close()
	}
}

// Place finds where the agent runs. It fails with act.ErrRefused when no
// provider knows the place any more.
func (l *Live) Place(ctx context.Context) error {
	p, pane, err := l.Find(ctx, &l.Agent)
	if err != nil {
		return err
	}
	l.Provider, l.Pane = p, pane.ID
	return nil
}

// Find looks for the place of an agent as it was seen, or else of its instance.
func (w World) Find(ctx context.Context, a *fleet.Agent) (session.Provider, fleet.Pane, error) {
	is := w.isPlace(a)
	if is == nil {
		return nil, fleet.Pane{}, Refused("it is not known where it runs")
	}
	var errs []error
	for _, where := range slices.Sorted(maps.Keys(w.Providers)) {
		p := w.Providers[where]
		pane, err := pick(ctx, p, is)
		if err == nil {
			return p, pane, nil
		}
		errs = append(errs, err)
	}
	if a.Pane != nil && w.Elsewhere != nil && a.Owner != fleet.OwnerCustos {
		p, err := w.Elsewhere(fleet.RawPath(a.Pane.ID.Socket))
		if err != nil {
			return nil, fleet.Pane{}, fmt.Errorf("cannot reach its terminal: %w", err)
		}
		pane, err := pick(ctx, p, is)
		if err == nil {
			return p, pane, nil
		}
		errs = append(errs, err)
	}
	if err := errors.Join(slices.DeleteFunc(errs, func(e error) bool { return errors.Is(e, session.ErrAbsent) || errors.Is(e, session.ErrGone) })...); err != nil {
		return nil, fleet.Pane{}, fmt.Errorf("cannot look where it runs: %w", err)
	}
	return nil, fleet.Pane{}, Refused("the place it ran in is gone")
}

// isPlace returns how the place of an agent is recognised; nil when it is not
// known.
func (w World) isPlace(a *fleet.Agent) func(fleet.Pane) bool {
	if a.Pane != nil {
		return func(p fleet.Pane) bool { return p.ID == a.Pane.ID }
	}
	if a.Instance == "" || !shim.IsKey(a.Instance) {
		return nil
	}
	s, _, err := shim.Read(shim.Dir(w.Shims, a.Instance))
	if err != nil || s.At.Boot != w.Boot {
		return nil
	}
	return func(p fleet.Pane) bool {
		if s.Headless {
			return p.ID.Pane == a.Instance && p.ID.Root.PID == s.Agent.PID && p.ID.Root.Start == s.Agent.Start
		}
		// Of a dead pane only the pid of its shim is left, and the name of its session,
		// which ends in the instance.
		dead := p.ID.Root.Start == 0 && strings.HasSuffix(p.Session, "~"+a.Instance)
		return p.ID.Root.PID == s.Shim.PID && (dead || p.ID.Root.Start == s.Shim.Start)
	}
}

func pick(ctx context.Context, p session.Provider, is func(fleet.Pane) bool) (fleet.Pane, error) {
	panes, err := p.Panes(ctx)
	for _, pane := range panes {
		if is(pane) {
			return pane, nil
		}
	}
	if err == nil {
		err = session.ErrGone
	}
	return fleet.Pane{}, err
}

// View is what the place of an agent shows at one instant.
type View struct {
	Pane     fleet.Pane
	Screen   string
	Dialog   *fleet.Dialog
	Ready    fleet.Leaf[bool]   // its prompt is there and empty, and nothing goes on
	Composer fleet.Leaf[bool]   // nothing half-written at its prompt
	Typed    fleet.Leaf[string] // what stands at its prompt; "" for nothing
	Working  bool               // its screen or title says so
}

// Look reads the place afresh. Place was called before.
func (l *Live) Look(ctx context.Context) (View, error) {
	pane, err := pick(ctx, l.Provider, func(p fleet.Pane) bool { return p.ID == l.Pane })
	if errors.Is(err, session.ErrGone) || errors.Is(err, session.ErrAbsent) {
		return View{}, Refused("the place it ran in is gone")
	}
	if err != nil {
		return View{}, fmt.Errorf("cannot look at its terminal: %w", err)
	}
	v := View{Pane: pane}
	if v.Screen, err = l.Provider.Screen(ctx, pane.ID, screenLines); err != nil {
		return v, fmt.Errorf("cannot read its screen: %w", err)
	}
	if d, ok := agent.ReadDialog(l.Kind, v.Screen, pane.Title); ok {
		v.Dialog = &d
	}
	v.Ready, v.Composer = agent.Ready(l.Kind, v.Screen, pane.Title), agent.ComposerEmpty(l.Kind, v.Screen)
	v.Typed = agent.Composer(l.Kind, v.Screen)
	for _, s := range agent.ReadScreen(l.Kind, v.Screen, pane.Title) {
		v.Working = v.Working || s.Hint == fleet.StateWorking
	}
	return v, nil
}

// Headless says whether the agent has no terminal.
func (l *Live) Headless() bool {
	for where, p := range l.Providers {
		if p == l.Provider {
			return where == fleet.WhereHeadless
		}
	}
	return false
}

// typing is for how long a terminal that a person looks at must not have changed
// before anything is typed into it.
const typing = time.Minute

// Undisturbed refuses while a person may be typing there.
func (v View) Undisturbed() error {
	quiet, known := v.Pane.Activity.Get()
	switch {
	case v.Pane.Dead:
		return Refused("its terminal is dead")
	case v.Pane.InMode:
		return Refused("its terminal is scrolled back")
	case v.Pane.Attached == 0:
	case !known:
		return Refused("a person looks at its terminal, and it cannot be told whether they type")
	case time.Duration(quiet) < typing:
		return Refused("a person looks at its terminal, which changed less than %s ago", typing)
	}
	return nil
}

// Press presses keys one after the other.
func (l *Live) Press(ctx context.Context, keys []string) error {
	for _, k := range keys {
		if err := l.Provider.Type(ctx, l.Pane, session.Input{Key: session.Key(k), Agent: l.Agent.Process}); err != nil {
			return err
		}
	}
	return nil
}

// PressEach presses keys with so long between two. lost is why it is not known whether
// all of them were pressed, err why none was.
func (l *Live) PressEach(ctx context.Context, keys []string, between time.Duration) (lost, err error) {
	for i, k := range keys {
		if i > 0 && between > 0 {
			Pause(ctx, between)
		}
		switch err := l.Press(ctx, []string{k}); {
		case err != nil && i == 0 && !errors.Is(err, session.ErrInDoubt):
			return nil, err
		case err != nil:
			return err, nil
		}
	}
	return nil, nil
}

// Typable refuses a text that no provider types.
func Typable(text string) error {
	if err := (session.Input{Text: text}).Check(); err != nil {
		return Refused("%w", err)
	}
	return nil
}

// Pressable refuses keys that no provider presses.
func Pressable(keys []string) error {
	for _, k := range keys {
		if err := (session.Input{Key: session.Key(k)}).Check(); err != nil {
			return err
		}
	}
	return nil
}

// Reported returns what the agent itself has reported since a moment, the oldest first.
func (l *Live) Reported(ctx context.Context, since fleet.Instant) ([]fleet.HookEvent, error) {
	return l.World.Reported(ctx, since, l.Agent.Instance, l.Agent.Process)
}

// Reported returns what one agent has reported since a moment, by its hooks and by its
// transcript: an instance of ours, or the process of another's. A transcript that cannot be
// read has told nothing.
func (w World) Reported(ctx context.Context, since fleet.Instant, instance string, p fleet.ProcessID) ([]fleet.HookEvent, error) {
	events, err := w.hooked(ctx, since, instance, p)
	if err != nil || w.Written == nil || p.PID == 0 {
		return events, err
	}
	if written, err := w.Written(ctx, p, since); err == nil && len(written) > 0 {
		events = append(slices.Clone(events), written...)
		slices.SortStableFunc(events, func(a, b fleet.HookEvent) int { return cmp.Compare(0, b.At.Since(a.At)) })
	}
	return events, nil
}

func (w World) hooked(ctx context.Context, since fleet.Instant, instance string, p fleet.ProcessID) ([]fleet.HookEvent, error) {
	if w.Hooks == nil {
		return nil, nil
	}
	key := fleet.HookEvent{Instance: instance, Process: p}.Key()
	if key == "" {
		return nil, nil
	}
	events, err := w.Hooks(ctx, key, since)
	if err != nil {
		return nil, fmt.Errorf("cannot read what the agent has reported: %w", err)
	}
	return events, nil
}

// Talks says whether the agent reports through hooks: one of ours of a
// kind that has them was started with them; another's may have them installed,
// which shows only when it has reported something.
func (l *Live) Talks(ctx context.Context) bool {
	if l.Hooks == nil || !l.Kinds.Hooked(l.Agent.Kind) {
		return false
	}
	if l.Agent.Owner == fleet.OwnerCustos && l.Agent.Instance != "" {
		return true
	}
	events, err := l.Reported(ctx, fleet.Instant{})
	return err == nil && len(events) > 0
}
