package daemon

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/decide"
	"custos/internal/fleet"
	"custos/internal/observe/agents"
)

// scene is a fleet at ten in the morning, for one decision.
type scene struct {
	snap  fleet.Snapshot
	found fleet.Assessment
	past  fleet.Past
}

// ten is the moment of every scene, less what is given.
func ten(before time.Duration) fleet.Instant {
	at := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: fleet.Duration(10 * time.Hour), Boot: "b1"}
	return at.Add(-before)
}

func newScene() *scene {
	s := &scene{snap: fleet.Snapshot{At: ten(0)}, found: fleet.Assessment{Rules: map[string]fleet.Remedy{"agent-crashed": {Mode: fleet.ModeAuto}, "fleet-rebooted": {Mode: fleet.ModeAuto}}},
		past: fleet.Past{StartedAt: ten(time.Hour)}}
	for _, name := range fleet.PartNames() {
		*s.snap.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: ten(0)}
	}
	s.snap.Host.Value.Memory.Available = fleet.Known[int64](8000 << 20)
	return s
}

func (s *scene) registered(name string) *fleet.Registration {
	s.past.Registrations = append(s.past.Registrations, fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos,
		Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Revision: 1})
	return &s.past.Registrations[len(s.past.Registrations)-1]
}

// runs adds an idle agent of ours with an empty prompt.
func (s *scene) runs(name string, pid int) *fleet.Agent {
	s.registered(name)
	s.snap.Agents.Value = append(s.snap.Agents.Value, fleet.Agent{Name: name, Owner: fleet.OwnerCustos, State: fleet.StateIdle, Progress: fleet.ProgressNone,
		Process: fleet.ProcessID{PID: pid, Boot: "b1"}, Pane: &fleet.Pane{}, ComposerEmpty: fleet.Known(true)})
	return &s.snap.Agents.Value[len(s.snap.Agents.Value)-1]
}

// died adds an agent that SIGKILL ended so long ago, and that a rule wants back.
func (s *scene) died(name string, ago time.Duration) *fleet.Exit {
	exit := &fleet.Exit{At: ten(ago), Process: fleet.ProcessID{PID: 1, Boot: "b1"}, Signal: fleet.Known(9)}
	s.registered(name).Exit = exit
	s.wants("agent-crashed", &fleet.Agent{Name: name, Owner: fleet.OwnerCustos, State: fleet.StateCrashed, Exit: exit})
	return exit
}

func (s *scene) wants(rule string, a *fleet.Agent) {
	about := fleet.Subject{Kind: fleet.KindAgent, Name: a.Name}
	s.found.Findings = append(s.found.Findings, fleet.Finding{AlertKey: fleet.AlertKey{Rule: rule, Subject: about}, Priority: fleet.P2, Since: ten(time.Hour),
		Firing: true, Fresh: true, Wishes: []fleet.Wish{{Do: "recover", Subject: about, Target: fleet.Target{Agent: a}}}})
}

// ordered adds an order of a person, given so long ago.
func (s *scene) ordered(do fleet.OrderDo, name string, ago time.Duration) *fleet.Order {
	o := fleet.Order{ID: fmt.Sprint("o", len(s.past.Orders)), Do: do, Agent: name, By: "ann", At: ten(ago), Text: "x", State: fleet.OrderOpen}
	if do == fleet.OrderSpawn {
		o.Spawn = &fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning}
	}
	s.past.Orders = append(s.past.Orders, o)
	return &s.past.Orders[len(s.past.Orders)-1]
}

// tried adds an action that ended so long ago.
func (s *scene) tried(do, name, order string, ago time.Duration, status fleet.ResultStatus, exit *fleet.Exit) {
	about := fleet.Subject{Kind: fleet.KindAgent, Name: name}
	a := fleet.Action{ID: fmt.Sprint(do, len(s.past.Actions)), Do: do, Subject: about, Order: order}
	if exit != nil {
		a.Target.Registration = &fleet.Registration{Name: name, Exit: exit}
	}
	s.past.Actions = append(s.past.Actions, fleet.ActionRecord{Action: a, Stage: fleet.StageEnded, PlannedAt: ten(ago), Result: &fleet.Result{Status: status, Ended: ten(ago)}})
}

// words is a plan, a line for each thing in it.
func words(p fleet.Plan) string {
	var b strings.Builder
	until := func(at fleet.Instant) string {
		if at.IsZero() {
			return ""
		}
		return " until " + at.Wall.Format("15:04:05")
	}
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "do %s %s\n", a.Do, a.Subject.Name)
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(&b, "not %s %s: %s: %s%s\n", s.Do, s.Subject.Name, s.Guard, s.Why, until(s.Until))
	}
	for _, o := range p.Orders {
		fmt.Fprintf(&b, "order %s %s: %s %s%s\n", o.Do, o.Agent, o.State, o.Why, until(o.Until))
	}
	return b.String()
}

// stormy is a scene of three that died together, the last one so long ago.
func stormy(s *scene, last time.Duration) {
	s.died("a", last+10*time.Second)
	s.died("b", last+5*time.Second)
	s.died("c", last)
}

// knob is a key of custos.toml, and what is to be seen with its default and with
// another value.
type knob struct {
	key, value  string // as in the file
	before, now string // part of what the plan says
	scene       func(*scene)
}

func limitKnobs() []knob {
	return []knob{
		{"spawn_memory", `"1000MiB"`, "order spawn n: queued less than 2000 MiB", "do spawn n", func(s *scene) {
			s.snap.Host.Value.Memory.Available = fleet.Known[int64](1500 << 20)
			s.ordered(fleet.OrderSpawn, "n", 0)
		}},
		{"max_agents", `1`, "do spawn n", "at most 1 agents run at once", func(s *scene) {
			s.runs("a", 7)
			s.ordered(fleet.OrderSpawn, "n", 0)
		}},
		{"max_depth", `4`, "order spawn n: refused its depth would be 4, and 3 is the most", "do spawn n", func(s *scene) {
			s.registered("p").Depth = 3
			s.ordered(fleet.OrderSpawn, "n", 0).Spawn.Parent = "p"
		}},
		{"stagger", `"0s"`, "the next start waits 2s", "do spawn m", func(s *scene) {
			s.ordered(fleet.OrderSpawn, "n", 0)
			s.ordered(fleet.OrderSpawn, "m", 0)
		}},
		{"settle", `"1s"`, "and is left for 3s until 10:00:01", "do recover a", func(s *scene) { s.died("a", 2*time.Second) }},
		{"typing", `"10s"`, "changed less than 1m0s ago until 10:00:30", "do nudge a", func(s *scene) {
			pane := s.runs("a", 7).Pane
			pane.Attached, pane.Activity = 1, fleet.Known(fleet.Duration(30*time.Second))
			s.ordered(fleet.OrderNudge, "a", 0)
		}},
		{"deaths", `"4 in 30s"`, "3 agents died within 30s of each other", "do recover a", func(s *scene) { stormy(s, 15*time.Second) }},
		{"hold", `"10s"`, "a common cause is looked for first until 10:00:15", "do recover a", func(s *scene) { stormy(s, 15*time.Second) }},
		{"probe", `"10s"`, "the next one waits 5m0s until 10:04:30", "do recover b", func(s *scene) {
			exit := s.died("a", 100*time.Second)
			s.died("b", 95*time.Second)
			s.died("c", 90*time.Second)
			s.tried("recover", "a", "", 30*time.Second, fleet.ResultUnverified, exit)
			s.found.Findings = s.found.Findings[1:2] // only b is wanted
		}},
		{"jitter", `"0s"`, "it expires before that, at 2026-07-01 10:10:00Z until 10:30:41", "until 10:30:00\n", func(s *scene) {
			s.runs("b", 8).RateLimitedUntil = ten(-30 * time.Minute)
			s.runs("a", 7)
			for i := range s.past.Registrations {
				s.past.Registrations[i].Account = "acme"
			}
			s.ordered(fleet.OrderNudge, "a", 0)
		}},
		{"nudge_ttl", `"1h"`, "order nudge a: expired it was not carried out by 2026-07-01 09:50:00Z", "do nudge a", func(s *scene) {
			s.runs("a", 7)
			s.ordered(fleet.OrderNudge, "a", 20*time.Minute)
		}},
		{"order_ttl", `"3h"`, "order stop a: expired it was not carried out by 2026-07-01 09:00:00Z", "do stop a", func(s *scene) {
			s.runs("a", 7)
			s.ordered(fleet.OrderStop, "a", 2*time.Hour)
		}},
		{"orders", `"9 in 1h"`, "order nudge a: refused 3 tries came to nothing", "do nudge a", func(s *scene) {
			s.runs("a", 7)
			o := s.ordered(fleet.OrderNudge, "a", 0)
			for _, ago := range []time.Duration{58 * time.Minute, 57 * time.Minute, 56 * time.Minute} {
				s.tried("nudge", "a", o.ID, ago, fleet.ResultFailed, nil)
			}
		}},
		{"cooldown", `"1s"`, "queued tried at 2026-07-01 09:59:55Z: refused until 10:00:05", "do nudge a", func(s *scene) {
			s.runs("a", 7)
			o := s.ordered(fleet.OrderNudge, "a", 0)
			s.tried("nudge", "a", o.ID, 5*time.Second, fleet.ResultRefused, nil)
		}},
		{"after_reboot", `"auto"`, "not recover a: approval", "do recover a", func(s *scene) {
			exit := &fleet.Exit{Source: fleet.ExitReboot, Process: fleet.ProcessID{PID: 1, Boot: "b0"}}
			s.registered("a").Exit = exit
			s.wants("fleet-rebooted", &fleet.Agent{Name: "a", Owner: fleet.OwnerCustos, State: fleet.StateStopped, Exit: exit})
		}},
	}
}

// configured reads a custos.toml.
func configured(t *testing.T, text string) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "custos.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{File: file, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// planned is what would be done in a scene under a custos.toml.
func planned(t *testing.T, text string, set func(*scene)) string {
	t.Helper()
	cfg := configured(t, text)
	limits, err := catalog.Limits(cfg)
	if err != nil {
		t.Fatal(err)
	}
	abilities := map[string]fleet.Ability{}
	for _, do := range []string{"spawn", "recover", "nudge", "stop"} {
		abilities[do] = fleet.Ability{Do: do, Starts: do == "spawn" || do == "recover"}
	}
	s := newScene()
	set(s)
	return words(decide.Decide(policy(cfg, limits, abilities, fleet.PatrolOrder{}), s.snap, s.found, s.past))
}

func turn(t *testing.T, k knob, base, changed string) {
	t.Run(k.key, func(t *testing.T) {
		if got := planned(t, base, k.scene); !strings.Contains(got, k.before) || strings.Contains(got, k.now) {
			t.Errorf("by default the plan is\n%swant %q and not %q", got, k.before, k.now)
		}
		if got := planned(t, changed, k.scene); !strings.Contains(got, k.now) || strings.Contains(got, k.before) {
			t.Errorf("with %s = %s the plan is\n%swant %q and not %q", k.key, k.value, got, k.now, k.before)
		}
	})
}

// TestLimitKnobs: each key of [limits] changes what is planned.
func TestLimitKnobs(t *testing.T) {
	const base = "mode = \"auto\"\ngrace = \"0s\"\n[limits]\n"
	for _, k := range limitKnobs() {
		turn(t, k, base, base+k.key+" = "+k.value+"\n")
	}
}

// TestFleetKnobs: so do the limits at the top of the file.
func TestFleetKnobs(t *testing.T) {
	two := func(s *scene) {
		s.found.Rules["agent-crashed"] = fleet.Remedy{Mode: fleet.ModeAuto}
		s.died("a", time.Hour)
		s.died("b", 3*time.Hour)
	}
	const auto, still = "mode = \"auto\"\ngrace = \"0s\"\n[limits]\nstagger = \"0s\"\n", "mode = \"auto\"\n[limits]\nstagger = \"0s\"\n"
	for _, c := range []struct {
		knob
		base, changed string
	}{
		{knob{key: "mode", before: "not recover a: mode: the fleet is in mode observe", now: "do recover a"}, strings.Replace(auto, "auto", "observe", 1), auto},
		{knob{key: "grace", before: "do recover a", now: "not recover a: grace"}, still, "grace = \"2h\"\n" + still},
		{knob{key: "budget", before: "do recover b", now: "not recover b: budget"}, auto, "budget = \"1 in 1h\"\n" + auto},
		{knob{key: "blast", before: "do recover b", now: "not recover b: blast-radius"}, auto, "blast = 1\n" + auto},
	} {
		c.scene = two
		turn(t, c.knob, c.base, c.changed)
	}
}

// TestEveryLimitHasAKnob fails for a key of [limits] without a case above, and
// for a limit that no key of the file sets.
func TestEveryLimitHasAKnob(t *testing.T) {
	var turned []string
	text := "[limits]\n"
	for _, k := range limitKnobs() {
		turned = append(turned, k.key)
		text += k.key + " = " + k.value + "\n"
	}
	keys := tomlKeys(t, "../catalog/limits.go", "limits")
	slices.Sort(turned)
	slices.Sort(keys)
	if !slices.Equal(turned, keys) {
		t.Errorf("knobs are turned for\n%v, and the keys are\n%v", turned, keys)
	}
	is, err := catalog.Limits(configured(t, text))
	if err != nil {
		t.Fatal(err)
	}
	was, now := reflect.ValueOf(fleet.DefaultAgentLimits()), reflect.ValueOf(is)
	for i := range was.NumField() {
		if was.Field(i).Interface() == now.Field(i).Interface() {
			t.Errorf("%s is the same with every knob turned", was.Type().Field(i).Name)
		}
	}
}

// tomlKeys lists the keys of a struct of a source file: it is nobody's else to see.
func tomlKeys(t *testing.T, file, name string) (keys []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, reflect.StructTag(tag).Get("toml"))
		}
		return false
	})
	return keys
}

// dwellKnobs are the keys of [agents] that bound how long something may take.
func dwellKnobs() []knob {
	return []knob{
		{key: "dwell", value: `"1h"`, before: "progress none", now: "progress some"},
		{key: "tool_deadline", value: `"2h"`, before: "stuck, Bash may take 30m0s", now: "working, Bash may take 2h0m0s"},
		{key: "tool_deadlines", value: `{ Bash = "3h" }`, before: "stuck, Bash may take 30m0s", now: "working, Bash may take 3h0m0s"},
		{key: "every", value: `"7s"`, before: "looked at every 30s", now: "looked at every 7s"},
	}
}

// places are the keys of [agents] that say where to look, or what is not seen from here
// (catalog.TestAgentsElsewhere), and limit nothing.
var places = []string{"adopt", "registries", "recorded", "recorded_in", "places", "roles", "policy", "foreign_namespace"}

// watched is what is said of an agent in whose tool nothing has moved for 40
// minutes, looked at twice.
func watched(t *testing.T, text string) string {
	t.Helper()
	var o agents.Options
	if err := configured(t, text).Section("agents", &o); err != nil {
		t.Fatal(err)
	}
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	now, id := ten(0), fleet.ProcessID{PID: 10, Start: 10, Boot: "b1"}
	o.Kinds, o.Now, o.Awake = kinds, func() fleet.Instant { return now }, func() time.Duration { return time.Duration(now.Up) }
	o.Procs = func(context.Context) ([]fleet.Process, error) {
		return []fleet.Process{{ID: id, PPID: 1, State: "S", Name: "claude", Exe: fleet.Known("/usr/bin/claude"), Args: []string{"claude"},
			CWD: fleet.Known("/work/a"), Age: fleet.Duration(5 * time.Hour), CPU: fleet.Known(0.0), UID: os.Getuid()}}, nil
	}
	o.Hooks = func(context.Context) ([]fleet.HookEvent, error) {
		return []fleet.HookEvent{{ID: "1", At: ten(0), Process: fleet.ProcessID{PID: 10, Start: 10}, Kind: "claude", Event: fleet.HookToolBegin, Tool: "Bash", CallID: "1"}}, nil
	}
	o.CPUTimes = func([]fleet.ProcessID) map[fleet.ProcessID]fleet.Duration { return nil }
	o.Pause = func(context.Context, time.Duration) {}
	p, err := agents.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	for _, later := range []time.Duration{0, 40 * time.Minute, 5 * time.Minute} {
		now = now.Add(later)
		put, err := p.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s = fleet.Snapshot{}
		put(&s)
	}
	if len(s.Agents.Value) != 1 || s.Agents.Value[0].Tool == nil {
		t.Fatalf("%+v", s.Agents.Value)
	}
	a := s.Agents.Value[0]
	return fmt.Sprintf("%s, %s may take %s; progress %s; looked at every %s", a.State, a.Tool.Name, a.Tool.Deadline, a.Progress, p.Spec().Every)
}

// TestDwellKnobs: each limit of [agents] changes how an agent is seen, and each
// of its keys is either a limit or a place.
func TestDwellKnobs(t *testing.T) {
	known := slices.Clone(places)
	for _, k := range dwellKnobs() {
		known = append(known, k.key)
		t.Run(k.key, func(t *testing.T) {
			if got := watched(t, ""); !strings.Contains(got, k.before) {
				t.Errorf("by default: %s; want %q", got, k.before)
			}
			if got := watched(t, "[agents]\n"+k.key+" = "+k.value+"\n"); !strings.Contains(got, k.now) {
				t.Errorf("with %s = %s: %s; want %q", k.key, k.value, got, k.now)
			}
		})
	}
	for i := range reflect.TypeFor[agents.Options]().NumField() {
		if key := reflect.TypeFor[agents.Options]().Field(i).Tag.Get("toml"); key != "-" && !slices.Contains(known, key) {
			t.Errorf("no knob is turned for key %q of [agents]", key)
		}
	}
}
