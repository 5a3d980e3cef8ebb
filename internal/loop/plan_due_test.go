package loop

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/rules"
)

// TestWhatIsDueIsShownBefore: a due gate, an overdue step, a pool's spawn and a mail's
// notification are shown by a look, and the next pass does exactly that.
func TestWhatIsDueIsShownBefore(t *testing.T) {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		begin func(*hamlet)
		want  string // move
	}{
		"a due gate": {func(w *hamlet) {
			w.write(func(all fleet.Records) (fleet.Records, error) {
				g, err := ledger.AddGate(all, fleet.Gate{Type: fleet.GateTimer, Title: "soon", Until: w.at().Add(time.Minute), Waiters: []string{"ann"}}, "ann", w.at())
				return fleet.Records{Gates: []fleet.Gate{g}}, err
			})
		}, "gate/g1 open > closed"},
		"an overdue step": {func(w *hamlet) {
			run, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, Dir: "/runs/r1",
				Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}, Timeout: fleet.Duration(time.Minute)}}}, w.at())
			w.must(err)
			_, _, err = w.st.TakeRun(w.t.Context(), run)
			w.must(err)
			for range 3 { // it is ready, and then runs
				w.seen(fleet.ProcRunning)
				_, err = w.loop.turn(w.t.Context(), false, fleet.PatrolOrder{})
				w.must(err)
			}
		}, "run/r1/a running > running, being ended"},
		"a pool's spawn": {func(w *hamlet) { w.policy.Pools[0].Min = 1 }, "order/pool-dev-261101-0800-1  > open"},
		"a mail's notification": {func(w *hamlet) {
			w.write(func(all fleet.Records) (fleet.Records, error) {
				m, err := ledger.SendMail(all, ledger.AddressesOf(w.registrations()), fleet.Mail{To: []string{"ant"}, Subject: "hello"}, "ann", w.at())
				return fleet.Records{Mails: []fleet.Mail{m}}, err
			})
		}, "order/mail-m1-"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHamlet(t, nil)
			defer w.st.Close()
			w.policy.Mode, w.policy.Handoff.For = fleet.ModeAuto, nil
			w.loop = New(Options{Board: w, Rules: set, Policy: func(fleet.PatrolOrder) fleet.Policy { return w.policy }, History: w.st, Act: w, Every: time.Hour, Tick: time.Hour,
				Touches: func(string) []fleet.PartName { return nil }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			c.begin(w)
			w.now += 2 * time.Minute
			w.seen(fleet.ProcRunning)
			moved := map[fleet.Kind]int{}
			w.pass(moved, map[fleet.Kind]int{})
			var got []string
			for _, m := range w.done.Plan.Moves {
				got = append(got, m.Record.String()+" "+m.From+" > "+m.To)
			}
			if all := strings.Join(got, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("moves are\n%s\nwant %s", all, c.want)
			}
		})
	}
}

// write is what somebody writes down.
func (w *hamlet) write(do func(fleet.Records) (fleet.Records, error)) {
	_, err := w.st.EditRecords(w.t.Context(), w.at(), do)
	w.must(err)
}

// seen has all be seen well: agents that are idle, and steps as they are told.
func (w *hamlet) seen(step fleet.ProcState) {
	at := w.at()
	w.snap.At = at
	for _, name := range fleet.PartNames() {
		*w.snap.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: at}
	}
	past, err := w.st.Past(w.t.Context(), at)
	w.must(err)
	w.snap.Agents.Value, w.snap.Runs.Value = nil, nil
	for _, reg := range past.Registrations {
		w.snap.Agents.Value = append(w.snap.Agents.Value, fleet.Agent{Name: reg.Name, Kind: "claude", Owner: fleet.OwnerCustos, Registered: true, Instance: reg.Instance, Process: reg.Process, Source: "hook",
			State: fleet.StateIdle, Dwell: fleet.Known(fleet.Duration(time.Minute)), ComposerEmpty: fleet.Known(true), PromptState: fleet.DeliveryAcknowledged})
	}
	for _, r := range past.Runs {
		f := fleet.RunFacts{ID: r.ID, State: r.State, Formula: r.Formula, Ready: true, Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known(""), Lives: fleet.Known(false), Reply: fleet.Known(false)}
		for _, s := range r.Steps {
			f.Steps = append(f.Steps, fleet.StepFacts{Step: s.ID, Attempt: s.Attempt + 1, State: fleet.ProcNone}, fleet.StepFacts{Step: s.ID, Attempt: s.Attempt, State: step})
		}
		w.snap.Runs.Value = append(w.snap.Runs.Value, f)
	}
}
