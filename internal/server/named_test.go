package server

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// lookalikes are agents that are called as the people, as the user, and as Custos.
func lookalikes() []string {
	return []string{fleet.Overseer, "marked lead", self().Name(), "root", "custos"}
}

// Who is who says the proof of the caller, and never the name: what takes a person is refused to
// an agent, whatever it is called, for each verb of each noun.
func TestAnAgentsNameOpensNothing(t *testing.T) {
	for _, name := range lookalikes() {
		w := newWorld()
		w.records = &memory{w: w}
		w.agent = name
		h, tried := New(w.options()), 0
		for _, n := range control.Nouns() {
			for _, v := range n.Verbs {
				if v.Access != control.Person && v.Access != control.NoAgent {
					continue
				}
				method, pattern := spelled(n.Name, v.Name)
				url := strings.NewReplacer("/alerts/{id}", "/alerts/3", "{id}", "known", "{do}", "disable").Replace(pattern)
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequest(method, url, strings.NewReader("{}")))
				if tried++; rec.Code != 403 || !strings.Contains(rec.Body.String(), "it takes a person") {
					t.Errorf("agent %s, %s %s: %d %s", name, n.Name, v.Name, rec.Code, rec.Body)
				}
			}
		}
		if tried < 10 || w.ackedBy != "" || len(w.silences)+len(w.taken) > 0 {
			t.Errorf("agent %s: %d verbs tried, %+v", name, tried, w)
		}
	}
}

// What an agent may do in its own name, it does as an agent: it closes no gate, no work of others,
// and reads, answers and puts away nothing of what people got.
func TestAnAgentActsAsAnAgentWhateverItsName(t *testing.T) {
	for _, name := range lookalikes() {
		w := newWorld()
		w.registrations = []fleet.Registration{{Name: name, Instance: "i"}, {Name: "lead", Instance: "j"}}
		book := &memory{w: w, all: fleet.Records{
			Work:  []fleet.WorkItem{{Head: fleet.Head{ID: "w9", Revision: 1}, Title: "x", Agent: "lead", State: fleet.WorkTaken}},
			Gates: []fleet.Gate{{Head: fleet.Head{ID: "g1", Revision: 1}, Type: fleet.GateHuman, Title: "x", By: self().Name(), State: fleet.GateOpen}},
			Mails: []fleet.Mail{{Head: fleet.Head{ID: "m1", Revision: 1}, From: "agent/lead", To: []string{fleet.Overseer}, Subject: "x", Priority: fleet.P3, Type: fleet.MailHelp, Sorted: true,
				Copies: []fleet.MailCopy{{To: fleet.Overseer, State: fleet.CopyTold}}}},
		}}
		w.records, w.agent = book, name
		c, ctx := client(w), t.Context()
		_, gate := c.CloseGate(ctx, "g1", api.GateClosing{Why: "yes"})
		_, work := c.ChangeWork(ctx, "w9", api.WorkChange{Do: "close"})
		_, read := c.ChangeMail(ctx, "m1", api.MailChange{Do: "read"})
		_, away := c.ChangeMail(ctx, "m1", api.MailChange{Do: "archive"})
		_, reply := c.SendMail(ctx, api.MailRequest{Answers: "m1", Body: "go on"})
		for what, err := range map[string]error{"closes a gate": gate, "closes another's work": work, "reads the people's mail": read, "puts it away": away, "answers it": reply} {
			if err == nil {
				t.Errorf("agent %s %s", name, what)
			}
		}
		list, err := c.Mails(ctx, "", true)
		if err != nil || slices.ContainsFunc(list.Mail, func(m api.Mail) bool { return m.ID == "m1" }) || list.For == fleet.Overseer {
			t.Errorf("agent %s sees %+v, %v", name, list, err)
		}
		if g, m := book.all.Gates[0], book.all.Mails[0]; g.State != fleet.GateOpen || m.AnsweredBy != "" || m.Copies[0].State != fleet.CopyTold || len(book.all.Mails) != 1 {
			t.Errorf("agent %s changed %+v, %+v", name, g, m)
		}
	}
}
