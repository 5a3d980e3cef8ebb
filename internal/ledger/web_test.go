package ledger_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func webAt(after time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}.Add(after)
}

// An invitation shows nothing, becomes a session once and within its minute, and the
// session ends by itself, or when it is revoked.
func TestAnInvitationIsGoodOnce(t *testing.T) {
	all, in, err := ledger.AddWebSession(nil, fleet.WebSession{ID: "i", Hash: "h", Kind: fleet.WebInvitation, By: "ann"}, time.Minute, webAt(0))
	if err != nil || !in.Until.Wall.Equal(webAt(time.Minute).Wall) {
		t.Fatal(in, err)
	}
	if _, ok := ledger.WebSession(all, "h", webAt(0)); ok {
		t.Error("an invitation shows the page")
	}
	for name, c := range map[string]struct {
		hash string
		at   fleet.Instant
	}{"another token": {"x", webAt(0)}, "none": {"", webAt(0)}, "too late": {"h", webAt(time.Minute)}, "a clock that was set back": {"h", fleet.Instant{Wall: webAt(-time.Hour).Wall, Boot: "other"}}} {
		if _, _, err := ledger.RedeemInvitation(all, c.hash, fleet.WebSession{ID: "s", Hash: "cookie"}, c.at); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	all, s, err := ledger.RedeemInvitation(all, "h", fleet.WebSession{ID: "s", Hash: "cookie", Browser: "Firefox"}, webAt(59*time.Second))
	if err != nil || s.By != "ann" || s.Kind != fleet.WebPerson {
		t.Fatal(s, err)
	}
	if _, _, err := ledger.RedeemInvitation(all, "h", fleet.WebSession{ID: "s2", Hash: "cookie2"}, webAt(59*time.Second)); err == nil {
		t.Error("it was good twice")
	}
	if got, ok := ledger.WebSession(all, "cookie", webAt(ledger.WebSessionFor)); !ok || got.ID != "s" {
		t.Errorf("the session is not there: %+v", got)
	}
	for _, hash := range []string{"h", "", "cookie2"} {
		if _, ok := ledger.WebSession(all, hash, webAt(time.Minute)); ok {
			t.Errorf("%q shows the page", hash)
		}
	}
	if _, ok := ledger.WebSession(all, "cookie", webAt(ledger.WebSessionFor+time.Minute)); ok {
		t.Error("it never ends")
	}
	left, ended, err := ledger.RevokeWebSession(all, "s", webAt(time.Minute))
	if err != nil || len(left) != 0 || len(ended) != 1 {
		t.Errorf("left %v, ended %v, %v", left, ended, err)
	}
	if _, _, err := ledger.RevokeWebSession(all, "nobody", webAt(time.Minute)); err == nil {
		t.Error("who is not there was revoked")
	}
	if left, ended, err := ledger.RevokeWebSession(all, "", webAt(time.Minute)); err != nil || len(left) != 0 || len(ended) != 1 {
		t.Errorf("of all, left %v, ended %v, %v", left, ended, err)
	}
}

// A link names one thing, and is good for so long as was said.
func TestALinkShowsOneThing(t *testing.T) {
	for name, c := range map[string]struct {
		s     fleet.WebSession
		lasts time.Duration
	}{
		"nothing":      {fleet.WebSession{}, time.Hour},
		"two things":   {fleet.WebSession{Agent: "a", Page: "/alerts"}, time.Hour},
		"for no time":  {fleet.WebSession{Agent: "a"}, 0},
		"for too long": {fleet.WebSession{Agent: "a"}, ledger.WebLinkAtMost + 1},
	} {
		c.s.Kind = fleet.WebLink
		if _, _, err := ledger.AddWebSession(nil, c.s, c.lasts, webAt(0)); err == nil {
			t.Errorf("%s: a link was made", name)
		}
	}
	for lasts, want := range map[time.Duration]string{0: "good for some time, for 7d at most", 8 * 24 * time.Hour: "for 7d at most, and not for 8d"} {
		if _, _, err := ledger.AddWebSession(nil, fleet.WebSession{Kind: fleet.WebLink, Agent: "a"}, lasts, webAt(0)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("for %s it says %v, and not %q", lasts, err, want)
		}
	}
	all, _, err := ledger.AddWebSession(nil, fleet.WebSession{ID: "l", Hash: "h", Kind: fleet.WebLink, Agent: "a"}, 2*time.Hour, webAt(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := ledger.WebSession(all, "h", webAt(time.Hour)); !ok {
		t.Error("it shows nothing")
	}
	if _, ok := ledger.WebSession(all, "h", webAt(2*time.Hour)); ok {
		t.Error("it is good for longer than was said")
	}
	if _, _, err := ledger.RedeemInvitation(all, "h", fleet.WebSession{}, webAt(0)); err == nil {
		t.Error("a link became a person's session")
	}
	var many []fleet.WebSession
	for err = nil; err == nil && len(many) < 1000; {
		many, _, err = ledger.AddWebSession(many, fleet.WebSession{Hash: "x", Kind: fleet.WebLink, Agent: "a"}, time.Hour, webAt(0))
	}
	if err == nil {
		t.Error("there is no end of links")
	}
}
