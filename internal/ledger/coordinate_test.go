package ledger

import (
	"testing"

	"custos/internal/fleet"
)

// TestKnownIsNotWrittenAgain: what the store has by its key would wake the loop for
// nothing, at each pass.
func TestKnownIsNotWrittenAgain(t *testing.T) {
	c := coordinate{past: fleet.Past{Records: fleet.Records{Mails: []fleet.Mail{{Head: fleet.Head{ID: "m1", Key: "gate/g1/a", Revision: 2}}}}}}
	c.tell("gate/g1/a", []string{"a"}, fleet.Mail{Subject: "again"})
	c.tell("gate/g1/b", []string{"b"}, fleet.Mail{Subject: "new"})
	changed := c.past.Records.Mails[0]
	changed.Subject = "changed"
	c.out.Records.Mails = append(c.out.Records.Mails, changed)
	c.forgetKnown()
	if m := c.out.Records.Mails; len(m) != 2 || m[0].Subject != "new" || m[1].Subject != "changed" {
		t.Errorf("%+v", m)
	}
}
