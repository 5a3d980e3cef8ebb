package daemon_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Each page of what Custos would do, did and stands on fits a phone and a desk in a real
// browser, which has nothing to complain of.
func TestPagesFitARealBrowser(t *testing.T) {
	c := newChromium(t, "")
	w := newTown(t, quickTown)
	w.spawn("builder", "reply hello", false)
	w.awaitState("builder", "idle")
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c.does(chromedp.EmulateViewport(390, 844), chromedp.Navigate(address))
	c.reads("needs you")
	for _, page := range []struct{ path, reads string }{
		{"/plan", "would be done"}, {"/why?of=builder", "what is seen of"}, {"/host", "parts of the world"}, {"/timeline", "happened"}, {"/timeline?kind=agent&agent=builder", "agent.started"}, {"/timeline?at=" + url.QueryEscape(time.Now().Add(-time.Second).UTC().Format(time.RFC3339)), "the fleet as it was"},
		{"/journal", "as the patrols wrote it down"}, {"/morning", "of Custos ended"}, {"/doctor?all=1", "cannot tell"}, {"/settings", "patrol_every"},
	} {
		c.does(chromedp.Navigate("http://" + u.Host + page.path))
		c.reads(page.reads)
		name := strings.NewReplacer("?", "-", "=", "-", "&", "-", "%3A", "").Replace(page.path[1:])
		c.fits(name, 390, 844)
		c.fits(name, 1440, 900)
	}
	if said := c.complained(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
}
