package server

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

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
