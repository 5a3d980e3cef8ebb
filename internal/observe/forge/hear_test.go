package forge_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/httpcache"
)

// after looks once, so much later.
func (w *world) after(t testing.TB, d time.Duration) fleet.Forge {
	t.Helper()
	w.pass(d - time.Minute)
	return w.must(t)
}

// What happened in a repository is seen before its time, and only that repository is asked.
func TestWhatIsHeardOfIsLookedAtSooner(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop", "blog")
		repos["shop"].Propose(1, time.Hour, forgetest.Pull{Base: "main", Head: commit(1), Checks: []forgetest.Check{{Context: "ci", State: "pending", At: w.Now()}}})
		repos["blog"].Open(1, time.Hour, forgetest.Issue{})
		w.must(t)
		w.Change(func() { repos["shop"].Pulls[1].Checks[0].State = "success" })
		repos["shop"].Open(5, 0, forgetest.Issue{Title: "new"})
		w.Forget()
		if w.after(t, 20*time.Second); len(w.Requests()) > 0 {
			t.Errorf("before its time: %q", w.Requests())
		}
		if w.probe.Hear("acme/other") || w.probe.Hear("") || !w.probe.Hear("Acme/Shop") {
			t.Error("it hears of what it does not look at, or not of what it does")
		}
		f := w.after(t, time.Second)
		if len(f.Issues) != 2 || f.Pulls[0].Checks.Or("") != "success" {
			t.Errorf("%+v", f)
		}
		for _, asked := range w.Requests() {
			if strings.Contains(asked, "blog") {
				t.Errorf("nothing happened there: %s", asked)
			}
		}
		w.Forget()
		if w.after(t, 30*time.Second); len(w.Requests()) > 6 && kind != "forgejo" { // the other one's time
			t.Errorf("%q", w.Requests())
		}
	})
}

// A flood of events is a look in ten seconds, and none takes what must be asked.
func TestHearingIsBounded(t *testing.T) {
	w, repos := newWorld(t, "gitlab", "shop")
	repos["shop"].Open(1, time.Hour, forgetest.Issue{})
	w.must(t)
	w.Forget()
	for range 60 { // a minute of events
		w.probe.Hear("acme/shop")
		w.after(t, time.Second)
	}
	if n := len(w.Requests()); n < 12 || n > 45 {
		t.Errorf("%d requests in a minute of events", n)
	}
	client := httpcache.NewTransport(w.host, "Bearer", nil).Client()
	for range 1600 { // what others ask of the same host
		resp, err := client.Get(w.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	w.Forget()
	if w.probe.Hear("acme/shop") {
		t.Error("more than half of the budget is spent, and more is asked than must be")
	}
}
