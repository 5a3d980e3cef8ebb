package mail

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Whom an address means.
func TestMailAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		by, to string
		want   string // names, joined; or the error, after a !
	}{
		"an agent":               {"ann", "one", "one"},
		"a role":                 {"ann", "role/worker", "one"},
		"a role, not oneself":    {"agent/one", "role/worker", "two"},
		"all of a role":          {"ann", "@role/worker", "one two"},
		"everybody":              {"ann", "@all", "lead loner one two"},
		"everybody else":         {"agent/one", "@all", "lead loner two"},
		"a project":              {"agent/lead", "@project/shop", "one two"},
		"the agent above":        {"agent/one", "parent", "lead"},
		"nobody above: people":   {"agent/loner", "parent", "overseer"},
		"people":                 {"agent/one", "overseer", "overseer"},
		"Custos":                 {"ann", "custos", "!Custos reads no mail"},
		"Custos, by its author":  {"agent/one", "@custos", "!write to overseer"},
		"nobody":                 {"ann", "onne", `!nobody is called "onne", did you mean "one"?`},
		"no such role":           {"ann", "role/wroker", `!no agent has the role "wroker", did you mean "worker"?`},
		"nobody of it":           {"ann", "@project/shpo", `!has no other agent that could read it, did you mean "shop"?`},
		"no such group":          {"ann", "@every", `!there is no group "@every"`},
		"oneself":                {"agent/one", "one", "!writing to itself"},
		"a person to the people": {"ann", "overseer", "!writing to itself"},
		"who cannot be told":     {"agent/?", "one", "!it cannot be told who writes it"},
	} {
		w := newPostal(t)
		m, err := w.send(c.by, c.to, "hello")
		if why, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !errors.Is(err, ledger.ErrIllegal) || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", name, err, why)
			}
			continue
		}
		var to []string
		for _, c := range m.Copies {
			to = append(to, c.To)
		}
		if slices.Sort(to); err != nil || strings.Join(to, " ") != c.want {
			t.Errorf("%s: for %v, %v; want %s", name, to, err, c.want)
		}
	}
}

// What is not taken is refused with the reason, and nothing is written.
func TestMailRefused(t *testing.T) {
	for name, c := range map[string]struct {
		m    fleet.Mail
		want string
	}{
		"a megabyte":        {fleet.Mail{Body: strings.Repeat("x", 1<<20)}, "its text has 1048576 bytes, 65536 are the most"},
		"no subject":        {fleet.Mail{Subject: " \n"}, "it has no subject"},
		"no such type":      {fleet.Mail{Type: "worker-done"}, `did you mean "worker_done"?`},
		"a type of Custos'": {fleet.Mail{Type: fleet.MailBounce}, `there is no type "bounce"`},
		"no such priority":  {fleet.Mail{Priority: "P9"}, "P9"},
		"nobody":            {fleet.Mail{To: []string{}}, "it has 0 addresses"},
	} {
		w := newPostal(t)
		if c.m.Subject == "" {
			c.m.Subject = "x"
		}
		if c.m.To == nil {
			c.m.To = []string{"one"}
		}
		if _, err := ledger.SendMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), c.m, "ann", w.snap.At); err == nil || !errors.Is(err, ledger.ErrIllegal) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// No secret and no escape is kept of what somebody writes.
func TestMailIsClean(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/one", "two", "the token=abcdefgh\x1b[31m is red\nx", func(m *fleet.Mail) { m.Body = "password=hunter2\nand\x07 more" })
	m := ledger.FindMail(w.past.Records, id)
	if m.Subject != "the token=*** is red x" || m.Body != "password=***\nand more" {
		t.Errorf("%q %q", m.Subject, m.Body)
	}
}

// A mail to one idle agent: one nudge, told when it arrived, read when the agent says
// so, and then nothing more.
func TestMailIsToldAndRead(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/two", "one", "the port is 8080")
	w.settle()
	if len(w.given) != 1 || w.given[0].Agent != "one" || w.given[0].Do != fleet.OrderNudge || !strings.Contains(w.given[0].Text, id+" (P3) from agent/two: the port is 8080") {
		t.Fatalf("given %+v", w.given)
	}
	if c := w.copy(id, "one"); c.State != fleet.CopyNew || c.Order == "" {
		t.Errorf("while it is on its way: %+v", c)
	}
	w.arrive("one", fleet.ResultDone)
	w.settle()
	if c := w.copy(id, "one"); c.State != fleet.CopyTold || c.Told != 1 {
		t.Errorf("told: %+v", c)
	}
	if _, err := ledger.ReadMail(w.past.Records, id, "two", w.snap.At); err != nil {
		t.Errorf("its writer may look: %v", err)
	}
	if _, err := ledger.ReadMail(w.past.Records, id, "loner", w.snap.At); err == nil {
		t.Error("a third one reads it")
	}
	m, err := ledger.ReadMail(w.past.Records, id, "one", w.snap.At)
	if err != nil {
		t.Fatal(err)
	}
	w.put(m)
	w.wait(5 * time.Hour)
	w.settle()
	if c := w.copy(id, "one"); c.State != fleet.CopyRead || len(w.given) != 1 || len(w.past.Records.Mails) != 1 {
		t.Errorf("after it was read: %+v, %d orders, %d mails", c, len(w.given), len(w.past.Records.Mails))
	}
}

// When no nudge is tried: nothing is typed on a guess, or in vain.
func TestMailIsNotTyped(t *testing.T) {
	for name, c := range map[string]struct {
		by     string
		change func(*postal)
		want   int
		held   string // by what
	}{
		"idle":                      {"agent/two", func(*postal) {}, 1, ""},
		"it works":                  {"agent/two", func(w *postal) { w.seen("one").State = fleet.StateWorking }, 0, "state: one is working"},
		"it is unknown":             {"agent/two", func(w *postal) { w.seen("one").State = fleet.StateUnknown }, 0, "evidence: the state of one is not known"},
		"stale facts":               {"agent/two", func(w *postal) { w.snap.Agents.Status, w.snap.Agents.Why = fleet.StatusStale, "it does not answer" }, 0, "evidence: agents are not seen now: it does not answer"},
		"something is half-written": {"agent/two", func(w *postal) { w.seen("one").ComposerEmpty = fleet.Known(false) }, 0, "state: something stands in the input line of one"},
		"perhaps half-written":      {"agent/two", func(w *postal) { w.seen("one").ComposerEmpty = fleet.Unknown[bool]("not seen") }, 0, "evidence: whether something stands in the input line of one cannot be told: not seen"},
		"paused":                    {"agent/two", func(w *postal) { w.reg("one").Desired = fleet.DesiredPaused }, 0, "paused: one is to be paused"},
		"its first prompt is open":  {"agent/two", func(w *postal) { w.reg("one").PromptState = fleet.DeliverySent }, 0, "in-flight: one was not seen to have its first prompt yet"},
		"frozen":                    {"agent/two", func(w *postal) { w.policy.Frozen = "ann" }, 0, "frozen: ann"},
		"Custos may only observe":   {"agent/two", func(w *postal) { w.policy.Mode = fleet.ModeObserve }, 0, "mode: the mode is observe: of agents' mail and of its own Custos tells only in mode auto"},
		"but a person wrote it":     {"ann", func(w *postal) { w.policy.Mode = fleet.ModeObserve }, 1, ""},
		"somebody else nudges": {"agent/two", func(w *postal) {
			w.past.Orders = append(w.past.Orders, fleet.Order{ID: "o", Do: fleet.OrderNudge, Agent: "one", State: fleet.OrderQueued})
		}, 0, "in-flight: one is being told something else"},
		"the least of all": {"agent/two", func(w *postal) { w.past.Records.Mails[0].Priority = fleet.P4 }, 0, ""},
		"it is not there":  {"agent/two", func(w *postal) { w.snap.Agents.Value = nil }, 0, "evidence: one is not seen now"},
	} {
		w := newPostal(t)
		id := w.mustSend(c.by, "one", "hello")
		c.change(w)
		w.settle()
		if len(w.given) != c.want || c.want == 0 && w.copy(id, "one").State != fleet.CopyNew {
			t.Errorf("%s: %d nudges, %+v", name, len(w.given), w.copy(id, "one"))
		}
		if held := w.held(); c.held != "" && held != "mail/"+id+" new > told [one] "+c.held || c.held == "" && held != "" {
			t.Errorf("%s: held back is %q", name, held)
		}
		if len(w.given) == 1 && fleet.IsPerson(c.by) != fleet.IsPerson(w.given[0].By) {
			t.Errorf("%s: by %s", name, w.given[0].By)
		}
	}
}

// What is told and not read is told again on a schedule that stops; then its writer
// is told, once.
func TestMailIsToldAgain(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/two", "one", "please read")
	var told []time.Duration
	for range 60 * 8 {
		w.settle()
		if len(w.past.Orders) > 0 && w.past.Orders[len(w.past.Orders)-1].Agent == "one" {
			told = append(told, w.snap.At.Since(postStart))
		}
		w.arrive("one", fleet.ResultDone)
		w.arrive("two", fleet.ResultDone)
		w.wait(time.Minute)
	}
	want := []time.Duration{0, 5 * time.Minute, 20 * time.Minute, 80 * time.Minute}
	if !slices.Equal(told, want) {
		t.Errorf("told after %v, want %v", told, want)
	}
	if c := w.copy(id, "one"); c.State != fleet.CopyUnread {
		t.Errorf("at last it is %+v", c)
	}
	if got := w.got("two"); len(got) != 1 || !strings.Contains(got[0], "one was told 4 times of m1 and has not read it") {
		t.Errorf("its writer has %q", got)
	}
}

// A nudge that came to nothing is no telling; it is tried again, after a while. One
// that may have arrived is not typed again.
func TestMailNudgeThatFails(t *testing.T) {
	for status, want := range map[fleet.ResultStatus]int{fleet.ResultRefused: 0, fleet.ResultFailed: 0, fleet.ResultUnverified: 1, fleet.ResultInDoubt: 1, fleet.ResultDone: 1} {
		w := newPostal(t)
		id := w.mustSend("agent/two", "one", "hello")
		w.settle()
		w.arrive("one", status)
		w.settle()
		c := w.copy(id, "one")
		if c.Told != want || (c.State == fleet.CopyTold) != (want == 1) || len(w.given) != 1 {
			t.Errorf("%s: %+v, %d nudges", status, c, len(w.given))
		}
		if w.wait(16 * time.Minute); want == 0 {
			if w.settle(); len(w.given) != 2 || w.given[1].ID == w.given[0].ID {
				t.Errorf("%s: after a while %d nudges", status, len(w.given))
			}
		}
	}
	w := newPostal(t)
	w.mustSend("agent/two", "one", "hello")
	w.settle()
	for _, s := range []fleet.ResultStatus{fleet.ResultDone, fleet.ResultRefused} { // tried twice; in whatever order they are listed
		w.past.Actions = append(w.past.Actions, fleet.ActionRecord{Action: fleet.Action{Order: w.given[0].ID}, Stage: fleet.StageEnded, Result: &fleet.Result{Status: s}})
	}
	w.past.Orders = nil
	if w.settle(); w.copy("m1", "one").State != fleet.CopyTold || w.copy("m1", "one").Told != 1 {
		t.Errorf("refused once, then done: %+v", w.copy("m1", "one"))
	}
	w = newPostal(t)
	w.mustSend("agent/two", "one", "hello")
	w.settle()
	w.wait(3 * time.Minute) // nobody carried the order out: it expires
	w.settle()
	if c := w.copy("m1", "one"); c.Told != 0 || c.Order != "" || c.State != fleet.CopyNew {
		t.Errorf("after it expired: %+v", c)
	}
}

// A hook tells of what is due, and that counts as a telling.
func TestMailByHook(t *testing.T) {
	w := newPostal(t)
	w.seen("one").State = fleet.StateWorking
	for range 8 {
		w.mustSend("agent/two", "one", "hello", func(m *fleet.Mail) { m.Priority = fleet.P4 })
	}
	w.settle()
	due := ledger.MailFor(w.past.Records.Mails, "one", w.snap.At)
	text := ledger.MailText(due, "one")
	if len(due) != 8 || strings.Count(text, "from agent/two") != 5 || !strings.Contains(text, "and 3 more: custos mail inbox") {
		t.Errorf("%d: %s", len(due), text)
	}
	for _, m := range ledger.ToldMail(due, "one", w.snap.At) {
		w.put(m)
	}
	if again := ledger.MailFor(w.past.Records.Mails, "one", w.snap.At.Add(4*time.Minute)); len(again) != 0 || w.copy("m1", "one").State != fleet.CopyTold {
		t.Errorf("told again at once: %d", len(again))
	}
	if again := ledger.MailFor(w.past.Records.Mails, "one", w.snap.At.Add(6*time.Minute)); len(again) != 8 {
		t.Errorf("after six minutes: %d", len(again))
	}
	if other := ledger.MailFor(w.past.Records.Mails, "two", w.snap.At); len(other) != 0 {
		t.Errorf("another one is told %d", len(other))
	}
}

// People are told of each mail once, at no worse a priority than an agent may say.
func TestMailToPeople(t *testing.T) {
	w := newPostal(t)
	w.mustSend("agent/one", "overseer", "look", func(m *fleet.Mail) { m.Priority, m.Body = fleet.P0, "at this" })
	w.settle()
	w.wait(time.Hour)
	w.settle()
	if len(w.outbox) != 1 || w.outbox[0].ID != "mail/m1" || w.outbox[0].Kind != fleet.MessageTold || w.outbox[0].Priority != fleet.P2 ||
		w.outbox[0].Subject != "mail from agent/one: look" || !strings.Contains(w.outbox[0].Body, "at this\ncustos mail reply m1") {
		t.Errorf("people are told %+v", w.outbox)
	}
	for range 10 {
		_, _ = w.send("agent/one", "overseer", "look again")
	}
	if _, err := w.send("agent/one", "overseer", "and again"); err == nil || !strings.Contains(err.Error(), "within an hour") {
		t.Errorf("an agent that writes to people all the time: %v", err)
	}
	if _, err := w.send("agent/one", "two", "to an agent"); err != nil {
		t.Errorf("it may write to others: %v", err)
	}
}

// An answer goes to who wrote, ends the wait, and reads the mail.
func TestMailReply(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/one", "lead", "which port?", typed(fleet.MailQuestion), func(m *fleet.Mail) { m.Priority, m.About = fleet.P2, "w1" })
	reply, was, err := ledger.ReplyMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), id, fleet.Mail{Body: "8080"}, "agent/lead", w.snap.At)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Type != fleet.MailAnswer || reply.To[0] != "one" || reply.Subject != "Re: which port?" || reply.Thread != id || reply.Answers != id || reply.Priority != fleet.P2 || reply.About != "w1" {
		t.Errorf("%+v", reply)
	}
	if was.AnsweredBy != "agent/lead" || ledger.CopyOf(&was, "lead").State != fleet.CopyRead || w.copy(id, "lead").State != fleet.CopyNew {
		t.Errorf("%+v", was)
	}
	for by, why := range map[string]string{"agent/two": "there is no mail m1 for who asks", "agent/one": "is by who would answer it"} {
		if _, _, err := ledger.ReplyMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), id, fleet.Mail{Body: "x"}, by, w.snap.At); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", by, err)
		}
	}
	if _, _, err := ledger.ReplyMail(w.past.Records, ledger.AddressesOf(w.past.Registrations), id, fleet.Mail{Body: "x"}, "ann", w.snap.At); err != nil {
		t.Errorf("a person may answer anything: %v", err)
	}
}

// What holds the order back that tells of mail holds the mail, and until then.
func TestHeldByItsOrder(t *testing.T) {
	w := newPostal(t)
	id := w.mustSend("agent/two", "one", "hello")
	w.settle()
	until := w.snap.At.Add(time.Minute)
	i := slices.IndexFunc(w.past.Orders, func(o fleet.Order) bool { return o.ID == w.copy(id, "one").Order })
	o := &w.past.Orders[i]
	o.State, o.Guard, o.Why, o.Until = fleet.OrderQueued, fleet.GuardBudget, "5 of 5 are spent", until
	if held := w.held(); held != "mail/"+id+" new > told [one] budget: 5 of 5 are spent" {
		t.Errorf("held back is %q", held)
	}
	if h := Follow(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy}).Held; len(h) != 1 || h[0].Until != until {
		t.Errorf("until when is %+v", h)
	}
}
