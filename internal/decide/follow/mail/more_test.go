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

// A mail that nobody will read comes back: to its writer, and to who stands above its
// reader, once each. Whoever may come back is waited for.
func TestMailToTheDead(t *testing.T) {
	exit := func(status int) *fleet.Exit {
		return &fleet.Exit{Status: fleet.Known(status), Signal: fleet.Unknown[int]("none"), Source: "shim"}
	}
	for name, c := range map[string]struct {
		by     string
		change func(*postal)
		want   string // who gets it back
	}{
		"retired":                  {"agent/loner", func(w *postal) { w.reg("one").Desired = fleet.DesiredRetired }, "loner lead"},
		"stopped by a person":      {"agent/loner", func(w *postal) { w.reg("one").Desired, w.reg("one").Exit = fleet.DesiredStopped, exit(1) }, "loner lead"},
		"not registered any more":  {"agent/loner", func(w *postal) { w.past.Registrations = slices.Delete(w.past.Registrations, 1, 2) }, "loner"},
		"ended in order":           {"agent/loner", func(w *postal) { w.reg("one").Exit = exit(0) }, "loner lead"},
		"its writer is above it":   {"agent/lead", func(w *postal) { w.reg("one").Exit = exit(0) }, "lead"},
		"a person wrote it":        {"ann", func(w *postal) { w.reg("one").Exit = exit(0) }, "overseer lead"},
		"and nobody is above":      {"ann", func(w *postal) { w.reg("one").Exit, w.reg("lead").Exit = exit(0), exit(0) }, "overseer"},
		"crashed":                  {"agent/loner", func(w *postal) { w.reg("one").Exit = exit(1) }, ""},
		"ended, and started again": {"agent/loner", func(w *postal) { w.reg("one").Exit, w.reg("one").Restart = exit(0), fleet.RestartAlways }, ""},
		"ended, as Custos asked": {"agent/loner", func(w *postal) {
			w.reg("one").Exit = exit(0)
			w.reg("one").Exit.Asked = fleet.ByCustos
		}, ""},
		"stops, and still lives": {"agent/loner", func(w *postal) { w.reg("one").Desired = fleet.DesiredStopped }, ""},
		"not seen":               {"agent/loner", func(w *postal) { w.snap.Agents.Value = nil }, ""},
	} {
		w := newPostal(t)
		id := w.mustSend(c.by, "one", "hello")
		c.change(w)
		for range 3 {
			w.settle()
			w.wait(time.Minute)
		}
		var back []string
		for _, m := range w.past.Records.Mails[1:] {
			if m.Type == fleet.MailBounce && m.Answers == id && strings.Contains(m.Subject, `Returned: "hello" for one: `) {
				back = append(back, m.To...)
			}
		}
		if strings.Join(back, " ") != c.want || (w.copy(id, "one").State == fleet.CopyBounced) != (c.want != "") {
			t.Errorf("%s: returned to %v, want %s; %+v", name, back, c.want, w.copy(id, "one"))
		}
	}
}

// What a group was told, and what tells of a return, does not come back.
func TestMailBouncesNoFurther(t *testing.T) {
	w := newPostal(t)
	w.mustSend("agent/lead", "@all", "noon")
	w.reg("one").Desired = fleet.DesiredRetired
	w.settle()
	if len(w.past.Records.Mails) != 1 || w.copy("m1", "one").State != fleet.CopyBounced {
		t.Errorf("%+v", w.past.Records.Mails)
	}
	w = newPostal(t)
	w.mustSend("agent/one", "two", "hello")
	for _, name := range []string{"one", "two", "lead"} {
		w.reg(name).Desired = fleet.DesiredRetired
	}
	w.settle()
	if n := len(w.past.Records.Mails); n != 2 {
		t.Errorf("between the dead %d mails are written: %+v", n, w.past.Records.Mails)
	}
}

// What Custos tells and nobody is left for is the people's.
func TestMailOfCustosIsNotLost(t *testing.T) {
	for _, to := range []string{"gone", "@project/none", "role/none"} {
		w := newPostal(t)
		w.put(fleet.Mail{Head: fleet.Head{Key: "gate/g1"}, From: fleet.ByCustos, Type: fleet.MailGate, To: []string{to}, Subject: "gate g1 passed", At: w.snap.At, Priority: fleet.P3})
		w.settle()
		if len(w.outbox) != 1 || !strings.Contains(w.outbox[0].Subject, "gate g1 passed") {
			t.Errorf("%s: people are told %+v", to, w.outbox)
		}
	}
}

// A ping is answered from the record, and wakes nobody: neither is anything typed for
// it, nor for its answer.
func TestMailPing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*postal)
		want   string
	}{
		"idle":        {func(*postal) {}, "one: idle; last active 3m0s ago"},
		"unknown":     {func(w *postal) { w.seen("one").Quiet = fleet.Unknown[fleet.Duration]("no signal") }, "one: idle; when it was last active is unknown: no signal"},
		"not seen":    {func(w *postal) { w.snap.Agents.Value = nil }, "one: unknown; it is not seen now"},
		"stale facts": {func(w *postal) { w.snap.Agents.Status = fleet.StatusStale }, "one: unknown; agents are not seen now"},
		"retired":     {func(w *postal) { w.reg("one").Desired = fleet.DesiredRetired }, "one: it is retired"},
	} {
		w := newPostal(t)
		id := w.mustSend("agent/lead", "one", "are you there?", typed(fleet.MailWitnessPing))
		c.change(w)
		w.settle()
		w.wait(6 * time.Hour)
		w.settle()
		if got := w.got("lead"); len(got) != 1 || got[0] != "answer "+c.want {
			t.Errorf("%s: answered %q, want %q", name, got, c.want)
		}
		if m := ledger.FindMail(w.past.Records, id); len(w.given) > 0 || len(w.outbox) > 0 || m.AnsweredBy != fleet.ByCustos || m.Copies[0].State != fleet.CopyRead {
			t.Errorf("%s: %d orders, %+v", name, len(w.given), m)
		}
	}
}

// A ping to Custos itself is answered by it.
func TestMailPingCustos(t *testing.T) {
	for _, to := range []string{"custos", fleet.ByCustos} {
		w := newPostal(t)
		id := w.mustSend("agent/lead", to, "are you there?", typed(fleet.MailWitnessPing))
		w.settle()
		if got := w.got("lead"); len(got) != 1 || !strings.HasPrefix(got[0], "answer Custos is here: it looked at 08:00") {
			t.Errorf("%s: answered %q", to, got)
		}
		if m := ledger.FindMail(w.past.Records, id); m.AnsweredBy != fleet.ByCustos || len(w.given)+len(w.outbox) > 0 {
			t.Errorf("%s: %+v", to, m)
		}
	}
}

// A call for help is sorted by its words; unanswered for as long as its grade allows, it
// is escalated, once.
func TestMailHelp(t *testing.T) {
	for text, c := range map[string]struct {
		grade  fleet.Priority
		after  time.Duration
		people bool // told at once
	}{
		"I think I deleted the wrong branch": {fleet.P1, 15 * time.Minute, true},
		"a SECRET is in the log":             {fleet.P1, 15 * time.Minute, true},
		"the tests cannot be run":            {fleet.P2, time.Hour, false},
		"a merge conflict":                   {fleet.P2, time.Hour, false},
		"which of the two is nicer?":         {fleet.P3, 4 * time.Hour, false},
		"an undeletedness":                   {fleet.P3, 4 * time.Hour, false},
	} {
		w := newPostal(t)
		id := w.mustSend("agent/one", "parent", text, typed(fleet.MailHelp))
		w.settle()
		m := func() *fleet.Mail { return ledger.FindMail(w.past.Records, id) }
		if m().Grade != c.grade || (len(w.outbox) == 1) != c.people || ledger.CopyOf(m(), "lead") == nil {
			t.Errorf("%q: graded %s, people told %d, %+v", text, m().Grade, len(w.outbox), m().Copies)
		}
		w.wait(c.after - time.Second)
		if w.settle(); !m().Raised.IsZero() {
			t.Errorf("%q: raised too early", text)
		}
		w.wait(time.Second)
		w.settle()
		raised := m().Raised
		w.wait(time.Hour)
		w.settle()
		if raised.IsZero() || m().Raised != raised || len(m().Copies) != 2 || w.copy(id, fleet.Overseer).State != fleet.CopyTold {
			t.Errorf("%q: raised at %v, %v; %+v", text, raised, m().Raised, m().Copies)
		}
	}
}

// An answer in time, by anybody, keeps it from being escalated.
func TestMailHelpAnswered(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/one", "parent", "the build is broken", typed(fleet.MailHelp))
	w.settle()
	reply, was, err := ledger.ReplyMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), id, fleet.Mail{Body: "make clean"}, "agent/lead", w.snap.At)
	if err != nil {
		t.Fatal(err)
	}
	w.put(reply)
	w.put(was)
	w.wait(5 * time.Hour)
	w.settle()
	if m := ledger.FindMail(w.past.Records, id); !m.Raised.IsZero() || !m.Over() {
		t.Errorf("%+v", m)
	}
}

// A call for help that people put away is dealt with; that an agent does so ends nothing.
func TestMailHelpPutAway(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/one", "parent", "I deleted it", typed(fleet.MailHelp))
	w.settle()
	for _, c := range []struct{ reader, want string }{{"lead", ""}, {fleet.Overseer, fleet.Overseer}} {
		m, err := ledger.ArchiveMail(w.past.Records, id, c.reader, w.snap.At)
		if err != nil || m.AnsweredBy != c.want || ledger.CopyOf(&m, c.reader).State != fleet.CopyArchived {
			t.Errorf("%s: %+v, %v", c.reader, m, err)
		}
	}
}

// Two agents that write each other in a loop are stopped, told once each, and it is a
// finding; others, and they themselves after a while, go on.
func TestMailLoop(t *testing.T) {
	w := newPostal(t)
	name := []string{"one", "two"}
	sent := 0
	for i := range 40 {
		if _, err := w.send("agent/"+name[i%2], name[1-i%2], "thank you"); err == nil {
			sent++
		} else if !strings.Contains(err.Error(), "wrote each other 20 mails within 10 minutes") {
			t.Fatal(err)
		}
		w.settle()
		w.arrive("one", fleet.ResultDone)
		w.arrive("two", fleet.ResultDone)
		w.wait(5 * time.Second)
	}
	stops := func(who string) int {
		return len(slices.DeleteFunc(w.got(who), func(s string) bool { return !strings.HasPrefix(s, "news Your mail is stopped") }))
	}
	if sent != 20 || stops("one") != 1 || stops("two") != 1 {
		t.Errorf("%d are sent; told %d and %d times", sent, stops("one"), stops("two"))
	}
	stopped := slices.DeleteFunc(ledger.Facts(w.past, w.snap).Value.Mails, func(m fleet.MailFacts) bool { return m.Stopped == "" })
	if len(stopped) != 1 {
		t.Errorf("%d facts tell of it: %+v", len(stopped), stopped)
	}
	if _, err := w.send("agent/one", "@project/shop", "to all"); err == nil {
		t.Error("through a group it goes on")
	}
	if _, err := w.send("agent/one", "lead", "another"); err != nil {
		t.Errorf("to another: %v", err)
	}
	if _, err := w.send("ann", "one", "a person"); err != nil {
		t.Errorf("a person: %v", err)
	}
	w.wait(10 * time.Minute)
	if _, err := w.send("agent/one", "two", "once more"); err != nil {
		t.Errorf("after a while: %v", err)
	}
	for _, m := range ledger.Facts(w.past, w.snap).Value.Mails {
		if m.Stopped != "" {
			t.Errorf("it does not end: %+v", m)
		}
	}
}

// What custos.toml says that a mail brings about, and what an agent may not bring about.
func TestMailBringsAbout(t *testing.T) {
	for name, c := range map[string]struct {
		by, do, about string
		state         fleet.WorkState // of w1, that one has
		told          string
	}{
		"its own work is closed":    {"agent/one", "close", "w1", fleet.WorkClosed, ""},
		"a person closes any":       {"ann", "close", "w1", fleet.WorkClosed, ""},
		"another's is not":          {"agent/two", "close", "w1", fleet.WorkTaken, "m1 did not close work: cannot close work"},
		"no such work":              {"agent/one", "close", "w7", fleet.WorkTaken, "is no work of this ledger"},
		"nothing is named":          {"agent/one", "close", "", fleet.WorkTaken, "is no work of this ledger"},
		"given back":                {"agent/one", "release", "w1", fleet.WorkOpen, ""},
		"reopened, but not closed":  {"agent/one", "reopen", "w1", fleet.WorkTaken, "w1 is in progress"},
		"nothing is said about it":  {"agent/one", "", "w1", fleet.WorkTaken, ""},
		"work is added by a mail":   {"agent/one", "add", "", fleet.WorkTaken, ""},
		"another's stays when held": {"agent/two", "release", "w1", fleet.WorkTaken, "two does not work on w1"},
	} {
		w := newPostal(t)
		w.policy.Mails = map[fleet.MailType]fleet.MailAction{fleet.MailWorkerDone: {Work: c.do, Trigger: "done"}}
		w.past.Records.Work = []fleet.WorkItem{{Head: fleet.Head{ID: "w1", Revision: 1}, Title: "x", State: fleet.WorkTaken, Agent: "one", Priority: fleet.P3}}
		w.mustSend(c.by, "lead", "it is done", typed(fleet.MailWorkerDone), func(m *fleet.Mail) { m.About = c.about })
		first := w.pass()
		w.settle()
		if got := w.past.Records.Work[0].State; got != c.state {
			t.Errorf("%s: w1 is %s, want %s", name, got, c.state)
		}
		told := fmt.Sprint(w.got(ledger.WriterOf(c.by)))
		if c.told == "" && told != "[]" || !strings.Contains(told, c.told) {
			t.Errorf("%s: its writer is told %s, want %q", name, told, c.told)
		}
		if len(first.Records.Triggers) != 1 || first.Records.Triggers[0].Name != "done" || (len(w.past.Records.Work) == 2) != (c.do == "add") {
			t.Errorf("%s: %+v, %d pieces of work", name, first.Records.Triggers, len(w.past.Records.Work))
		}
	}
}

// The same type brings nothing about when nothing says so, nor does free text.
func TestMailBringsNothingAbout(t *testing.T) {
	w := newPostal(t)
	w.policy.Mails = map[fleet.MailType]fleet.MailAction{fleet.MailFree: {Work: "add", Trigger: "x"}}
	w.mustSend("agent/one", "lead", "hello")
	w.mustSend("agent/one", "lead", "hello", typed(fleet.MailWorkerDone))
	if got := w.pass(); len(got.Records.Triggers)+len(got.Records.Work) > 0 {
		t.Errorf("%+v", got.Records)
	}
}

// An agent that has the name of the people, from before that was refused or by its session, is
// not the people: it neither reads, answers nor puts away what they got, and its own mail is its own.
func TestAnAgentCalledAsThePeopleIsNotThem(t *testing.T) {
	w := newPostal(t)
	w.agent(fleet.Registration{Name: fleet.Overseer, Role: "worker", Project: "shop"})
	evil := fleet.ByAgent(fleet.Overseer)
	help := w.mustSend("agent/one", fleet.Overseer, "may I go on?", typed(fleet.MailHelp))
	if c := ledger.FindMail(w.past.Records, help).Copies; len(c) != 1 || c[0].To != fleet.Overseer {
		t.Fatalf("%+v", c)
	}
	w.settle()
	if _, err := ledger.ReadMail(w.past.Records, help, ledger.WriterOf(evil), w.snap.At); err == nil {
		t.Error("it reads the people's mail")
	}
	if _, err := ledger.ArchiveMail(w.past.Records, help, ledger.WriterOf(evil), w.snap.At); err == nil {
		t.Error("it puts the people's mail away")
	}
	if _, _, err := ledger.ReplyMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), help, fleet.Mail{Body: "yes"}, evil, w.snap.At); err == nil {
		t.Error("it answers for the people")
	}
	if len(w.given) != 0 || len(w.outbox) != 1 {
		t.Errorf("it is told of it: %+v, people %d times", w.given, len(w.outbox))
	}
	all := ledger.FindMail(w.past.Records, w.mustSend("agent/one", "@all", "hi"))
	if ledger.CopyOf(all, fleet.Overseer) != nil || ledger.CopyOf(all, "agent/overseer") == nil {
		t.Errorf("what all are told: %+v", all.Copies)
	}
	if _, err := w.send(evil, fleet.Overseer, "hello"); err != nil {
		t.Errorf("it may write to the people: %v", err)
	}
}

// Whom a bare name does not mean is written to by kind and name, and is told as anybody is.
func TestMailToAnAgentByKindAndName(t *testing.T) {
	for _, c := range []struct{ name, address, copy string }{
		{"overseer", "agent/overseer", "agent/overseer"}, {"custos", "agent/custos", "agent/custos"}, {"solo", "agent/solo", "solo"}, {"solo", "solo", "solo"},
	} {
		w := newPostal(t)
		w.agent(fleet.Registration{Name: c.name})
		id := w.mustSend("ann", c.address, "hello")
		w.settle()
		if copies := ledger.FindMail(w.past.Records, id).Copies; len(copies) != 1 || copies[0].To != c.copy || len(w.given) != 1 || w.given[0].Agent != c.name {
			t.Errorf("%s: %+v, %+v", c.address, copies, w.given)
		}
		if _, err := ledger.ReadMail(w.past.Records, id, ledger.WriterOf(fleet.ByAgent(c.name)), w.snap.At); err != nil {
			t.Errorf("%s: %v", c.address, err)
		}
	}
	w := newPostal(t)
	w.agent(fleet.Registration{Name: "custos"})
	if _, err := w.send("ann", "custos", "hello"); err == nil {
		t.Error("custos means an agent")
	}
}

// That its branch is merged is no news that comes back from an agent that has ended; that it is not merged is.
func TestMergeResultsComeBackOnlyWhereSomethingIsToDo(t *testing.T) {
	for key, want := range map[string]int{"merged": 0, "failed": 1} {
		w := newPostal(t)
		w.put(ledger.MergeNews(&fleet.MergeItem{Head: fleet.Head{ID: "mq1"}, Commit: "c", Source: "retry"}, key, "one", "mq1 (retry): "+key, "", w.snap.At))
		w.reg("one").Desired = fleet.DesiredRetired
		for range 3 {
			w.settle()
			w.wait(time.Minute)
		}
		back := 0
		for _, m := range w.past.Records.Mails {
			if m.Type == fleet.MailBounce {
				back++
			}
		}
		if (back > 0) != (want > 0) || w.copy("m1", "one").State != fleet.CopyBounced {
			t.Errorf("%s: %d came back; %+v", key, back, w.copy("m1", "one"))
		}
	}
}
