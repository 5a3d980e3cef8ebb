package agents

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

func claudeKind(t *testing.T) agent.Kind {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := kinds.Get("claude")
	if !ok || k.Headless.Stream == "" {
		t.Fatal("claude speaks no stream")
	}
	return k
}

// What an agent without a terminal and without hooks prints is read as its own
// protocol; a cut line, and what a tool printed between, say nothing.
func TestStreamTellsToolsAndCost(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	text := `cut off"}]}}
{"type":"assistant","session_id":"s1","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}
npm warn: rate limit reached
{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done","total_cost_usd":0.0125,"usage":{"input_tokens":1000,"output_tokens":50}}
`
	s := readStream(claudeKind(t), "a1", []byte(text), now.Wall.Add(-3*time.Second), now)
	var names []fleet.HookName
	for _, e := range s.events {
		if e.Instance != "a1" || now.Since(e.At) != 3*time.Second {
			t.Errorf("event %+v is of another instance or moment", e)
		}
		names = append(names, e.Event)
	}
	if len(names) != 2 || names[0] != fleet.HookToolBegin || names[1] != fleet.HookStop {
		t.Errorf("events %v; want the begin of the tool and the end of the turn", names)
	}
	if s.cost != fleet.Known[int64](12500) || s.tokens.Or(0) < 1050 {
		t.Errorf("cost %v, tokens %v; want 12500 millionths and 1050", s.cost, s.tokens)
	}
}

// What never told a cost has none, which is not the same as nothing.
func TestStreamWithoutResultHasNoCost(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	s := readStream(claudeKind(t), "a1", []byte("{\"type\":\"result\"\n{}\nplain\n"), now.Wall.Add(time.Hour), now)
	if s.cost.IsKnown() || s.tokens.IsKnown() || len(s.events) > 0 {
		t.Errorf("read %+v from nothing", s)
	}
}

// An answer that is told in parts counts once; of a CLI whose results do not tell, the
// answers are summed; and what a failed run says that it cost, which is 0, is not believed.
func TestStreamSumsAnswers(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	parts := `{"type":"assistant","session_id":"s","message":{"id":"m1","model":"x","content":[],"usage":{"input_tokens":10,"output_tokens":2}}}
{"type":"assistant","session_id":"s","message":{"id":"m1","model":"x","content":[],"usage":{"input_tokens":10,"output_tokens":2}}}
{"type":"assistant","session_id":"s","message":{"id":"m2","model":"x","content":[],"usage":{"input_tokens":20,"output_tokens":2}}}
`
	if s := readStream(claudeKind(t), "a1", []byte(parts), now.Wall, now); s.tokens != fleet.Known[int64](34) {
		t.Errorf("tokens %v, want 34", s.tokens)
	}
	failed := `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"session_id":"s","result":"API Error","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}
`
	if s := readStream(claudeKind(t), "a1", []byte(failed), now.Wall, now); s.cost.IsKnown() || s.tokens.IsKnown() {
		t.Errorf("a failed run cost %v and used %v", s.cost, s.tokens)
	}
	if s := readStream(claudeKind(t), "a1", []byte(parts+failed), now.Wall, now); s.tokens != fleet.Known[int64](34) {
		t.Errorf("tokens %v after a failure, want 34", s.tokens)
	}
}

// Who ends without a terminal because of a limit, or because its login is refused, has not
// crashed: its last words say it. In the moment of its death they were not read yet.
func TestRefusedWithoutATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want fleet.AgentState
	}{
		"limit": {`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: 429 rate limit"}`, fleet.StateRateLimited},
		"login": {`{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key"}`, fleet.StateAuthLost},
		"error": {`{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"result":"API Error: 500"}`, fleet.StateCrashed},
		"done":  {`{"type":"result","subtype":"success","is_error":false,"result":"I fixed the 429 error"}`, fleet.StateCrashed},
	} {
		w, b := newWorld(), newLedger()
		r := b.reg("a", 10)
		r.Where, r.Kind, r.Desired, r.Restart, r.Instance = fleet.WhereHeadless, "claude", fleet.DesiredRunning, fleet.RestartOnFailure, "i-a"
		x := *exited(1)
		x.At, x.Process, x.Instance = w.now.Add(-time.Second), id(10), "i-a"
		r.Exit = &x
		p := w.probe(t, func(o *Options) {
			b.options(o)
			o.Stream = func(string, time.Time) ([]byte, time.Time, error) {
				return []byte("{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n" + c.line + "\n"), w.now.Wall.Add(-time.Second), nil
			}
		})
		a := see(t, p)["a"]
		if a.State != c.want || !a.HasEnded() || a.Exit == nil || a.Process.PID != 0 {
			t.Errorf("%s: %s (%s), want %s", name, a.State, a.Reason, c.want)
		}
		alive := fleet.Agent{Name: "a", Kind: "claude", Registered: true, Where: fleet.WhereHeadless, Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Process: id(10), Instance: "i-a"}
		if now := WithDeath([]fleet.Agent{alive}, x, w.now)[0]; now.State != fleet.StateUnknown || !now.Unsettled() {
			t.Errorf("%s: in the moment of its death it is %s (%s)", name, now.State, now.Reason)
		}
	}
}

// What is printed within the step of the clock in which the output was read is read, too: its file is as
// old then as it was. What stands is read once.
func TestWhatIsPrintedWithinOneStepOfTheClock(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude", "-p")
	r := b.reg("a", 10)
	r.Where, r.Kind, r.Instance = fleet.WhereHeadless, "claude", "i-a"
	text, at, read := "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n", w.now.Wall, 0
	p := w.probe(t, func(o *Options) {
		b.options(o)
		o.Stream = func(_ string, after time.Time) ([]byte, time.Time, error) {
			if !at.After(after) {
				return nil, after, nil
			}
			read++
			return []byte(text), at, nil
		}
	})
	see(t, p)
	text += "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}\n"
	if a := see(t, p)["a"]; a.State != fleet.StateIdle {
		t.Errorf("its turn is over, and it is %s (%s)", a.State, a.Reason)
	}
	w.now = w.now.Add(2 * time.Second)
	see(t, p)
	read = 0
	if a := see(t, p)["a"]; a.State != fleet.StateIdle || read > 0 {
		t.Errorf("what stands was read %d times; it is %s", read, a.State)
	}
}

// TestALimitThatHasItsResetInTheOutput: hooks say that a turn ended at a limit, and not until when; the output of an agent
// without a terminal does, while it runs and when its process is gone.
func TestALimitThatHasItsResetInTheOutput(t *testing.T) {
	for name, hooks := range map[string]bool{"by its output": false, "by hooks, too": true} {
		w, b := newWorld(), newLedger()
		w.proc(10, 1, "claude", "-p")
		r := b.reg("a", 10)
		r.Where, r.Kind, r.Instance = fleet.WhereHeadless, "claude", "i-a"
		reset, printed := w.now.Add(time.Hour).Wall.Truncate(time.Second), w.now.Wall.Add(-50*time.Second)
		for i, event := range []fleet.HookName{fleet.HookPrompt, fleet.HookFailure} {
			e := hook(w, "i-a", time.Minute-time.Duration(i)*time.Second, event, "", "")
			if event == fleet.HookFailure {
				e.Text = "rate_limit"
			}
			if hooks {
				b.events = append(b.events, e)
			}
		}
		p := w.probe(t, func(o *Options) {
			b.options(o)
			o.Stream = func(string, time.Time) ([]byte, time.Time, error) {
				return fmt.Appendf(nil, "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n"+`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d,"rateLimitType":"five_hour"}}`+"\n"+
					`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit"}`+"\n", reset.Unix()), printed, nil
			}
		})
		if a := see(t, p)["a"]; a.State != fleet.StateRateLimited || !a.RateLimitedUntil.Wall.Equal(reset) {
			t.Errorf("%s, while it runs: it is %s until %v, want %v: %s", name, a.State, a.RateLimitedUntil.Wall, reset, a.Reason)
		}
		exit := *exited(1)
		exit.Process, exit.At, exit.Instance = id(10), w.now, "i-a"
		r.Exit = &exit
		p.Died(exit)
		w.pass(time.Second)
		if a := see(t, p)["a"]; a.Process.PID != 0 || !a.RateLimitedUntil.Wall.Equal(reset) {
			t.Errorf("%s, when it is gone: it is %s until %v, want %v: %s", name, a.State, a.RateLimitedUntil.Wall, reset, a.Reason)
		}
		w.pass(2 * time.Hour)
		if a := see(t, p)["a"]; a.State == fleet.StateRateLimited && a.RateLimitedUntil.IsZero() {
			t.Errorf("%s, when it was reset: it is %s, and not until when: %s", name, a.State, a.Reason)
		}
	}
}
