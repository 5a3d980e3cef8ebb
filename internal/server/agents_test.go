package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

func (w *world) Take(_ context.Context, o fleet.Order) (fleet.Order, error) {
	if w.takeErr != nil {
		return o, w.takeErr
	}
	w.taken = append(w.taken, o)
	o.State, o.Action = fleet.OrderOpen, "00112233445566aa"
	return o, nil
}

func (w *world) Order(_ context.Context, id string) (fleet.Order, error) {
	if id != "known" {
		return fleet.Order{}, fmt.Errorf("cannot find it: %w", fs.ErrNotExist)
	}
	return fleet.Order{ID: id, Do: fleet.OrderStop, Agent: "builder", By: "me", At: instant(0), State: fleet.OrderDone, Why: "gone"}, nil
}

func (w *world) Open(context.Context) ([]fleet.Order, error) { return w.pass.Past.Orders, nil }

func (w *world) Registrations(context.Context) ([]fleet.Registration, error) {
	return w.registrations, nil
}

func (w *world) Screen(_ context.Context, agent string, lines int) (string, error) {
	switch agent {
	case "builder":
		return fmt.Sprintf("%d lines, token=abcdefgh \x1b[31mred", lines), nil
	case "frozen":
		return "", errors.New("cannot read its screen: no answer")
	}
	return "", fmt.Errorf("cannot look at %q: %w", agent, fs.ErrNotExist)
}

func (w *world) HookEvents(_ context.Context, f HookFilter) ([]fleet.HookEvent, error) {
	return w.hooks, nil
}

// MessagesFor tells what waits for the lead.
func (w *world) MessagesFor(_ context.Context, agent string, _ int) (out []fleet.Message, err error) {
	if agent == "lead" {
		out = append(out, fleet.Message{ID: "recovery_attempt/a1", Kind: fleet.MessageRecoveryAttempt, To: "lead", About: "builder", Priority: fleet.P3, Subject: "builder is being recovered"})
	}
	return out, nil
}

func (w *world) Failures(_ context.Context, agent string, _ int) (out []fleet.Failure, err error) {
	for _, f := range w.failed {
		if agent == "" || f.Agent == agent {
			out = append(out, f)
		}
	}
	return out, nil
}

func (w *world) EditHooks(kind, do string, settings []byte) (api.HookFile, error) {
	if kind == "nobody" {
		return api.HookFile{}, errors.New("cannot hook nobody")
	}
	return api.HookFile{Below: ".claude/settings.json", Settings: string(settings) + do}, nil
}

// An agent may ask for a checkpoint of itself and spawn below itself, and for
// nothing else; whoever cannot be told may nothing.
func TestWhoMayOrder(t *testing.T) {
	spawn := func(parent string) *api.SpawnRequest {
		return &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Parent: parent}
	}
	for _, c := range []struct {
		name  string
		agent string
		err   error
		r     api.OrderRequest
		by    string // "": refused
	}{
		{"a person stops", "", nil, api.OrderRequest{Do: "stop", Agent: "other"}, "person"},
		{"an agent stops another", "builder", nil, api.OrderRequest{Do: "stop", Agent: "other"}, ""},
		{"an agent stops itself", "builder", nil, api.OrderRequest{Do: "stop", Agent: "builder"}, ""},
		{"an agent nudges", "builder", nil, api.OrderRequest{Do: "nudge", Agent: "other", Text: "hi"}, ""},
		{"an agent answers for itself", "builder", nil, api.OrderRequest{Do: "answer", Agent: "builder", Text: "yes", Dialog: "h"}, ""},
		{"an agent adopts", "builder", nil, api.OrderRequest{Do: "adopt", Agent: "other"}, ""},
		{"its own checkpoint", "builder", nil, api.OrderRequest{Do: "backup", Agent: "builder"}, "agent/builder"},
		{"another's checkpoint", "builder", nil, api.OrderRequest{Do: "backup", Agent: "other"}, ""},
		{"a child", "builder", nil, api.OrderRequest{Do: "spawn", Agent: "child", Spawn: spawn("builder")}, "agent/builder"},
		{"a child by default", "builder", nil, api.OrderRequest{Do: "spawn", Agent: "child", Spawn: spawn("")}, "agent/builder"},
		{"a sibling", "builder", nil, api.OrderRequest{Do: "spawn", Agent: "child", Spawn: spawn("boss")}, ""},
		{"a spawn of what is there", "builder", nil, api.OrderRequest{Do: "spawn", Agent: "child"}, ""},
		{"nobody can tell", "", errors.New("no /proc"), api.OrderRequest{Do: "backup", Agent: "builder"}, ""},
		{"nobody can tell, spawn", "", errors.New("no /proc"), api.OrderRequest{Do: "spawn", Agent: "x", Spawn: spawn("")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.agent, w.agentErr = c.agent, c.err
			w.registrations = []fleet.Registration{{Name: "boss"}, {Name: "builder", Parent: "boss", Depth: 1, Run: "run-7"}}
			o, err := client(w).Order(t.Context(), c.r)
			if c.by == "" {
				wantError(t, err, api.Forbidden, "cannot do this")
				if len(w.taken) > 0 {
					t.Errorf("it was taken: %+v", w.taken)
				}
				return
			}
			if err != nil || len(w.taken) != 1 {
				t.Fatalf("%+v, %v", w.taken, err)
			}
			if by := w.taken[0].By; by != c.by && !(c.by == "person" && fleet.IsPerson(by)) {
				t.Errorf("it is by %q, want %q", by, c.by)
			}
			if sp := w.taken[0].Spawn; sp != nil && (sp.Depth != 2 || sp.Run != "run-7" || sp.Parent != "builder") {
				t.Errorf("spawned as %+v", sp)
			}
			if len(o.ID) != 16 || o.State != "open" || o.Over || o.Watched {
				t.Errorf("answered %+v", o)
			}
		})
	}
}

func TestBadOrders(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "boss", Depth: 3}, {Name: "gone", Desired: fleet.DesiredRetired}}
	one := 1
	for want, r := range map[string]api.OrderRequest{
		`nothing is called "dance"`:       {Do: "dance", Agent: "x"},
		"it has no name":                  {Do: "stop"},
		"there is nothing to say":         {Do: "nudge", Agent: "x"},
		"names the dialog and the choice": {Do: "answer", Agent: "x", Text: "yes"},
		"no order overrides frozen":       {Do: "stop", Agent: "x", Override: []string{"frozen"}},
		"no order overrides identity":     {Do: "stop", Agent: "x", Override: []string{"identity"}},
		`"soon"`:                          {Do: "stop", Agent: "x", TTL: "soon"},
		`"9000h"`:                         {Do: "nudge", Agent: "x", Text: "hi", TTL: "9000h"},
		"only a pause or resume":          {Do: "stop", Account: "a"},
		"its ID must be":                  {ID: "a\nb", Do: "stop", Agent: "x"},
		"name its kind":                   {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Dir: "/tmp"}},
		"want the program first":          {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Argv: []string{"--yes"}, Dir: "/tmp"}},
		"name the folder it works in":     {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude"}},
		"needs the repository":            {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Worktree: true}},
		"a branch and a repository are":   {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Branch: "b"}},
		"is no absolute path":             {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "tmp"}},
		`parent "nobody" is not`:          {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Parent: "nobody"}},
		`parent "gone" is not`:            {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Parent: "gone"}},
		"its depth is 4":                  {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Parent: "boss", Depth: &one}},
		`restarted "maybe"`:               {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Restart: "maybe"}},
		"names no variable":               {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Env: []string{"A=b"}}},
		"-1 bytes":                        {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", MemoryMax: -1}},
		"begins or ends with a blank":     {Do: "stop", Agent: " x"},
	} {
		_, err := client(w).Order(t.Context(), r)
		wantError(t, err, api.BadInput, want)
	}
	if len(w.taken) > 0 {
		t.Errorf("a bad order was taken: %+v", w.taken)
	}
	w.takeErr = fmt.Errorf("cannot take order 7: the ID is %w by another order", ledger.ErrTaken)
	_, err := client(w).Order(t.Context(), api.OrderRequest{ID: "7", Do: "stop", Agent: "x"})
	wantError(t, err, api.BadInput, "taken by another order")
	_, err = client(w).OrderState(t.Context(), "unheard")
	wantError(t, err, api.NotFound, `cannot find order "unheard"`)
}

func TestSpawnBecomesARegistration(t *testing.T) {
	w := newWorld()
	_, err := client(w).Order(t.Context(), api.OrderRequest{ID: "one", Do: "spawn", Agent: "dev: 1/2", TTL: "5m", Override: []string{"cooldown"}, Spawn: &api.SpawnRequest{
		Argv: []string{"/opt/bin/claude", "--model", "x"}, Env: []string{"HOME"}, Worktree: true, Repo: "/src/app/", Headless: true,
		Task: "mend it", Spec: "/spec.md", Files: []string{"a.go", "b.go"}, MemoryMax: 1 << 30, Restart: "never", Standing: true}})
	if err != nil || len(w.taken) != 1 {
		t.Fatal(w.taken, err)
	}
	o := w.taken[0]
	if o.ID != "one" || !slices.Equal(o.Override, []fleet.Guard{fleet.GuardCooldown}) || o.Expires.Since(o.At) != 5*time.Minute {
		t.Errorf("taken as %+v", o)
	}
	r := o.Spawn
	if r.Kind != "claude" || r.Worktree != "" || r.Dir != "" || r.Repo != "/src/app" || r.Branch != "agent/dev--1-2" ||
		r.Where != fleet.WhereHeadless || r.Restart != fleet.RestartNever || !r.Standing || r.MemoryMax != 1<<30 || r.Owner != fleet.OwnerCustos {
		t.Errorf("spawned as %+v", r)
	}
	if want := "Your task: mend it\nRead the specification first: /spec.md\nThe files it is about: a.go, b.go"; r.Prompt != want {
		t.Errorf("told %q first, want %q", r.Prompt, want)
	}
}

func TestFileWord(t *testing.T) {
	for in, want := range map[string]string{"builder": "builder", "..": "agent", "-x": "x", "a b/c.d": "a-b-c-d", "é": "é", strings.Repeat("x", 200): strings.Repeat("x", 60)} {
		if got := fileWord(in); got != want {
			t.Errorf("fileWord(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestScreens(t *testing.T) {
	c := client(newWorld())
	s, err := c.Screen(t.Context(), "builder", 7)
	if err != nil || s.Text != "7 lines, token=*** red" {
		t.Errorf("%q, %v", s.Text, err)
	}
	_, err = c.Screen(t.Context(), "a/b?", 7)
	wantError(t, err, api.NotFound, `"a/b?"`)
	_, err = c.Screen(t.Context(), "frozen", 7)
	wantError(t, err, api.CannotLook, "no answer")
	_, err = c.Screen(t.Context(), "builder", 100000)
	wantError(t, err, api.BadInput, "want 1 to 2000")
}

func TestHookFiles(t *testing.T) {
	c := client(newWorld())
	f, err := c.EditHooks(t.Context(), "claude", api.HookEdit{Do: "install", Settings: "{}"})
	if err != nil || f.Settings != "{}install" || f.Kind != "claude" || f.Events == nil || f.Missing == nil || f.Limits == nil || f.Files == nil {
		t.Errorf("%+v, %v", f, err)
	}
	_, err = c.EditHooks(t.Context(), "nobody", api.HookEdit{Do: "install"})
	wantError(t, err, api.BadInput, "cannot hook nobody")
	_, err = c.EditHooks(t.Context(), "claude", api.HookEdit{Do: "break"})
	wantError(t, err, api.BadInput, `cannot "break" hooks`)
}

// An agent that is registered and not seen is unknown; one that nothing knows is
// not found, unless nobody looked.
func TestAgentThatIsNotSeen(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "builder", Kind: "claude", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning}}
	c := client(w)
	d, err := c.Agent(t.Context(), "builder")
	if err != nil || d.Agent.State != "unknown" || d.Record == nil {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = c.Agent(t.Context(), "nobody")
	wantError(t, err, api.NotFound, "no agent of this name")
	w.pass.Snapshot.Agents.Blind("the probe hangs")
	_, err = c.Agent(t.Context(), "nobody")
	wantError(t, err, api.CannotLook, "the probe hangs")
	d, err = c.Agent(t.Context(), "builder")
	if err != nil || !strings.Contains(d.Agent.Reason, "the probe hangs") {
		t.Errorf("%+v, %v", d.Agent, err)
	}
}

func TestStatusTellsOfFailedAgents(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "fine"}, {Name: "builder", Failed: "5 attempts in 1h"}, {Name: "old", Failed: "x", Desired: fleet.DesiredRetired}}
	w.failed = []fleet.Failure{{Agent: "builder"}, {Agent: "fine"}, {Agent: "builder"}}
	w.pass.Past.Orders = []fleet.Order{{ID: "a"}}
	s, err := client(w).Status(t.Context())
	if err != nil || s.Orders != 1 || len(s.Failed) != 1 || s.Failed[0] != (api.FailedAgent{Agent: "builder", Why: "5 attempts in 1h", Failures: 2}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// The API's list of states is the fleet's.
func TestAgentStates(t *testing.T) {
	for _, name := range api.AgentStates() {
		if attention(fleet.AgentState(name)) == len(api.AgentStates()) {
			t.Errorf("%q is no state of an agent", name)
		}
	}
	if n := attention("no such state"); n != len(api.AgentStates()) {
		t.Errorf("the server knows %d states, the API %d", n, len(api.AgentStates()))
	}
}
