package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

func (w *world) Drafted(o fleet.Order) ([]fleet.Order, error) {
	taken, _, err := ledger.Take(nil, o, o.At)
	return []fleet.Order{taken}, err
}

func (w *world) Settle(context.Context, string) error { return nil }

func (w *world) Take(_ context.Context, o fleet.Order) (fleet.Order, error) {
	if w.takeErr != nil {
		return o, w.takeErr
	}
	w.taken = append(w.taken, o)
	o.State, o.Action = fleet.OrderOpen, "00112233445566aa"
	return o, nil
}

func (w *world) Order(_ context.Context, id string) (fleet.Order, error) {
	if i := slices.IndexFunc(w.pass.Past.Orders, func(o fleet.Order) bool { return o.ID == id }); i >= 0 {
		return w.pass.Past.Orders[i], nil
	}
	if id == "asked" {
		return fleet.Order{ID: id, Do: fleet.OrderStop, Agent: "builder", By: "person@box2", At: w.pass.Snapshot.At, State: fleet.OrderAsked}, nil
	}
	if id != "known" {
		return fleet.Order{}, fmt.Errorf("cannot find it: %w", fs.ErrNotExist)
	}
	return fleet.Order{ID: id, Do: fleet.OrderStop, Agent: "builder", By: "me", At: instant(0), State: fleet.OrderDone, Why: "gone"}, nil
}

func (w *world) Let(_ context.Context, o fleet.Order, by string) (fleet.Order, error) {
	o.State, o.Approved = fleet.OrderOpen, by
	return o, nil
}

// Cancel changes the record that the agent has by that order.
func (w *world) Cancel(_ context.Context, o fleet.Order, by string, back func(fleet.Registration) (fleet.Registration, error)) (_ fleet.Order, err error) {
	i := slices.IndexFunc(w.pass.Past.Orders, func(of fleet.Order) bool { return of.ID == o.ID })
	o.State, o.Why = fleet.OrderRefused, "taken back by "+by
	w.pass.Past.Orders[i] = o
	for i, r := range w.registrations {
		if r.Name == o.Agent {
			w.registrations[i], err = back(r)
		}
	}
	return o, err
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

// Log is "old" for who ended, and says what it was asked for of everybody else.
func (w *world) Log(_ context.Context, ask control.LogAsk) (api.Log, error) {
	switch {
	case ask.Agent == "old":
		return api.Log{}, fmt.Errorf("cannot read it: %w", fs.ErrNotExist)
	case ask.Agent == "torn":
		return api.Log{}, errors.New("cannot read it: no answer")
	case ask.After == "x":
		return api.Log{}, fmt.Errorf("cannot go on after %q: %w", ask.After, fs.ErrInvalid)
	}
	key := "-----BEGIN PRIVATE KEY-----\nMIIabc\nMIIdef\n-----END PRIVATE KEY-----\n"
	return api.Log{Instance: ask.Instance, Text: fmt.Sprintf("one\n%stwo \x1b[31m%v\nafter %s\n", key, ask.Errors, ask.After), Rest: "token=abcdefgh", Next: "n"}, nil
}

func (w *world) HookEvents(_ context.Context, f control.HookFilter) ([]fleet.HookEvent, error) {
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
		{"an agent nudges its child", "builder", nil, api.OrderRequest{Do: "nudge", Agent: "child0", Text: "hi"}, ""},
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
			w.registrations = []fleet.Registration{{Name: "boss"}, {Name: "builder", Parent: "boss", Depth: 1, Run: "run-7"}, {Name: "child0", Parent: "builder", Depth: 2}}
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

// A look that fails once makes the order nobody's, and nothing of it is taken.
func TestALookThatFailsOnceMakesNoOrderOfNobody(t *testing.T) {
	w := newWorld()
	w.agentErr, w.agentErrOnce = errors.New("no /proc"), true
	_, err := client(w).Order(t.Context(), api.OrderRequest{Do: "stop", Agent: "builder"})
	wantError(t, err, api.Forbidden, "no /proc")
	if len(w.taken) > 0 {
		t.Errorf("it was taken: %+v", w.taken)
	}
}

// Who cannot be told from an agent because agents are not seen now is not refused
// for good: the answer is that it could not look, and nothing of it is taken.
func TestAgentsUnseenIsNoRefusal(t *testing.T) {
	w := newWorld()
	w.agentErr = fmt.Errorf("%w: the look begun 12s ago has not ended", ErrUnseen)
	_, err := client(w).Order(t.Context(), api.OrderRequest{Do: "stop", Agent: "builder"})
	wantError(t, err, api.Unseen, "it cannot be shown to be no agent: agents are not seen now: the look begun 12s ago")
	_, err = client(w).Acknowledge(t.Context(), 3, api.AckOrder{})
	wantError(t, err, api.Unseen, "cannot do this")
	if len(w.taken) > 0 || w.ackedBy != "" {
		t.Errorf("it was taken: %+v, %q", w.taken, w.ackedBy)
	}
}

// The name of a new agent is one word everywhere; an old one stays reachable.
func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "dev-1": true, "Fix_2.0": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "a b": false, "-x": false, ".": false, "..": false, "a..b": false, "a.lock": false, "~custos": false,
		"x;rm": false, "é": false, "a/b": false, "a:b": false, "$(id)": false, "a\nb": false,
	} {
		w := newWorld()
		_, err := client(w).Order(t.Context(), api.OrderRequest{Do: "spawn", Agent: name, Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp"}})
		if good && err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if !good {
			wantError(t, err, api.BadInput, "1 to 64 letters")
		}
	}
	if _, err := client(newWorld()).Order(t.Context(), api.OrderRequest{Do: "stop", Agent: "claude@my folder"}); err != nil {
		t.Error(err)
	}
}

// Orders that are not over are listed, and taken back by a person.
func TestOrdersAreListedAndTakenBack(t *testing.T) {
	w := newWorld()
	w.pass.Past.Orders = []fleet.Order{{ID: "o1", Do: fleet.OrderStop, Agent: "builder", By: "ann", State: fleet.OrderQueued, Guard: fleet.GuardFrozen, Why: "frozen"}}
	list, err := client(w).Orders(t.Context())
	if err != nil || len(list.Orders) != 1 || list.Orders[0].ID != "o1" || list.Orders[0].Why != "frozen" {
		t.Fatalf("%+v, %v", list, err)
	}
	if next := list.Orders[0].Next; len(next) == 0 || next[len(next)-1].Command != "custos orders cancel o1" {
		t.Errorf("it does not say how to take it back: %+v", next)
	}
	w.registrations = []fleet.Registration{{Name: "builder", Desired: fleet.DesiredStopped, DesiredBy: "ann"}}
	o, err := client(w).CancelOrder(t.Context(), "o1")
	if got := w.registrations[0].Desired; got != fleet.DesiredRunning {
		t.Errorf("the stop was taken back, and the agent is wanted %s", got)
	}
	if err != nil || !o.Over || o.State != "refused" || !fleet.IsPerson(strings.TrimPrefix(o.Why, "taken back by ")) {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = client(w).CancelOrder(t.Context(), "none")
	wantError(t, err, api.NotFound, "cannot find order")
	_, err = client(w).CancelOrder(t.Context(), "known")
	wantError(t, err, api.BadInput, "it is over: done")
	w.agent = "builder"
	_, err = client(w).CancelOrder(t.Context(), "o1")
	wantError(t, err, api.Forbidden, "takes a person")
}

// An order for what was shown goes to no other instance of that name, and is not even written down.
func TestOrderForAnotherInstance(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "builder", Instance: "new"}, {Name: "adopted", Process: fleet.ProcessID{PID: 7, Start: 9}}, {Name: "begun"}}
	for _, c := range []struct {
		agent, shown string
		taken        bool
	}{
		{"builder", "", true}, {"builder", "new", true}, {"builder", "old", false}, {"builder", fleet.NoInstance, false},
		{"adopted", "process-7-9", true}, {"adopted", "process-7-8", false}, {"begun", "old", true},
	} {
		for _, do := range []string{"stop", "interrupt", "nudge", "answer"} {
			o, err := client(w).Order(t.Context(), api.OrderRequest{Do: do, Agent: c.agent, Instance: c.shown, Text: "x", Dialog: "d"})
			if c.taken && (err != nil || w.taken[len(w.taken)-1].Instance != c.shown) {
				t.Errorf("%s %s of %q: %+v, %v", do, c.agent, c.shown, o, err)
			}
			if !c.taken {
				wantError(t, err, api.Changed, "nothing was done")
			}
		}
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
		"(ESC, byte 4)":                   {Do: "nudge", Agent: "x", Text: "hi \x1b[31mred"},
		"(U+009B, byte 1)":                {Do: "nudge", Agent: "x", Text: "\u009b31m"},
		"control character (NUL, byte 6)": {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Kind: "claude", Dir: "/tmp", Prompt: "a\r\n\tb\x00"}},
		"names the dialog and the choice": {Do: "answer", Agent: "x", Text: "yes"},
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
	_, err := client(w).Order(t.Context(), api.OrderRequest{ID: "one", Do: "spawn", Agent: "dev-1.2", TTL: "5m", Spawn: &api.SpawnRequest{
		Argv: []string{"/opt/bin/claude", "--model", "x"}, Env: []string{"HOME"}, Worktree: true, Repo: "/src/app/", Headless: true,
		Task: "mend it", Spec: "/spec.md", Files: []string{"a.go", "b.go"}, MemoryMax: 1 << 30, Restart: "never", Standing: true}})
	if err != nil || len(w.taken) != 1 {
		t.Fatal(w.taken, err)
	}
	o := w.taken[0]
	if o.ID != "one" || o.Expires.Since(o.At) != 5*time.Minute {
		t.Errorf("taken as %+v", o)
	}
	r := o.Spawn
	if r.Kind != "claude" || r.Worktree != "" || r.Dir != "" || r.Repo != "/src/app" || r.Branch != "agent/dev-1-2" ||
		r.Where != fleet.WhereHeadless || r.Restart != fleet.RestartNever || !r.Standing || r.MemoryMax != 1<<30 || r.Owner != fleet.OwnerCustos {
		t.Errorf("spawned as %+v", r)
	}
	if want := "Your task: mend it\nRead the specification first: /spec.md\nThe files it is about: a.go, b.go"; r.Prompt != want {
		t.Errorf("told %q first, want %q", r.Prompt, want)
	}
}

// No agent is begun, or taken in, under a name that means people or Custos, nor under that of
// who may give orders here: neither by a person nor by an agent.
func TestNamesOfPeopleAreRefused(t *testing.T) {
	for _, by := range []string{"", "lead"} {
		for name, want := range map[string]string{"overseer": "means the people", "Custos": "means Custos itself", "parent": "the agent above", Caller{UID: os.Getuid()}.Name(): "is a person's name", "root": "is a person's name"} {
			for _, do := range []string{"spawn", "adopt"} {
				if by != "" && do == "adopt" {
					continue // which takes a person
				}
				w := newWorld()
				w.agent = by
				w.registrations = []fleet.Registration{{Name: "lead", Kind: "claude"}}
				q := api.OrderRequest{ID: "one", Do: do, Agent: name}
				if do == "spawn" {
					q.Spawn = &api.SpawnRequest{Kind: "claude", Dir: "/w"}
				}
				_, err := client(w).Order(t.Context(), q)
				wantError(t, err, api.BadInput, want)
				if len(w.taken) > 0 || !strings.HasPrefix(err.Error(), "cannot "+do+" ") {
					t.Errorf("%s of %s by %q: %v, %v", do, name, by, w.taken, err)
				}
			}
		}
	}
}

// A record that is empty is not that of an agent that there never was.
func TestFailuresOfNobody(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "sound", Kind: "claude"}}
	w.failed = []fleet.Failure{{Agent: "past", Verdict: "crashed"}}
	c := client(w)
	_, err := c.Failures(t.Context(), "nope")
	wantError(t, err, api.NotFound, `cannot list the failures of "nope": there is no agent of this name`)
	for name, want := range map[string]int{"": 1, "past": 1, "sound": 0} {
		if f, err := c.Failures(t.Context(), name); err != nil || len(f.Failures) != want {
			t.Errorf("%q: %+v, %v", name, f, err)
		}
	}
}

func TestScreens(t *testing.T) {
	w := newWorld()
	c := client(w)
	s, err := c.Screen(t.Context(), "builder", 7)
	if err != nil || s.Text != "7 lines, token=*** red" {
		t.Errorf("%q, %v", s.Text, err)
	}
	_, err = c.Screen(t.Context(), "a/b?", 7)
	wantError(t, err, api.NotFound, `cannot look at "a/b?": there is no agent of this name`)
	if strings.Contains(err.Error(), "file") {
		t.Errorf("an agent is no file: %v", err)
	}
	w.registrations = []fleet.Registration{{Name: "mute", Kind: "claude"}}
	_, err = c.Screen(t.Context(), "mute", 7)
	wantError(t, err, api.NotFound, "it has no terminal and no output of its own")
	_, err = c.Screen(t.Context(), "frozen", 7)
	wantError(t, err, api.CannotLook, "no answer")
	_, err = c.Screen(t.Context(), "builder", 100000)
	wantError(t, err, api.BadInput, "want 1 to 2000")
}

func TestLogs(t *testing.T) {
	w := newWorld()
	c := client(w)
	w.registrations = []fleet.Registration{{Name: "quiet", Instance: "i1", Where: fleet.WhereHeadless}, {Name: "old", Instance: "i2", Where: fleet.WhereHeadless},
		{Name: "torn", Instance: "i3", Where: fleet.WhereHeadless}, {Name: "seen", Instance: "i4", Where: fleet.WhereTmux},
		{Name: "fresh", Where: fleet.WhereHeadless}, {Name: "theirs", Where: fleet.WhereHeadless, Owner: fleet.OwnerAdopted},
		{Name: "again", Instance: "i1", Where: fleet.WhereHeadless, Owner: fleet.OwnerAdopted}} // a lost past has started it
	if l, err := c.Log(t.Context(), "again", api.LogQuery{Lines: 1}); err != nil || l.Instance != "i1" {
		t.Errorf("%+v, %v", l, err)
	}
	l, err := c.Log(t.Context(), "quiet", api.LogQuery{Lines: 50})
	if err != nil || l.Agent != "quiet" || l.Instance != "i1" || l.Next != "n" || l.Text != "one\n***\ntwo false\nafter \n" || l.Rest != "token=***" {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := c.Log(t.Context(), "quiet", api.LogQuery{Lines: 2, Errors: true}); err != nil || l.Text != "two true\nafter \n" || !l.Errors {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := c.Log(t.Context(), "quiet", api.LogQuery{Lines: 3}); err != nil || strings.Contains(l.Text, "MII") {
		t.Errorf("the end of a key is told: %+v, %v", l, err)
	}
	if l, err := c.Log(t.Context(), "quiet", api.LogQuery{Lines: 2, After: "m"}); err != nil || l.Text != "one\n***\ntwo false\nafter m\n" {
		t.Errorf("all that is new is told: %+v, %v", l, err)
	}
	for name, want := range map[string]string{
		"nobody": "there is no agent of this name", "old": "is not kept any more", "seen": "tmux, which keeps only what is on its screen",
		"fresh": "no instance of it has begun", "theirs": "Custos did not start it"} {
		_, err := c.Log(t.Context(), name, api.LogQuery{Lines: 50})
		wantError(t, err, api.NotFound, want)
	}
	_, err = c.Log(t.Context(), "torn", api.LogQuery{Lines: 50})
	wantError(t, err, api.CannotLook, "no answer")
	_, err = c.Log(t.Context(), "quiet", api.LogQuery{Lines: 10001})
	wantError(t, err, api.BadInput, "want 1 to 10000")
	_, err = c.Log(t.Context(), "quiet", api.LogQuery{Lines: 50, After: "x"})
	wantError(t, err, api.BadInput, "cannot go on after")
}

// An agent whose terminal server is stopped has a terminal, which nobody sees: what sends
// to its screen says so, and what lets it go on.
func TestOfAStoppedTerminalServerItIsSaidWhatLetsItGoOn(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "mute", Instance: "i", Where: fleet.WhereTmux}}
	pane := &fleet.Pane{ID: fleet.PaneID{Socket: "/t", Pane: "%1"}, Session: "s"} // by an old reading
	w.pass.Snapshot.Agents.Value = []fleet.Agent{{Name: "mute", Registered: true, TerminalStopped: 12, Pane: pane}, {Name: "theirs", TerminalStopped: 12}}
	c := client(w)
	for _, name := range []string{"mute", "theirs"} {
		_, peek := c.Screen(t.Context(), name, 7)
		wantError(t, peek, api.CannotLook, "its terminal server (process 12) is stopped by a signal")
		_, log := c.Log(t.Context(), name, api.LogQuery{Lines: 7})
		wantError(t, log, api.NotFound, "its terminal server (process 12) is stopped by a signal")
		for verb, err := range map[string]error{"peek": peek, "logs": log} {
			if e := api.ErrorOf(err); e.Hint != "kill -CONT 12" {
				t.Errorf("%s of %s sends to %q", verb, name, e.Hint)
			}
		}
		d, err := c.Agent(t.Context(), name)
		if err != nil || d.TerminalStopped != 12 || len(d.Attach) != 0 || !slices.ContainsFunc(d.Next, func(h api.Hint) bool { return h.Command == "kill -CONT 12" }) {
			t.Errorf("%s: %d, %v, %+v, %v", name, d.TerminalStopped, d.Attach, d.Next, err)
		}
	}
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
	for _, s := range []fleet.AgentState{fleet.StateWaiting, fleet.StateDialog, fleet.StateAuthLost, fleet.StateRateLimited,
		fleet.StateStuck, fleet.StateLooping, fleet.StateCrashed, fleet.StateZombie, fleet.StateContextHigh, fleet.StateUnknown,
		fleet.StateStarting, fleet.StateWorking, fleet.StateIdle, fleet.StateStopped, fleet.StateFinished} {
		if !slices.Contains(api.AgentStates(), string(s)) {
			t.Errorf("the API knows no %q", s)
		}
	}
	for _, name := range api.AgentStates() {
		if api.Attention(name) == len(api.AgentStates()) {
			t.Errorf("%q is no state of an agent", name)
		}
	}
	if n := api.Attention("no such state"); n != len(api.AgentStates()) {
		t.Errorf("the server knows %d states, the API %d", n, len(api.AgentStates()))
	}
}

// Who has finished, or was given up, is not told to be started again on failure.
func TestWhoIsKept(t *testing.T) {
	var p fleet.Pass
	for _, a := range []struct {
		name    string
		state   fleet.AgentState
		restart fleet.Restart
		failed  string
	}{{"works", fleet.StateWorking, fleet.RestartOnFailure, ""}, {"done", fleet.StateFinished, fleet.RestartOnFailure, ""}, {"again", fleet.StateFinished, fleet.RestartAlways, ""},
		{"crashed", fleet.StateCrashed, fleet.RestartOnFailure, ""}, {"lost", fleet.StateCrashed, fleet.RestartAlways, "too often"}} {
		p.Snapshot.Agents.Value = append(p.Snapshot.Agents.Value, fleet.Agent{Name: a.name, State: a.state})
		p.Past.Registrations = append(p.Past.Registrations, fleet.Registration{Name: a.name, Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, DesiredBy: "ann", Restart: a.restart, Failed: a.failed})
	}
	if got := view.Agents(p, view.Hints{}).Kept; !slices.Equal(got, []string{"works", "again", "crashed"}) {
		t.Errorf("%q", got)
	}
}

// Whose end a person asked for or brought about is not started again, though its record
// does not say so yet: for want of room, or beside a daemon that hangs. What machinery
// ended, or a person started again since, is.
func TestWhoWasEndedByAPersonIsNotKept(t *testing.T) {
	now := fleet.Instant{Wall: time.Unix(1e9, 0), Up: fleet.Duration(time.Hour), Boot: "b"}
	var p fleet.Pass
	for _, a := range []struct {
		name   string
		exit   *fleet.Exit
		wanted fleet.Instant
	}{{"asked", &fleet.Exit{Asked: "ann", At: now}, now.Add(-time.Minute)}, {"nameless", &fleet.Exit{Asked: "somebody", At: now}, now.Add(-time.Minute)},
		{"typed", &fleet.Exit{Quit: "keys at its terminal", At: now}, now.Add(-time.Minute)}, {"machinery", &fleet.Exit{Asked: fleet.ByCustos, At: now}, now.Add(-time.Minute)},
		{"rebooted", &fleet.Exit{Source: fleet.ExitReboot, At: now}, now.Add(-time.Minute)}, {"suspended", nil, now.Add(-time.Minute)}, {"anew", &fleet.Exit{Asked: "ann", At: now}, now.Add(time.Minute)}} {
		for _, restart := range []fleet.Restart{fleet.RestartOnFailure, fleet.RestartAlways} {
			name := a.name + " " + string(restart)
			p.Snapshot.Agents.Value = append(p.Snapshot.Agents.Value, fleet.Agent{Name: name, State: fleet.StateStopped, Exit: a.exit})
			p.Past.Registrations = append(p.Past.Registrations, fleet.Registration{Name: name, Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, DesiredBy: "ann", DesiredAt: a.wanted, Restart: restart})
		}
	}
	want := []string{"machinery on-failure", "machinery always", "rebooted on-failure", "rebooted always", "suspended on-failure", "suspended always", "anew on-failure", "anew always"}
	if got := view.Agents(p, view.Hints{}).Kept; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A guard is told beside its reason, so that the reason does not begin with it again.
func TestAGuardIsNamedOnce(t *testing.T) {
	for why, want := range map[string]string{"frozen: by ann": "by ann", "by ann": "by ann", "freezing: no": "freezing: no"} {
		if got := view.Refusal(fleet.Skipped{Guard: fleet.GuardFrozen, Why: why}); got.Why != want || got.Guard != "frozen" {
			t.Errorf("%q is told as %q of %s", why, got.Why, got.Guard)
		}
	}
}
