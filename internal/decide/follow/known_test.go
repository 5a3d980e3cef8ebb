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
