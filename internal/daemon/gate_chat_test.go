package daemon_test

import (
	"strings"
	"testing"
)

// TestGateByChat: a gate that waits for a person's word is closed by what a person says in a
// chat, once, and who waits for it is told.
func TestGateByChat(t *testing.T) {
	w := newChatTown(t)
	add := func(title string) {
		t.Helper()
		if out, code := w.town.says("gate", "add", "human", title, "--waiter", "builder", "--due", "1s"); code != 0 {
			t.Fatalf("%d %s", code, out)
		}
	}
	asked := func(after int, title string) string {
		t.Helper()
		return w.heard(after, `#(\d+): gate g\d+ waits for a person's word: `+title+`\n- approve \d+ closes it as passed, deny \d+ as failed`)[1]
	}
	shows := func(id, want string) {
		t.Helper()
		if out, _ := w.town.says("gate", "show", id); !strings.Contains(out, want) || !strings.Contains(out, ann) {
			t.Errorf("%s is not %s: %s", id, want, out)
		}
	}
	add("The notes are read")
	n := asked(0, "The notes are read")
	w.says(eve, "approve "+n, "")
	said := len(w.bodies())
	w.says(ann, "approve "+n, `Acted on your reply: approve `+n+`: gate g1 is closed as passed`)
	shows("g1", "passed")
	w.heard(said, `all clear`)
	w.says(ann, "deny "+n, `Not acted on your reply: deny `+n)
	shows("g1", "passed")
	list, err := w.client().Mails(t.Context(), "builder", true)
	told := 0
	for _, m := range list.Mail {
		if strings.HasPrefix(m.Subject, "gate g1 passed") {
			told++
		}
	}
	if err != nil || told != 1 {
		t.Errorf("who waits for it was told %d times: %+v, %v", told, list.Mail, err)
	}

	said = len(w.bodies())
	add("The price is right")
	n = asked(said, "The price is right")
	w.says(ann, "deny "+n, `Acted on your reply: deny `+n+`: gate g2 is closed as failed`)
	shows("g2", "failed")
}
