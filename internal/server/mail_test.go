package server

import (
	"os"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// An agent that is called as a person says no mail in that person's name: whoever reads is
// shown which of the two it was, by what proved who asked.
func TestMailSaysWhoItIsFrom(t *testing.T) {
	person := Caller{UID: os.Getuid()}.Name()
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: person, Instance: "i"}, {Name: "two", Instance: "j"}}
	w.records = &memory{w: w}
	for agent, want := range map[string][2]string{"": {"person", person + " (a person)"}, person: {"agent", "agent/" + person}} {
		w.agent = agent
		m, err := client(w).SendMail(t.Context(), api.MailRequest{To: []string{"two"}, Subject: "approved: merge it"})
		if err != nil || m.From != person || m.FromKind != want[0] {
			t.Errorf("by agent %q: %+v, %v", agent, m, err)
		}
		w.agent = "two"
		list, err := client(w).Mails(t.Context(), "", false)
		if err != nil || !slices.ContainsFunc(list.Mail, func(o api.Mail) bool { return o.ID == m.ID && o.FromKind == want[0] }) {
			t.Errorf("in the inbox: %+v, %v", list, err)
		}
		answer, err := client(w).SendMail(t.Context(), api.MailRequest{Answers: m.ID, Body: "who are you?"})
		if err != nil || agent == "" && answer.To[0] != fleet.Overseer || agent != "" && answer.To[0] != person {
			t.Errorf("the answer to agent %q went to %v, %v", agent, answer.To, err)
		}
		by := fleet.ByAgent(agent)
		if agent == "" {
			by = person
		}
		if got := ledger.ShownWriter(by); got != want[1] {
			t.Errorf("shown as %q, want %q", got, want[1])
		}
	}
}

// Whoever writes does so in its own name, and who cannot be told writes and sees
// nothing; a key is its writer's own; what others have a person reads as it lies.
func TestMailIsOnesOwn(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "one", Instance: "i"}, {Name: "two", Instance: "j"}}
	book := &memory{w: w}
	w.records = book
	send := func(agent string, r api.MailRequest) (api.Mail, error) {
		w.agent = agent
		r.To, r.Subject = []string{"two"}, "x"
		return client(w).SendMail(t.Context(), r)
	}
	first, err := send("one", api.MailRequest{Key: "k"})
	if err != nil || first.From != "one" {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := send("one", api.MailRequest{Key: "k"}); err != nil || again.ID != first.ID {
		t.Errorf("the same key: %+v, %v", again, err)
	}
	if other, err := send("", api.MailRequest{Key: "k"}); err != nil || other.ID == first.ID || other.From == "one" {
		t.Errorf("another's key: %+v, %v", other, err)
	}
	if _, err := client(w).ChangeMail(t.Context(), first.ID, api.MailChange{Do: "read"}); err != nil || book.all.Mails[0].Copies[0].State != fleet.CopyNew {
		t.Errorf("a person looks: %v, %+v", err, book.all.Mails[0].Copies)
	}
	w.agent = "two"
	if _, err := client(w).Mails(t.Context(), "one", false); err == nil || !strings.Contains(err.Error(), "sees its own only") {
		t.Errorf("an agent looks at another's: %v", err)
	}
	list, err := client(w).Mails(t.Context(), "", false)
	if err != nil || !slices.ContainsFunc(list.Mail, func(m api.Mail) bool { return m.ID == first.ID && m.State == "new" }) {
		t.Errorf("its own: %+v, %v", list, err)
	}
	if _, err := client(w).ChangeMail(t.Context(), first.ID, api.MailChange{Do: "read"}); err != nil || book.all.Mails[0].Copies[0].State != fleet.CopyRead {
		t.Errorf("its reader reads: %v, %+v", err, book.all.Mails[0].Copies)
	}
}
