package store

import (
	"testing"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// New mail is an event, by its type; news of an agent's recovery is in its own story
// and in that of its parent. The same news again is no event, and no mail.
func TestMailEvents(t *testing.T) {
	s := fresh(t)
	news := fleet.Mail{Head: fleet.Head{Key: "recovery_failed/a1"}, Type: fleet.MailNews, From: fleet.ByCustos, To: []string{"lead"}, About: "worker", Subject: "agent worker could not be recovered", At: at(0)}
	free := fleet.Mail{From: "ann", To: []string{"lead"}, Subject: "hello", At: at(0)}
	help := fleet.Mail{Type: fleet.MailHelp, From: "agent/worker", To: []string{"lead"}, Subject: "blocked", At: at(0)}
	for range 2 {
		ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleettest.Rows(fleet.Changes{Records: fleet.Records{Mails: []fleet.Mail{news}}})}))
	}
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleettest.Rows(fleet.Changes{Records: fleet.Records{Mails: []fleet.Mail{free, help}}})}))
	for _, c := range []struct {
		of   fleet.Subject
		want string
	}{{agentSubject("lead"), "recovery_failed"}, {agentSubject("worker"), "recovery_failed"},
		{fleet.Subject{Kind: fleet.KindMail, Name: "m1"}, ""}, {fleet.Subject{Kind: fleet.KindMail, Name: "m2"}, "mail.sent"}, {fleet.Subject{Kind: fleet.KindMail, Name: "m3"}, "mail.help"}} {
		if got := kinds(t, s, EventFilter{Subject: c.of}); got != c.want {
			t.Errorf("the story of %s: %q, want %q", c.of, got, c.want)
		}
	}
	if p := past(t, s, at(0)); len(p.Records.Mails) != 3 {
		t.Errorf("%d mails", len(p.Records.Mails))
	}
}
