package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// desk is one agent that is nearly full, its ledger, and what is done to it.
type desk struct {
	now     time.Duration
	reg     fleet.Registration
	agent   fleet.Agent
	policy  fleet.HandoffPolicy
	orders  map[string]fleet.Order // all that were ever given
	given   map[string]int         // how often each was
	actions []fleet.ActionRecord
	blind   bool
}

func newDesk() *desk {
	d := &desk{policy: fleet.DefaultHandoffPolicy(), orders: map[string]fleet.Order{}, given: map[string]int{}}
	d.policy.For = []string{"*"}
	d.reg = fleet.Registration{Name: "dev", Kind: "claude", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure,
		Task: "issue 7", Instance: "i1", SessionID: "s1", Process: fleet.ProcessID{PID: 7}, Revision: 1}
	d.agent = fleet.Agent{Name: "dev", Instance: "i1", State: fleet.StateIdle, Process: fleet.ProcessID{PID: 7}, ContextPercent: fleet.Known(85.0)}
	return d
}

func (d *desk) at() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC).Add(d.now), Up: fleet.Duration(d.now), Boot: "b"}
}

// look is a pass that is thought out: nothing of it is kept.
func (d *desk) look() fleet.Follows {
	past := fleet.Past{Registrations: []fleet.Registration{d.reg}, Actions: d.actions}
	for _, id := range d.open() {
		past.Orders = append(past.Orders, d.orders[id])
	}
	snap := fleet.Snapshot{At: d.at(), Agents: fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK, At: d.at()}, Value: []fleet.Agent{d.agent}}}
	if d.blind {
		snap.Agents.Status = fleet.StatusUnknown
	}
	return HandOff(fleet.Pass{Past: past, Snapshot: snap, Policy: fleet.Policy{Handoff: d.policy}})
}

func (d *desk) open() (ids []string) {
	for id, o := range d.orders {
		if !o.IsOver() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// pass is one that is committed.
func (d *desk) pass() fleet.Follows {
	out := d.look()
	for _, r := range out.Registrations {
		d.reg = r
		d.reg.Revision++
	}
	for _, o := range out.Given {
		d.given[o.ID]++
		if _, known := d.orders[o.ID]; !known {
			d.orders[o.ID] = o
		}
	}
	return out
}

// settle ends an order, by an action.
func (d *desk) settle(id string, status fleet.ResultStatus, why string) {
	o := d.orders[id]
	rec := fleet.ActionRecord{Action: fleet.Action{ID: "a-" + id, Order: id, Do: o.Do.Action()}, Stage: fleet.StageEnded, Result: &fleet.Result{Status: status, Why: why}}
	d.actions = append(d.actions, rec)
	d.orders[id] = o.After(*rec.Result)
}

func (d *desk) stage() fleet.HandoffStage {
	if d.reg.Handoff == nil {
		return ""
	}
	return d.reg.Handoff.Stage
}

func (d *desk) write(t testing.TB, text string) {
	t.Helper()
	r, err := ledger.HandOver(d.reg, text, fleet.ByAgent("dev"), d.at())
	if err != nil {
		t.Fatal(err)
	}
	d.reg = r
}

func (d *desk) dies(asked string) {
	d.reg.Exit = &fleet.Exit{Instance: d.reg.Instance, Asked: asked, Status: fleet.Known(0), At: d.at()}
	d.agent.Process, d.agent.State = fleet.ProcessID{}, fleet.StateStopped
}

// starts is what the action recover brings: see recover.plan.
func (d *desk) starts(instance string) {
	from := fleet.Registration{Instance: instance, Process: fleet.ProcessID{PID: 9}, SessionID: d.reg.SessionID}
	if d.stage() == fleet.HandoffStarting {
		from.SessionID, from.Prompt, from.PromptState = "s-"+instance, ledger.FreshPrompt(d.reg), fleet.DeliverySent
	}
	d.reg = d.reg.Learn(from)
	d.agent.Instance, d.agent.Process, d.agent.State, d.agent.ContextPercent = instance, fleet.ProcessID{PID: 9}, fleet.StateWorking, fleet.Known(3.0)
}

func TestHandoff(t *testing.T) {
	d := newDesk()
	out := d.pass()
	if d.stage() != fleet.HandoffAsked || len(out.Given) != 1 || out.Given[0].Do != fleet.OrderNudge || out.Given[0].ID != "handoff-i1-ask" || out.Until != d.at().Add(10*time.Minute) ||
		!strings.Contains(out.Given[0].Text, "custos handoff --file -") {
		t.Fatalf("asked: %+v", out)
	}
	d.settle("handoff-i1-ask", fleet.ResultDone, "")
	if d.now = 5 * time.Minute; len(d.pass().Given) != 0 {
		t.Errorf("it was asked twice")
	}
	d.write(t, "All but the tests is done.")
	if d.pass(); d.stage() != fleet.HandoffSaving || d.orders["handoff-i1-save"].Do != fleet.OrderBackup {
		t.Fatalf("%s: %v", d.stage(), d.orders)
	}
	d.settle("handoff-i1-save", fleet.ResultDone, "")
	for _, busy := range []fleet.AgentState{fleet.StateWorking, fleet.StateWaiting, fleet.StateUnknown, fleet.StateContextHigh} {
		d.agent.State, d.agent.Source = busy, "screen"
		if d.pass(); d.stage() != fleet.HandoffSaving {
			t.Fatalf("%s while it is %s", d.stage(), busy)
		}
	}
	d.agent.State, d.agent.Source = fleet.StateContextHigh, "hook"
	if d.pass(); d.stage() != fleet.HandoffStopping || d.orders["handoff-i1-stop"].Do != fleet.OrderStop {
		t.Fatalf("%s: %v", d.stage(), d.orders)
	}
	d.dies(fleet.ByCustos)
	d.settle("handoff-i1-stop", fleet.ResultDone, "")
	if d.pass(); d.stage() != fleet.HandoffStarting || d.orders["handoff-i1-start"].Do != fleet.OrderRecover ||
		!strings.Contains(ledger.FreshPrompt(d.reg), "All but the tests is done.") || !strings.Contains(ledger.FreshPrompt(d.reg), "issue 7") {
		t.Fatalf("%s: %+v", d.stage(), d.reg)
	}
	d.starts("i2")
	d.settle("handoff-i1-start", fleet.ResultDone, "")
	if d.pass(); d.stage() != fleet.HandoffDone || d.reg.SessionID != "s-i2" || d.reg.Handoff.Next != "i2" || d.reg.Handoff.Instance != "i1" {
		t.Fatalf("%+v", d.reg.Handoff)
	}
	if len(d.orders) != 4 || len(d.pass().Given) != 0 {
		t.Errorf("%d orders: %v", len(d.orders), d.orders)
	}
	// The fresh one is full some day, too.
	d.agent.State, d.agent.ContextPercent, d.reg.PromptState = fleet.StateIdle, fleet.Known(80.0), fleet.DeliveryAcknowledged
	if d.pass(); d.reg.Handoff.Instance != "i2" || d.stage() != fleet.HandoffAsked {
		t.Errorf("%+v", d.reg.Handoff)
	}
}

func TestHandoffThatIsLate(t *testing.T) {
	d := newDesk()
	d.pass()
	d.settle("handoff-i1-ask", fleet.ResultDone, "")
	d.now = 10 * time.Minute
	if out := d.pass(); d.stage() != fleet.HandoffLate || len(out.Given) != 1 || out.Given[0].Do != fleet.OrderBackup || !strings.Contains(d.reg.Handoff.Why, "08:00:00Z") {
		t.Fatalf("%s: %+v", d.stage(), out)
	}
	d.now = 5 * time.Hour
	if len(d.pass().Given) != 0 || d.stage() != fleet.HandoffLate {
		t.Errorf("more was done than a checkpoint: %+v", d.reg.Handoff)
	}
	d.write(t, "late, and still worth it")
	if d.pass(); d.stage() != fleet.HandoffSaving {
		t.Errorf("what came late was not taken: %s", d.stage())
	}
}

// A stage whose order is tried again waits for the try that does it: Custos may have
// been killed between the plan and the beginning of the first, and a guard may have
// held it back at the instant.
func TestAStageOutlivesATryThatNeverBegan(t *testing.T) {
	for _, order := range []string{"handoff-i1-save", "handoff-i1-stop", "handoff-i1-start"} {
		for _, first := range []fleet.ResultStatus{fleet.ResultRefused, fleet.ResultFailed} {
			d := newDesk()
			d.write(t, "what I know")
			for d.pass(); d.stage() != fleet.HandoffFailed && d.stage() != fleet.HandoffDone; d.pass() {
				now := d.reg.Handoff.Order
				if now == order {
					d.settle(now, first, "custos stopped before it began")
					d.pass()
				}
				d.settle(now, fleet.ResultDone, "")
				switch now {
				case "handoff-i1-stop":
					d.dies(fleet.ByCustos)
				case "handoff-i1-start":
					d.starts("i2")
				}
			}
			if d.stage() != fleet.HandoffDone || d.reg.Instance != "i2" {
				t.Errorf("%s, %s at first: %+v", order, first, d.reg.Handoff)
			}
		}
	}
}

// Who is not to be replaced is not asked; and what it writes by itself is kept.
func TestHandoffIsForThoseWhoAreNamed(t *testing.T) {
	for name, change := range map[string]func(*desk){
		"nobody is":                func(d *desk) { d.policy.For = nil },
		"another one is":           func(d *desk) { d.policy.For = []string{"codex", "reviewer"} },
		"adopted":                  func(d *desk) { d.reg.Owner = fleet.OwnerAdopted },
		"of a run":                 func(d *desk) { d.reg.Run = "r1" },
		"never started again":      func(d *desk) { d.reg.Restart = fleet.RestartNever },
		"stopped":                  func(d *desk) { d.reg.Desired = fleet.DesiredStopped },
		"paused":                   func(d *desk) { d.reg.Desired = fleet.DesiredPaused },
		"with room":                func(d *desk) { d.agent.ContextPercent = fleet.Known(79.9) },
		"its context is unknown":   func(d *desk) { d.agent.ContextPercent = fleet.Unknown[float64]("not told") },
		"at work":                  func(d *desk) { d.agent.State = fleet.StateWorking },
		"in a tool":                func(d *desk) { d.agent.Tool = &fleet.ToolCall{Name: "Bash"} },
		"not seen":                 func(d *desk) { d.blind = true },
		"seen in another life":     func(d *desk) { d.agent.Instance = "i0" },
		"its prompt is on its way": func(d *desk) { d.reg.PromptState = fleet.DeliverySent },
	} {
		d := newDesk()
		change(d)
		if out := d.look(); len(out.Given) != 0 || len(out.Registrations) != 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
	d := newDesk()
	d.policy.For = nil
	d.write(t, "I wrote this unasked.")
	if out := d.pass(); len(out.Given) != 0 || d.stage() != fleet.HandoffWritten {
		t.Errorf("%+v", out)
	}
	for _, word := range []string{"dev", "claude", "*"} {
		d.policy.For = []string{word}
		if out := d.look(); len(out.Given) != 1 {
			t.Errorf("for = %q: %+v", word, out)
		}
	}
}

func TestHandoffsThatFail(t *testing.T) {
	d := newDesk()
	d.write(t, "what I know")
	d.pass()
	d.settle("handoff-i1-save", fleet.ResultInDoubt, "the disk is full")
	if d.pass(); d.stage() != fleet.HandoffFailed || !strings.Contains(d.reg.Handoff.Why, "the disk is full") || d.reg.Handoff.Text == "" {
		t.Errorf("without a backup: %+v", d.reg.Handoff)
	}
	if len(d.pass().Given) != 0 {
		t.Errorf("it goes on after it failed")
	}
	// It ends by itself before it is stopped: what it wrote is not lost.
	d = newDesk()
	d.write(t, "what I know")
	d.dies("")
	if out := d.pass(); d.stage() != fleet.HandoffStarting || len(out.Given) != 1 || !strings.Contains(ledger.FreshPrompt(d.reg), "what I know") {
		t.Errorf("%s: %+v", d.stage(), out)
	}
	// It was only asked, and is started again: it has its conversation.
	d = newDesk()
	d.pass()
	d.starts("i2")
	if d.pass(); d.reg.Handoff != nil {
		t.Errorf("%+v", d.reg.Handoff)
	}
	// A person stops it meanwhile: it is not started again.
	d = newDesk()
	d.write(t, "what I know")
	d.pass()
	d.reg.Desired, d.reg.DesiredBy = fleet.DesiredStopped, "ann"
	d.dies("ann")
	if len(d.pass().Given) != 0 {
		t.Errorf("it is started again after a person stopped it")
	}
}

// A stop that makes room for a fresh one leaves the agent wanted, also when it has
// ended and the stop is not over yet; any other does not.
func TestStopOfAHandoffIsNoWish(t *testing.T) {
	d := newDesk()
	d.reg.Handoff = &fleet.Handoff{Instance: "i1", Stage: fleet.HandoffStarting, Order: "handoff-i1-start"}
	for _, c := range []struct {
		id, by string
		want   fleet.Desired
	}{{"handoff-i1-stop", fleet.ByCustos, fleet.DesiredRunning}, {"handoff-i1-stop", "ann", fleet.DesiredStopped}, {"other", fleet.ByCustos, fleet.DesiredStopped}} {
		past := fleet.Past{Registrations: []fleet.Registration{d.reg}, Orders: []fleet.Order{{ID: c.id, Do: fleet.OrderStop, Agent: "dev", By: c.by, State: fleet.OrderOpen}}}
		got := d.reg.Desired
		if changed, _ := Settle(past, fleet.Snapshot{At: d.at()}, fleet.Plan{}); len(changed) == 1 {
			got = changed[0].Desired
		}
		if got != c.want {
			t.Errorf("order %s by %s: it is to be %s, want %s", c.id, c.by, got, c.want)
		}
	}
}

// carryOut does what every open order asks for, but for starting it again.
func (d *desk) carryOut() {
	for _, id := range d.open() {
		switch d.orders[id].Do {
		case fleet.OrderRecover:
			continue
		case fleet.OrderStop:
			d.dies(fleet.ByCustos)
		}
		d.settle(id, fleet.ResultDone, "")
	}
}

// startsAgain starts the next instance, which is told what the last one handed over.
func (d *desk) startsAgain(t failing, instance, wrote string) {
	starting := d.stage() == fleet.HandoffStarting
	if d.starts(instance); starting && !strings.Contains(d.reg.Prompt, wrote) {
		t.Fatalf("what was handed over is lost: %q is not in %q", wrote, d.reg.Prompt)
	}
	for _, id := range d.open() {
		d.settle(id, fleet.ResultUnneeded, "it runs")
	}
	d.pass()
	d.reg.PromptState = fleet.DeliveryAcknowledged
}

// failing is a test, or one case of a property.
type failing interface {
	Fatalf(format string, args ...any)
}

// goesWell is one step where it is seen, its context is nearly full, its turn is over, it
// writes what it is asked for, and what is ordered is done. It returns what it wrote last.
func (d *desk) goesWell(t failing, wrote string) string {
	d.blind, d.now, d.agent.State, d.agent.ContextPercent = false, d.now+time.Second, fleet.StateIdle, fleet.Known(90.0)
	d.pass()
	if s := d.stage(); s == fleet.HandoffAsked || s == fleet.HandoffLate {
		wrote = "what I know, by " + d.reg.Instance
		r, err := ledger.HandOver(d.reg, wrote, fleet.ByAgent("dev"), d.at())
		if err != nil {
			t.Fatalf("what it was asked for is not taken: %v", err)
		}
		d.reg = r
	}
	d.carryOut()
	return wrote
}

// finishes has the next hand-off finished, from wherever it stands.
func (d *desk) finishes(t failing, wrote string) {
	const most = 20 // far more than there are stages
	for i := range most {
		if d.agent.Process.PID != 0 {
			wrote = d.goesWell(t, wrote)
			continue
		}
		d.blind = false
		d.pass()
		last := d.stage() == fleet.HandoffStarting
		if d.startsAgain(t, fmt.Sprintf("last%d", i), wrote); last {
			break
		}
	}
	if h := d.reg.Handoff; h == nil || h.Stage != fleet.HandoffDone || h.Next != d.reg.Instance {
		t.Fatalf("where all goes well it comes no further than %+v", h)
	}
}

// Whatever happens in whatever order, with a crash of Custos between any two of it:
// each instance is asked, stopped and replaced once at most, never in a turn, and
// what was handed over reaches the next one. And wherever that leaves it: where all
// goes well from then on, the next hand-off is finished.
func TestHandoffsLoseAndDoubleNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, born, wrote := newDesk(), 1, ""
		for i := range rapid.IntRange(10, 80).Draw(t, "steps") {
			d.now += time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second
			before, state := len(d.orders), d.agent
			switch rapid.SampledFrom([]string{"pass", "pass", "pass", "crash", "turn", "write", "settle", "settle", "die", "start", "blind"}).Draw(t, fmt.Sprint("do", i)) {
			case "pass":
				for _, o := range d.pass().Given {
					if o.Do == fleet.OrderStop && (!state.TurnOver() || d.blind) {
						t.Fatalf("it is stopped while it is %s", state.State)
					}
				}
				if d.blind && len(d.orders) > before && d.stage() == fleet.HandoffAsked {
					t.Fatal("it was asked by nobody's look")
				}
			case "crash": // thought out, and not committed
				a, b := d.look(), d.look()
				if fmt.Sprint(a.Given) != fmt.Sprint(b.Given) {
					t.Fatalf("the same pass gives %v, then %v", a.Given, b.Given)
				}
			case "turn":
				if d.agent.Process.PID != 0 {
					d.agent.State = rapid.SampledFrom([]fleet.AgentState{fleet.StateIdle, fleet.StateWorking, fleet.StateUnknown}).Draw(t, "state")
					d.agent.ContextPercent = fleet.Known(float64(rapid.IntRange(70, 99).Draw(t, "used")))
				}
			case "write":
				text := fmt.Sprintf("note %d of %s", i, d.reg.Instance)
				if r, err := ledger.HandOver(d.reg, text, fleet.ByAgent("dev"), d.at()); err == nil {
					d.reg, wrote = r, text
				}
			case "settle":
				d.carryOut()
			case "die":
				if d.agent.Process.PID != 0 {
					d.dies("")
				}
			case "start":
				if d.agent.Process.PID != 0 || d.reg.Exit == nil {
					continue
				}
				born++
				d.startsAgain(t, fmt.Sprintf("i%d", born), wrote)
			case "blind":
				d.blind = !d.blind
			}
		}
		d.finishes(t, wrote)
		for id, times := range d.given {
			if parts := strings.Split(id, "-"); len(parts) != 3 || times > 1 {
				t.Fatalf("order %s %d times", id, times)
			}
		}
	})
}
