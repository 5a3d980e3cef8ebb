package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/hookwire"
	"custos/internal/onewriter"
)

// TestASpentBudgetEndsTheTurn of an agent of ours when its tool has ended, and of no other; it is told to
// go on by one order, which waits until a person has raised the budget.
func TestASpentBudgetEndsTheTurn(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir}
	text := "[budget.day]\nscope = \"agent\"\nof = \"b*\"\nwindow = \"total\"\nusd = 1\n"
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.ledger.writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []fleet.Registration{{Name: "bob", Kind: "claude", Owner: fleet.OwnerCustos, Instance: "i1", CreatedAt: s.world.Now()}, {Name: "carl", Kind: "claude", Owner: fleet.OwnerCustos, Instance: "i2", CreatedAt: s.world.Now()}} {
		if err := st.Commit(t.Context(), fleet.Turn{At: s.world.Now(), Plan: fleettest.Rows(fleet.Changes{Registrations: []fleet.Registration{r}})}); err != nil {
			t.Fatal(err)
		}
	}
	call := "t"
	hook := func(agent, instance, event string) string {
		t.Helper()
		p := hookwire.Post{Kind: "claude", Event: event}
		p.Stamp()
		p.Agent, p.Instance = agent, instance
		p.SetPayload([]byte(`{"hook_event_name":"` + event + `","session_id":"s","tool_name":"Bash","tool_use_id":"` + call + `"}`))
		out, err := s.hookReceiver.Take(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	spend := func(key string, money int64) {
		t.Helper()
		for _, agent := range []string{"bob", "carl"} {
			u := fleet.Usage{Key: "claude:" + agent + key, Kind: "claude", Session: "s", Agent: agent, At: time.Now(), Pricing: fleet.PricedByCLI, MicroUSD: money, Tokens: fleet.Tokens{Output: 1}}
			if err := st.AddUsage(t.Context(), []fleet.Usage{u}, nil); err != nil {
				t.Fatal(err)
			}
		}
		s.board.Touched(fleet.PartSpending)
		s.board.Await(t.Context(), fleet.PartSpending)
	}
	spend("1", 900_000)
	if out := hook("bob", "i1", "PostToolUse"); out != "" {
		t.Errorf("below its budget it is told %s", out)
	}
	spend("2", 100_000)
	for _, c := range []struct {
		agent, instance, event string
		ends                   bool
	}{{"bob", "i1", "PreToolUse", false}, {"bob", "i1", "PostToolUse", true}, {"bob", "i1", "PostToolUse", true}, {"bob", "i0", "PostToolUse", false}, {"carl", "i2", "PostToolUse", false}, {"bill", "", "PostToolUse", false}} {
		if out := hook(c.agent, c.instance, c.event); strings.Contains(out, `"continue":false`) != c.ends || c.ends && !strings.Contains(out, "custos budget raise day/bob +10usd --for 2h") {
			t.Errorf("%+v: %s", c, out)
		}
	}
	for agent, instance := range map[string]string{"bob": "i1", "carl": "i2"} {
		out := hook(agent, instance, "UserPromptSubmit")
		if refused := strings.Contains(out, `"decision":"block"`) && strings.Contains(out, "custos budget raise day/bob +10usd --for 2h"); refused != (agent == "bob") {
			t.Errorf("a prompt of %s is answered %q", agent, out)
		}
		events, err := s.hookEventsOf(t.Context(), fleet.HookEvent{Agent: agent, Instance: instance}.Key(), fleet.Instant{})
		if last := len(events) - 1; err != nil || last < 0 || (events[last].Event == fleet.HookPrompt) != (agent == "carl") {
			t.Errorf("%s: a prompt that was refused began a turn, or one that was not did not: %+v, %v", agent, events, err)
		}
	}
	past, err := s.recall(t.Context())
	if err != nil || len(past.Orders) != 1 || past.Orders[0].Agent != "bob" || past.Orders[0].Do != fleet.OrderNudge {
		t.Fatalf("%+v, %v", past.Orders, err)
	}
	raise := api.RaiseOrder{Name: "day", By: "+1usd", For: "1h"}
	verb := func() (any, error) {
		for _, n := range control.Nouns() {
			for _, v := range n.Verbs {
				if n.Name == "budgets" && v.Name == "add" {
					return v.Do(s.control(false), t.Context(), control.Call{By: "ann", Read: func(into any) error { *into.(*api.RaiseOrder) = raise; return nil }})
				}
			}
		}
		return nil, nil
	}
	if _, err := verb(); err != nil {
		t.Fatal(err)
	}
	if out := hook("bob", "i1", "UserPromptSubmit"); strings.Contains(out, "block") {
		t.Errorf("it was raised, and a prompt is refused: %s", out)
	}
	if out := hook("bob", "i1", "PostToolUse"); out != "" {
		t.Errorf("it was raised, and its turn ends: %s", out)
	}
	s.board.Await(t.Context(), fleet.PartAgents)
	s.board.Overlay(fleet.PartAgents, func(snap *fleet.Snapshot) {
		snap.Agents.Value = []fleet.Agent{{Name: "bob", Kind: "claude", SessionID: "s", Instance: "i1", Process: fleet.ProcessID{PID: 7}, Age: fleet.Known(fleet.Duration(time.Hour))}}
	}, "test")
	answered, missed := counts(t, s)
	call = "call1"
	answered("1", 10_000) // 0.20 USD: is read on from here
	if out := hook("bob", "i1", "PostToolUse"); out != "" {
		t.Errorf("below what it was raised to its turn ends: %s", out)
	}
	call = "call2"
	later := func() { answered("2", 40_000) }
	missed.Store(&later) // is written down when its tool has ended already
	if out := hook("bob", "i1", "PostToolUse"); !strings.Contains(out, `"continue":false`) {
		t.Errorf("the response that reached its budget is written down, and its turn goes on: %q", out)
	}
}

// TestATurnIsGoneOnWithOnce, however many of its tools end at once, and whatever became of the order; the next
// turn is another one.
func TestATurnIsGoneOnWithOnce(t *testing.T) {
	s := watching(t, "")
	tell := func(event fleet.HookName) fleet.HookEvent {
		p := hookwire.Post{}
		p.Stamp()
		e := fleet.HookEvent{ID: p.ID, At: s.world.Now(), Agent: "bob", Instance: "i1", Kind: "claude", Event: event, Context: fleet.Unknown[float64]("not told")}
		batch, err := s.hookReceiver.writer(t.Context())
		if err == nil {
			_, err = batch.TakeHook(t.Context(), e)
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for turn := 1; turn <= 2; turn++ {
		tell(fleet.HookPrompt)
		for range 2 { // both have seen that no order waits
			s.tellToGoOn(t.Context(), fleet.Past{}, tell(fleet.HookToolEnd))
		}
		if past, err := s.recall(t.Context()); err != nil || len(past.Orders) != turn {
			t.Fatalf("after turn %d: %d orders, %v", turn, len(past.Orders), err)
		}
	}
}

// counts has a system count what conversations use, as a daemon does; what it returns
// writes down so many tokens of output, and is told once that a response was looked for.
func counts(t *testing.T, s *system) (answered func(id string, output int), missed *atomic.Pointer[func()]) {
	t.Helper()
	path := filepath.Join(s.cfg.Home, ".claude/projects/p/s.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	answered = func(id string, output int) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		at := time.Now().UTC().Format(time.RFC3339Nano)
		if _, err := fmt.Fprintf(f, `{"type":"assistant","timestamp":%[1]q,"sessionId":"s","message":{"id":"msg_%[2]s","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"call%[2]s","name":"Bash","input":{}}],"usage":{"input_tokens":1,"output_tokens":%[3]d}}}`+"\n", at, id, output); err != nil {
			t.Fatal(err)
		}
	}
	answered("0", 1)
	u, err := catalog.NewUsage(s.world, s.usageLedger(), func(u fleet.Usage) fleet.Usage { return s.holders.Of(u) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.readOnce(t.Context())
	s.daemon, missed = true, new(atomic.Pointer[func()])
	go func() {
		for {
			select {
			case ask := <-s.counting:
				s.countOf(t.Context(), ask, u.ReadOn)
				if once := missed.Swap(nil); once != nil {
					(*once)()
				}
			case <-t.Context().Done():
				return
			}
		}
	}()
	return answered, missed
}
