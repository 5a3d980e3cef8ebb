package mail

import (
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// What Custos writes to the people lies in their inbox as soon as it is written, though no
// pass has carried it yet; who has read it by then is told of it no more.
func TestMailOfCustosToPeopleIsReadBeforeItIsTold(t *testing.T) {
	for name, reads := range map[string]bool{"read at once": true, "not read": false} {
		w := newPostal(t)
		news := w.put(ledger.News("k", []string{fleet.Overseer, "lead"}, fleet.Mail{Type: fleet.MailNews, Subject: "hello"}, w.snap.At))
		if !ledger.Unread(news, fleet.Overseer) || !ledger.Concerns(news, fleet.Overseer) {
			t.Errorf("%s: the people have not got %+v", name, news)
		}
		if reads {
			read, err := ledger.ReadMail(w.past.Records, news.ID, fleet.Overseer, w.snap.At)
			if err != nil {
				t.Fatal(err)
			}
			w.put(read)
		}
		for range 3 {
			w.settle()
			w.wait(time.Minute)
		}
		if got := w.copy(news.ID, fleet.Overseer).State; reads != (got == fleet.CopyRead) || reads != (len(w.outbox) == 0) {
			t.Errorf("%s: it is %s, and %d messages tell of it", name, got, len(w.outbox))
		}
		if n := len(ledger.FindMail(w.past.Records, news.ID).Copies); n != 2 {
			t.Errorf("%s: it has %d copies, want one for lead too", name, n)
		}
	}
}
