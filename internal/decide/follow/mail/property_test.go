package mail

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Whatever is written, told, read, lost and killed, in whatever order: no copy is told
// more often than the schedule says, nobody gets what it wrote, nothing is told or
// returned twice, nothing is typed to who is not seen idle, and it comes to rest.
func TestMailProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newPostal(t)
		names := []string{"lead", "one", "two", "loner"}
		for range rapid.IntRange(1, 40).Draw(t, "deeds") {
			w.deed(t, names)
			typedTo := len(w.given)
			w.settle()
			for _, o := range w.given[typedTo:] {
				if a := w.seen(o.Agent); !w.snap.Agents.Fresh() || a.State != fleet.StateIdle || !a.ComposerEmpty.Or(false) {
					t.Fatalf("typed to %s, which is %s", o.Agent, a.State)
				}
			}
			w.check(t)
		}
	})
}

// deed is one thing that happens.
func (w *postal) deed(t *rapid.T, names []string) {
	name := rapid.SampledFrom(names).Draw(t, "name")
	switch rapid.IntRange(0, 8).Draw(t, "deed") {
	case 0, 1, 2:
		to := rapid.SampledFrom([]string{"lead", "one", "two", "@all", "role/worker", "parent", "overseer", "nobody"}).Draw(t, "to")
		kind := rapid.SampledFrom([]fleet.MailType{"", fleet.MailHelp, fleet.MailWitnessPing, fleet.MailQuestion}).Draw(t, "type")
		_, _ = w.send(fleet.ByAgent(name), to, rapid.SampledFrom([]string{"hello", "data loss", "cannot go on"}).Draw(t, "subject"), typed(kind))
	case 3:
		w.wait(rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Minute, 20 * time.Minute, 2 * time.Hour}).Draw(t, "time"))
	case 4:
		w.arrive(name, rapid.SampledFrom([]fleet.ResultStatus{fleet.ResultDone, fleet.ResultFailed, fleet.ResultRefused, fleet.ResultUnverified}).Draw(t, "result"))
	case 5:
		w.seen(name).State = rapid.SampledFrom([]fleet.AgentState{fleet.StateIdle, fleet.StateWorking, fleet.StateUnknown}).Draw(t, "state")
	case 6:
		w.snap.Agents.Status = rapid.SampledFrom([]fleet.Status{fleet.StatusOK, fleet.StatusStale}).Draw(t, "sight")
	case 7:
		for _, m := range ledger.MailFor(w.past.Records.Mails, name, w.snap.At) {
			if rapid.Bool().Draw(t, "reads") {
				m, _ = ledger.ReadMail(w.past.Records, m.ID, name, w.snap.At)
				w.put(m)
			} else {
				w.put(ledger.ToldMail([]fleet.Mail{m}, name, w.snap.At)[0])
			}
		}
	case 8:
		if name == "two" {
			w.reg(name).Desired = fleet.DesiredRetired
		}
	}
}

func (w *postal) check(t *rapid.T) {
	keys, orders, out := map[string]bool{}, map[string]bool{}, map[string]bool{}
	once := func(seen map[string]bool, id string) {
		if seen[id] && id != "" {
			t.Fatalf("%s is there twice", id)
		}
		seen[id] = true
	}
	for _, m := range w.past.Records.Mails {
		once(keys, m.Key)
		if !m.Sorted || len(m.Copies) == 0 {
			t.Fatalf("nobody has %+v", m)
		}
		for _, c := range m.Copies {
			if c.Told > mostTellings || c.State == fleet.CopyUnread && c.Told < mostTellings && c.To != fleet.Overseer {
				t.Fatalf("told %d times, %s: %+v", c.Told, c.State, m)
			}
			if m.From == fleet.ByAgent(c.To) || strings.HasPrefix(c.To, "@") {
				t.Fatalf("its own writer has it: %+v", m)
			}
		}
		if !m.Raised.IsZero() && m.Type != fleet.MailHelp {
			t.Fatalf("raised: %+v", m)
		}
	}
	for _, o := range w.given {
		once(orders, o.ID)
	}
	for _, m := range w.outbox {
		once(out, m.ID)
	}
	if got := w.pass(); !got.Records.IsZero() || len(got.Given)+len(got.Messages) > 0 {
		t.Fatalf("it does not rest: %+v", got)
	}
	if slices.ContainsFunc(w.past.Records.Mails, func(m fleet.Mail) bool { return m.Over() && m.Waits() }) {
		t.Fatalf("a call for help is over that waits")
	}
}

// mostTellings is how often a copy is told at most.
const mostTellings = 4
