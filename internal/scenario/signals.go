package scenario

import (
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

// signals is what is seen of an agent, from which its state follows as it does live.
type signals struct {
	Title     *string         `json:"title"`
	Screen    *string         `json:"screen"`   // what it shows, or @NAME: what stands in section "screen NAME"
	CPU       *float64        `json:"cpu"`      // percent of one core, whole tree
	Activity  *fleet.Duration `json:"activity"` // since its window was last written to
	Age       *fleet.Duration `json:"age"`
	Suspended bool            `json:"suspended"`
	Hooks     []hook          `json:"hooks"`
	Ended     *ending         `json:"ended"`
}

// events are those that a CLI tells.
var events = []string{string(fleet.HookSessionStart), string(fleet.HookSessionEnd), string(fleet.HookPrompt), string(fleet.HookToolBegin), string(fleet.HookToolEnd),
	string(fleet.HookPermission), string(fleet.HookQuestion), string(fleet.HookAnswered), string(fleet.HookStop), string(fleet.HookRest), string(fleet.HookFailure), string(fleet.HookCompact), string(fleet.HookNotice),
	string(fleet.HookStatus), string(fleet.HookBeat)}

// hook is an event that its CLI told.
type hook struct {
	Event fleet.HookName `json:"event"`
	Ago   fleet.Duration `json:"ago"`
	Tool  string         `json:"tool"`
	Call  string         `json:"call"` // pairs the begin and the end of a tool
	Text  string         `json:"text"`
}

// ending is how its process ended, as its shim saw it; with neither a status nor a signal
// nothing tells.
type ending struct {
	Status *int   `json:"status"`
	Signal *int   `json:"signal"`
	OOM    bool   `json:"oom"`
	Asked  string `json:"asked"` // who asked Custos for it
	Quit   string `json:"quit"`  // how a person was seen to end it at its terminal
	Shell  bool   `json:"shell"` // a shell is left in its pane

	Ago fleet.Duration `json:"ago"`
}

func (e ending) exit(now fleet.Instant) *fleet.Exit {
	if e.Status == nil && e.Signal == nil {
		return nil
	}
	return &fleet.Exit{Status: leaf(e.Status), Signal: leaf(e.Signal), OOM: e.OOM, At: now.Add(-time.Duration(e.Ago)), Source: "shim", Asked: e.Asked, Quit: e.Quit}
}

// signal derives the state of an agent from what is seen of it.
func signal(seen *fleet.Snapshot, l Line, to any, patch string, kinds *agent.Kinds, screens map[string]string) error {
	a, ok := to.(*fleet.Agent)
	if !ok {
		return l.Errorf("only an agent has signals: signals agent/NAME {…}")
	}
	var s signals
	if err := set(l, &s, patch); err != nil {
		return err
	}
	if e := s.Ended; e != nil && (e.Status != nil && (*e.Status < 0 || *e.Status > 255) || e.Signal != nil && (*e.Signal < 1 || *e.Signal > 64)) {
		return l.Errorf("an exit status is from 0 to 255, a signal from 1 to 64")
	}
	for _, h := range s.Hooks {
		if !slices.Contains(events, string(h.Event)) {
			return l.Errorf("there is no event %q%s", h.Event, nearest.Hint(string(h.Event), events))
		}
	}
	if err := s.show(l, screens); err != nil {
		return err
	}
	kind, ok := kinds.Get(a.Kind)
	if !ok {
		return l.Errorf("agent %s is of the unknown kind %q", a.Name, a.Kind)
	}
	v := agent.State(s.of(*a, kind, seen.At))
	a.State, a.Reason, a.Source, a.Signals = v.State, v.Reason, v.Source, v.Signals
	a.Dwell = fleet.Unknown[fleet.Duration]("not told")
	if !v.Since.IsZero() {
		a.Dwell = fleet.Known(fleet.Duration(seen.At.Since(v.Since)))
	}
	if s.Ended != nil {
		a.Process, a.Exit, a.ExitStatus, a.ExitSignal = fleet.ProcessID{}, s.Ended.exit(seen.At), leaf(s.Ended.Status), leaf(s.Ended.Signal)
	}
	return nil
}

// show puts the screen of a name in the place of the name.
func (s *signals) show(l Line, screens map[string]string) error {
	if s.Screen == nil {
		return nil
	}
	name, named := strings.CutPrefix(*s.Screen, "@")
	if !named {
		return nil
	}
	text, ok := screens[name]
	if !ok {
		return l.Errorf("there is no section -- screen %s --%s", name, nearest.Hint(name, slices.Sorted(maps.Keys(screens))))
	}
	s.Screen = &text
	return nil
}

func (s signals) of(a fleet.Agent, kind agent.Kind, now fleet.Instant) agent.Signals {
	out := agent.Signals{Kind: kind, OneShot: a.OneShot, Suspended: s.Suspended, Age: a.Age, CPU: leaf(s.CPU), Activity: leaf(s.Activity),
		Title: leaf(s.Title), Screen: leaf(s.Screen), Now: now, Told: agent.Gather(s.events(now), "", now, agent.Deadlines{})}
	if s.Age != nil {
		out.Age = fleet.Known(*s.Age)
	}
	if e := s.Ended; e != nil {
		out.End = &agent.End{Shell: e.Shell, Exit: e.exit(now), Wanted: a.Desired}
	}
	return out
}

func (s signals) events(now fleet.Instant) (out []fleet.HookEvent) {
	for _, h := range s.Hooks {
		out = append(out, fleet.HookEvent{At: now.Add(-time.Duration(h.Ago)), Event: h.Event, Tool: h.Tool, CallID: h.Call, Text: h.Text})
	}
	return out
}

func leaf[T any](v *T) fleet.Leaf[T] {
	if v == nil {
		return fleet.Unknown[T]("the story does not say")
	}
	return fleet.Known(*v)
}
