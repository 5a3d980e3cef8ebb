package daemon_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// A person types to an agent that was adopted through the terminal server that it runs in, which is
// another system's. To one in the same server that is not adopted nobody types: it can only be
// looked at, and its screen stays as it is.
func TestOnlyTheAdoptedAreTypedTo(t *testing.T) {
	w := settle(t, "gastown")
	rig := filepath.Join(w.dir, "gt/shop")
	main, tree, crew := filepath.Join(rig, "mayor/rig"), filepath.Join(rig, "polecats/ace/shop"), filepath.Join(rig, "crew/ann")
	w.repository(main, tree, "polecat/ace")
	git(t, main, "clone", "-q", ".", crew)
	w.theirs("sh-ace", tree, "reply hello")
	w.theirs("sh-crew-ann", crew, "reply hello")
	w.start()
	w.registered("sh-ace")
	await(t, w.said.String, func() bool { return w.agent("sh-crew-ann").PID != 0 })
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, "http://"+u.Host)
	b.enters(address)

	b.watches("sh-crew-ann").awaits(t, "for shortcuts")
	before := w.asks("capture-pane", "-p", "-t", "sh-crew-ann")
	take := func(name string) (status int, hold, out string) {
		t.Helper()
		var held struct{ Hold string }
		status, _, out = b.asks(http.MethodPost, "/agents/"+name+"/terminal/take", oneView)
		if status == http.StatusOK {
			if err := json.Unmarshal([]byte(out), &held); err != nil {
				t.Fatal(err)
			}
		}
		return status, held.Hold, out
	}
	if status, _, out := take("sh-crew-ann"); status != http.StatusConflict || !strings.Contains(out, "not ours") {
		t.Errorf("one that is not adopted is taken over: %d %s", status, out)
	}
	status, hold, out := take("sh-ace")
	if status != http.StatusOK {
		t.Fatalf("the adopted one is not taken over: %d %s", status, out)
	}
	keys := func(name string) int {
		status, _, _ := b.asks(http.MethodPost, "/agents/"+name+"/terminal/keys", url.Values{"hold": {hold}, "turn": {"1"}, "keys": {`[{"text":"by hand"}]`}})
		return status
	}
	if status := keys("sh-crew-ann"); status != http.StatusConflict {
		t.Errorf("keys to the one that is not adopted, by what names the other: %d", status)
	}
	seen := b.watches("sh-ace")
	if status := keys("sh-ace"); status != http.StatusOK {
		t.Errorf("keys: %d", status)
	}
	seen.awaits(t, "by hand")
	if now := w.asks("capture-pane", "-p", "-t", "sh-ace"); !strings.Contains(now, "by hand") {
		t.Errorf("its own terminal server shows\n%s", now)
	}
	if now := w.asks("capture-pane", "-p", "-t", "sh-crew-ann"); now != before {
		t.Errorf("the screen of the one that is not adopted has changed:\n%s\nbefore\n%s", now, before)
	}
}
