package mail

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// postal is a fleet with mail: what the store and the loop do with mail, by hand.
type postal struct {
	t      fatal
	past   fleet.Past
	snap   fleet.Snapshot
	policy fleet.Policy
	outbox []fleet.Message
	given  []fleet.Order
	next   int
}

// fatal is what tests and rapid's checks have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

var postStart = fleet.Instant{Wall: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Up: fleet.Duration(100 * time.Hour), Boot: "b"}

// newPostal has a lead with two workers, and one that works alone. All are idle.
func newPostal(t fatal) *postal {
	w := &postal{t: t, policy: fleet.Policy{Mode: fleet.ModeAuto}}
	w.snap.At = postStart
	w.snap.Agents.Status = fleet.StatusOK
	w.agent(fleet.Registration{Name: "lead", Role: "lead", Project: "shop"})
	w.agent(fleet.Registration{Name: "one", Role: "worker", Project: "shop", Parent: "lead"})
	w.agent(fleet.Registration{Name: "two", Role: "worker", Project: "shop", Parent: "lead"})
	w.agent(fleet.Registration{Name: "loner", Role: "docs", Project: "book"})
	return w
}

func (w *postal) agent(r fleet.Registration) {
	r.Instance, r.Desired, r.Restart, r.Owner, r.DesiredBy = "i-"+r.Name, fleet.DesiredRunning, fleet.RestartOnFailure, fleet.OwnerCustos, "ann"
	w.past.Registrations = append(w.past.Registrations, r)
	w.snap.Agents.Value = append(w.snap.Agents.Value, fleet.Agent{Name: r.Name, Owner: r.Owner, State: fleet.StateIdle, Registered: true, Pane: &fleet.Pane{},
		ComposerEmpty: fleet.Known(true), Quiet: fleet.Known(fleet.Duration(3 * time.Minute)), Process: fleet.ProcessID{PID: 7}})
}

func (w *postal) reg(name string) *fleet.Registration {
	i := slices.IndexFunc(w.past.Registrations, func(r fleet.Registration) bool { return r.Name == name })
	return &w.past.Registrations[i]
}

func (w *postal) seen(name string) *fleet.Agent {
	i := slices.IndexFunc(w.snap.Agents.Value, func(a fleet.Agent) bool { return a.Name == name })
	return &w.snap.Agents.Value[i]
}

func (w *postal) wait(d time.Duration) { w.snap.At = w.snap.At.Add(d) }

// send writes mail down, as the server does.
func (w *postal) send(by, to, subject string, more ...func(*fleet.Mail)) (fleet.Mail, error) {
	m := fleet.Mail{To: []string{to}, Subject: subject}
	for _, f := range more {
		f(&m)
	}
	m, err := ledger.SendMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), m, by, w.snap.At)
	if err == nil {
		m = w.put(m)
	}
	return m, err
}

func (w *postal) mustSend(by, to, subject string, more ...func(*fleet.Mail)) string {
	w.t.Helper()
	m, err := w.send(by, to, subject, more...)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return m.ID
}

func typed(t fleet.MailType) func(*fleet.Mail) { return func(m *fleet.Mail) { m.Type = t } }

// put keeps a mail, as the store does: by its key, under a new number, at its revision.
func (w *postal) put(m fleet.Mail) fleet.Mail {
	if m.Revision == 0 {
		if i := slices.IndexFunc(w.past.Records.Mails, func(o fleet.Mail) bool { return o.Key != "" && o.Key == m.Key }); i >= 0 {
			return w.past.Records.Mails[i]
		}
		w.next++
		m.ID, m.Revision = fmt.Sprintf("m%d", w.next), 1
		w.past.Records.Mails = append(w.past.Records.Mails, m)
		return m
	}
	was := ledger.FindMail(w.past.Records, m.ID)
	if was.Revision != m.Revision {
		w.t.Fatalf("%s is changed twice at once", m.ID)
	}
	m.Revision++
	*was = m
	return m
}

// held is what the next pass would tell and does not, in words.
func (w *postal) held() string {
	var out []string
	for _, h := range Follow(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy}).Held {
		out = append(out, fmt.Sprintf("%s %s > %s %v %s: %s", h.Record, h.From, h.To, h.Told, h.Guard, h.Held))
	}
	return strings.Join(out, "; ")
}

// pass is one pass, committed.
func (w *postal) pass() fleet.Follows {
	w.t.Helper()
	plan := fleet.Plan{}
	for _, o := range w.past.Orders {
		if !o.Expires.IsZero() && !w.snap.At.Before(o.Expires) {
			o.State = fleet.OrderExpired
			plan.Orders = append(plan.Orders, o)
		}
	}
	got := Follow(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy, Plan: plan})
	for _, m := range got.Records.Mails {
		w.put(m)
	}
	for _, work := range got.Records.Work {
		if i := slices.IndexFunc(w.past.Records.Work, func(o fleet.WorkItem) bool { return o.ID == work.ID }); i >= 0 {
			w.past.Records.Work[i] = work
		} else {
			work.ID = "w99"
			w.past.Records.Work = append(w.past.Records.Work, work)
		}
	}
	w.past.Orders = slices.DeleteFunc(w.past.Orders, func(o fleet.Order) bool {
		return slices.ContainsFunc(plan.Orders, func(p fleet.Order) bool { return p.ID == o.ID })
	})
	w.past.Orders = append(w.past.Orders, got.Given...)
	w.given, w.outbox = append(w.given, got.Given...), append(w.outbox, got.Messages...)
	return got
}

// settle passes until nothing changes any more.
func (w *postal) settle() {
	w.t.Helper()
	for range 20 {
		if got := w.pass(); got.Records.IsZero() && len(got.Given) == 0 {
			return
		}
	}
	w.t.Fatalf("mail never comes to rest: %+v", w.past.Records.Mails)
}

// arrive ends the open orders of an agent with a result, as the store does.
func (w *postal) arrive(name string, s fleet.ResultStatus) {
	for i := range w.past.Orders {
		if o := w.past.Orders[i]; o.Agent == name {
			w.past.Actions = append(w.past.Actions, fleet.ActionRecord{Action: fleet.Action{ID: "a-" + o.ID, Order: o.ID, Do: "nudge"}, Stage: fleet.StageEnded, Result: &fleet.Result{Status: s}})
		}
	}
	w.past.Orders = slices.DeleteFunc(w.past.Orders, func(o fleet.Order) bool { return o.Agent == name })
}

// copy is a mail as a reader has it.
func (w *postal) copy(id, reader string) fleet.MailCopy {
	w.t.Helper()
	m := ledger.FindMail(w.past.Records, id)
	if c := ledger.CopyOf(m, reader); c != nil {
		return *c
	}
	w.t.Fatalf("%s has no copy for %s: %+v", id, reader, m.Copies)
	return fleet.MailCopy{}
}

// got lists the mails that somebody has, as "type about: subject".
func (w *postal) got(reader string) (out []string) {
	for _, m := range w.past.Records.Mails {
		if ledger.CopyOf(&m, reader) != nil {
			out = append(out, string(m.Type)+" "+m.Subject)
		}
	}
	return out
}

func TestMailIsQuiet(t *testing.T) {
	w := newPostal(t)
	if got := w.pass(); !got.Records.IsZero() || len(got.Given)+len(got.Messages) > 0 {
		t.Errorf("without mail: %+v", got)
	}
}
