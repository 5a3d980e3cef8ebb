package follow

import (
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestKnownIsNotWrittenAgain: what the store has by its key would wake the loop for
// nothing, at each pass.
func TestKnownIsNotWrittenAgain(t *testing.T) {
	was := fleet.Records{Mails: []fleet.Mail{{Head: fleet.Head{ID: "m1", Key: "gate/g1/a", Revision: 2}}}}
	var out fleet.Follows
	out.Tell(ledger.News("gate/g1/a", []string{"a"}, fleet.Mail{Subject: "again"}, at(0)))
	out.Tell(ledger.News("gate/g1/b", []string{"b"}, fleet.Mail{Subject: "new"}, at(0)))
	changed := was.Mails[0]
	changed.Subject = "changed"
	out.Tell(changed)
	forgetKnown(was, &out.Records)
	if m := out.Records.Mails; len(m) != 2 || m[0].Subject != "new" || m[1].Subject != "changed" {
		t.Errorf("%+v", m)
	}
}

// TestWorkIsWrittenOnceAPass: what one mover gives back and a mail closes in the same pass is
// one row, made of both: the store takes one change of a revision.
func TestWorkIsWrittenOnceAPass(t *testing.T) {
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: at(0)}}
	p.Policy.Mails = map[fleet.MailType]fleet.MailAction{fleet.MailAnswer: {Work: "close"}}
	p.Past.Registrations = []fleet.Registration{{Name: "dev", Desired: fleet.DesiredRetired}}
	p.Past.Records.Work = []fleet.WorkItem{{Head: fleet.Head{ID: "w1", Revision: 3}, Title: "mend", State: fleet.WorkTaken, Agent: "dev"}}
	m, err := ledger.SendMail(p.Past.Records, ledger.AddressesOf(p.Past.Registrations), fleet.Mail{To: []string{"dev"}, Type: fleet.MailAnswer, Subject: "mended", About: "w1"}, "ann", at(0))
	if err != nil {
		t.Fatal(err)
	}
	m.Head = fleet.Head{ID: "m1", Revision: 1}
	p.Past.Records.Mails = []fleet.Mail{m}
	out := coordinate(p)
	if w := out.Records.Work; len(w) != 1 || w[0].State != fleet.WorkClosed || w[0].Agent != "" || w[0].Revision != 3 {
		t.Errorf("work is %+v", w)
	}
}
