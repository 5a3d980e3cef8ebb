package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/sys/forgetest"
)

// sharedForge is a forge that several hosts write to, each through a proxy of its own that may hold a request up.
type sharedForge struct {
	*forgetest.Server
	repo  *forgetest.Repo
	token string
}

func newSharedForge(t *testing.T) *sharedForge {
	t.Helper()
	f := &sharedForge{Server: forgetest.New(t, "forgejo"), token: filepath.Join(t.TempDir(), "token")}
	f.repo = f.Repo("acme/shop")
	if err := os.WriteFile(f.token, []byte(f.Account("custos-bot")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// open opens an issue that each host is to comment on, once.
func (f *sharedForge) open(number int) {
	f.repo.Open(number, time.Hour, forgetest.Issue{Title: fmt.Sprint("issue ", number), Author: "ann", Labels: []string{"exhausted"}})
}

// comments is what stands under an issue.
func (f *sharedForge) comments(number int) (n int) {
	f.Change(func() {
		for _, c := range f.repo.Issues[number].Comments {
			if strings.Contains(c.Body, "used up") {
				n++
			}
		}
	})
	return n
}

// wayTo is the way of one host to the forge: it holds the next question about comments up until it is let go.
type wayTo struct {
	*httptest.Server
	mu   sync.Mutex
	held chan struct{} // closed by who lets it go; nil: nothing is held up
	is   chan struct{} // closed when something is held up
}

func newWayTo(t *testing.T, to string) *wayTo {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	g := &wayTo{}
	proxy := httputil.NewSingleHostReverseProxy(at)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.pass(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// hold holds the next question about the comments of an issue up.
func (g *wayTo) hold() (is <-chan struct{}, letGo func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held, g.is = held, make(chan struct{})
	return g.is, sync.OnceFunc(func() { close(held) })
}

func (g *wayTo) pass(r *http.Request) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/issues/") || !strings.HasSuffix(r.URL.Path, "/comments") {
		return
	}
	g.mu.Lock()
	held, is := g.held, g.is
	g.held = nil
	g.mu.Unlock()
	if held != nil {
		close(is)
		<-held
	}
}

const sharedRules = `[forge.NAME]
kind = "forgejo"
url = %q
repo = "acme/shop"
token_file = %q
every = "10s"
[rule.blocked-exhausted]
mode = "auto"
cooldown = "1s"
attempts = "20 in 1h"
`

// host is a daemon of a fleet of several hosts, with its own name for the project.
func (f *sharedForge) host(t *testing.T, hub *hubtest.Cluster, name, url string) *town {
	t.Helper()
	w := foundBeside(t, strings.ReplaceAll(fmt.Sprintf(sharedRules, url, f.token), "NAME", name+"-shop"))
	if err := hub.Join(t, name).Save(w.cfg.HubDir()); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w
}

// TestOneHostWritesToTheForge: of two hosts with the same rule for the same repository one comments, once on each
// issue; when it is killed, the other one takes over within two times of a lease.
func TestOneHostWritesToTheForge(t *testing.T) {
	hub, forge := hubtest.Start(t, 1), newSharedForge(t)
	for n := range 6 {
		forge.open(n + 1)
	}
	a, b := forge.host(t, hub, "box1", forge.URL), forge.host(t, hub, "box2", forge.URL)
	told := func() string {
		one, _ := a.says("feed")
		other, _ := b.says("feed")
		return one + a.said.String() + "\n" + other + b.said.String()
	}
	await(t, told, func() bool {
		for n := range 6 {
			if forge.comments(n+1) == 0 {
				return false
			}
		}
		return true
	})
	by := func(w *town) int { out, _ := w.says("feed"); return strings.Count(out, "comment: done") }
	if by(a) > 0 && by(b) > 0 {
		t.Logf("both wrote, one after the other: %d and %d", by(a), by(b))
	}
	tells := func(w *town) int { return strings.Count(w.said.String(), "blocked-exhausted: ") }
	await(t, told, func() bool { return tells(a)+tells(b) > 0 })
	if tells(a) > 0 && tells(b) > 0 {
		t.Errorf("people are told of the same by both hosts:\n%s", told())
	}
	t.Logf("box1 told of %d issues, box2 of %d", tells(a), tells(b))
	silent, by1 := b, "box1"
	if tells(b) > 0 {
		silent, by1 = a, "box2"
	}
	if out, _ := silent.says("alerts", "--json"); !strings.Contains(out, `"told_by": "`+by1+`"`) {
		t.Errorf("the host that is silent does not say who tells: %s", out)
	}
	holder, other := a, b
	if by(b) > 0 {
		holder, other = b, a
	}
	_ = holder.up.Process.Kill()
	_ = holder.up.Wait()
	began := time.Now()
	forge.open(7)
	await(t, func() string { out, _ := other.says("plan"); return out + other.said.String() }, func() bool { return forge.comments(7) > 0 })
	t.Logf("taken over after %s", time.Since(began).Round(time.Second))
	if took := time.Since(began); took > 2*15*time.Second+10*time.Second { // the forge is looked at every 10 s
		t.Errorf("it was taken over after %s", took)
	}
	for n := range 7 {
		if c := forge.comments(n + 1); c != 1 {
			t.Errorf("issue %d has %d comments\n%s", n+1, c, told())
		}
	}
}

// TestAHolderThatWasStopped: a host is stopped by a signal while it acts by a lease; another one takes over and does
// it. When the first goes on it writes nothing, and that is journalled: it is refused, or finds its question unanswered (that of
// an action whose middle is longer has a test in hub/member). CUSTOS_STOPPED_FOR is for how long it is stopped.
func TestAHolderThatWasStopped(t *testing.T) {
	hub, forge := hubtest.Start(t, 1), newSharedForge(t)
	way := newWayTo(t, forge.URL)
	stopped, letGo := way.hold()
	defer letGo()
	forge.open(1)
	a := forge.host(t, hub, "box1", way.URL)
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		out, _ := a.says("plan")
		t.Fatalf("it never asked: %s\n%s", out, a.said)
	}
	if err := a.up.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	defer func() { _ = a.up.Process.Signal(syscall.SIGCONT) }()
	letGo()
	b := forge.host(t, hub, "box2", way.URL)
	await(t, func() string { out, _ := b.says("plan"); return out + b.said.String() }, func() bool { return forge.comments(1) > 0 })
	if least := 15 * time.Second; time.Since(since) < least-2*time.Second {
		t.Errorf("it was taken over after %s, before its lease was over", time.Since(since))
	}
	if d, err := time.ParseDuration(os.Getenv("CUSTOS_STOPPED_FOR")); err == nil {
		time.Sleep(time.Until(since.Add(d)))
	}
	if err := a.up.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	var feed string
	await(t, func() string { return feed + a.said.String() }, func() bool {
		feed, _ = a.says("feed")
		return strings.Contains(feed, "comment: refused") || strings.Contains(feed, "comment: failed: nothing was done")
	})
	if n := forge.comments(1); n != 1 {
		t.Errorf("%d comments", n)
	}
}

// TestAHostThatJoins: the commands of the hosts that are there know it, whose daemons go on, and keep the leases that they hold.
func TestAHostThatJoins(t *testing.T) {
	hub := hubtest.Start(t, 1)
	w := foundBeside(t, "")
	if err := hub.Join(t, "box1").Save(w.cfg.HubDir()); err != nil {
		t.Fatal(err)
	}
	w.start()
	var said string
	held := func() (epoch uint64) {
		var v api.Hub
		said, _ = w.says("hub", "status", "--json")
		if json.Unmarshal([]byte(said), &v) != nil {
			return 0
		}
		for _, l := range v.Leases {
			if l.Mine {
				epoch = l.Epoch
			}
		}
		return epoch
	}
	all := func() string { return said + "\n" + w.said.String() }
	await(t, all, func() bool { return held() > 0 })
	before := held()
	hub.Join(t, "box2")
	await(t, all, func() bool { said, _ = w.says("ps"); return strings.Contains(said, "host box2 is silent") })
	known := time.Now()
	await(t, all, func() bool { return time.Since(known) > 7*time.Second }) // one that begins anew does within 4
	if now := held(); now != before || strings.Contains(w.said.String(), "begins anew") {
		t.Errorf("it held its lease by epoch %d, and now by %d: %s", before, now, all())
	}
}

// TestAHostThatHasJustJoined: until its daemon takes part, some seconds later, it is not said that it shares nothing.
func TestAHostThatHasJustJoined(t *testing.T) {
	hub := hubtest.Start(t, 1)
	w := foundBeside(t, "")
	w.start()
	if said, code := w.says("hub", "status"); code != 0 || !strings.Contains(said, "This host shares nothing with others") {
		t.Fatalf("%d: %s", code, said)
	}
	if err := hub.Join(t, "box1").Save(w.cfg.HubDir()); err != nil {
		t.Fatal(err)
	}
	said, code := w.says("hub", "status")
	if code != 3 || !strings.Contains(said, "This host has joined a hub. What it shares is not acted on now: its daemon takes part in a moment") {
		t.Errorf("%d: %s", code, said)
	}
	await(t, func() string { return said + w.said.String() }, func() bool {
		said, code = w.says("hub", "status")
		return code == 0 && strings.Contains(said, "This is host box1")
	})
}

// hostOf is a host of a hub that runs.
func hostOf(t *testing.T, hub *hubtest.Cluster, name, more string) *town {
	t.Helper()
	w := foundBeside(t, quickLimits+more)
	if err := hub.Join(t, name).Save(w.cfg.HubDir()); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w
}

// TestAHostIsSeenFromAnother: its agents and alerts are shown at another host of the hub as they are there, and are
// unknown once its daemon is gone; agents are started on one of the hosts that fit.
func TestAHostIsSeenFromAnother(t *testing.T) {
	hub := hubtest.Start(t, 1)
	a, b := hostOf(t, hub, "box1", "[hub]\nremote = \"act\"\nlabels = [\"gpu\"]\n"), hostOf(t, hub, "box2", "")
	a.spawn("worker", "reply hello", false)
	a.awaitState("worker", "idle")
	var ps string
	shows := func(words ...string) func() bool {
		return func() bool {
			ps, _ = b.says("ps")
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(ps, w) })
		}
	}
	await(t, func() string { return ps + b.said.String() }, shows("box1/worker", "idle"))
	if out, code := b.says("show", "box1/worker"); code != 0 || !strings.Contains(out, "--host box1 peek worker") || strings.Contains(out, "attach") {
		t.Errorf("it cannot be asked for more: %d: %s", code, out)
	}
	dir := filepath.Join(a.dir, "work")
	if out, code := b.says("spawn", "trainer", "--host", "any", "--label", "gpu", "--kind", "claude", "--dir", dir, "--prompt", "fake reply hello"); code != 0 || !strings.Contains(out, "Started trainer on box1") {
		t.Errorf("it is not started on box1: %d: %s\n%s", code, out, a.said)
	}
	if out, code := a.says("spawn", "far", "--host", "any", "--label", "tpu", "--dir", dir); code != 3 || !strings.Contains(out, "box1 lacks the label tpu") || !strings.Contains(out, "box2 lacks the label tpu") {
		t.Errorf("where no host fits: %d: %s", code, out)
	}
	if out, code := b.says("spawn", "near", "--host", "box1", "--dir", "work"); code != 2 || !strings.Contains(out, "say the path as it is there") {
		t.Errorf("a path of this machine: %d: %s", code, out)
	}
	_ = a.up.Process.Kill()
	_ = a.up.Wait()
	await(t, func() string { return ps + b.said.String() }, shows("host box1 is silent"))
	if out, code := b.says("spawn", "later", "--host", "any", "--label", "gpu", "--dir", dir); code != 3 || !strings.Contains(out, "box1 is not known now: it tells nothing any more") {
		t.Errorf("where the one that fits is silent: %d: %s", code, out)
	}
	if strings.Contains(ps, "idle") {
		t.Errorf("what was is shown as what is: %s", ps)
	}
}

// workerSeen is a hub of two hosts, box1 with a worker that box2 sees, which lets people at others do what remote says.
func workerSeen(t *testing.T, remote string) (hub *hubtest.Cluster, a, b *town) {
	t.Helper()
	hub = hubtest.Start(t, 1)
	a, b = hostOf(t, hub, "box1", "[hub]\nremote = \""+remote+"\"\n"), hostOf(t, hub, "box2", "")
	a.spawn("worker", "reply hello", false)
	a.awaitState("worker", "idle")
	var out string
	await(t, func() string { return out + b.said.String() }, func() bool { out, _ = b.says("ps"); return strings.Contains(out, "box1/worker") })
	return hub, a, b
}

// TestAnOrderThatIsAskedFor: where a host wants that (remote = "ask"), what a person at another one orders waits for a
// person here, through a restart too; it does nothing before, is told to people, and shows exactly what it is.
func TestAnOrderThatIsAskedFor(t *testing.T) {
	_, a, b := workerSeen(t, "ask")
	var out string
	asks := func(args ...string) string {
		t.Helper()
		out, code := b.says(args...)
		if code != 4 || !strings.Contains(out, "Asked for: ") {
			t.Fatalf("%q: %d: %s", args, code, out)
		}
		all, _ := a.says("orders", "--json")
		var is struct {
			Orders []struct{ ID, State, By string }
		}
		if err := json.Unmarshal([]byte(all), &is); err != nil || len(is.Orders) != 1 || is.Orders[0].State != "asked" || is.Orders[0].By != "person@box2" {
			t.Fatalf("%v: %s", err, all)
		}
		return is.Orders[0].ID
	}
	id := asks("stop", "box1/worker", "--why", "enough of it")
	if out, code := a.says("orders", "show", id); code != 0 || !strings.Contains(out, "enough of it") || !strings.Contains(out, " orders approve "+id) {
		t.Errorf("what is asked for is not shown: %d: %s", code, out)
	}
	await(t, func() string { return out + a.said.String() }, func() bool {
		out, _ = a.says("alerts")
		return strings.Contains(out, "person@box2 asks to stop worker")
	})
	for _, no := range [][]string{{"--host", "box1", "approve", "1"}, {"--host", "box1", "ack", "1"}} {
		if out, code := b.says(no...); code == 0 || !strings.Contains(out, "waits for a person here") {
			t.Errorf("%q: %d: %s", no, code, out)
		}
	}
	_ = a.up.Process.Kill()
	_ = a.up.Wait()
	a.start()
	a.awaitState("worker", "idle")
	var alerts struct {
		Alerts []struct {
			Number int64
			Rule   string
		}
	}
	await(t, func() string { return out + a.said.String() }, func() bool {
		out, _ = a.says("alerts", "--json")
		return json.Unmarshal([]byte(out), &alerts) == nil && len(alerts.Alerts) > 0 && alerts.Alerts[0].Rule == "order-asked"
	})
	if out, code := a.says("deny", fmt.Sprint(alerts.Alerts[0].Number)); code != 0 || !strings.Contains(out, "Nothing of it is done") {
		t.Errorf("it cannot be refused: %d: %s", code, out)
	}
	if out, _ := b.says("orders", "show", id, "--host", "box1"); !strings.Contains(out, "refused") && !strings.Contains(out, "taken back") {
		t.Errorf("who asked does not hear that it was refused: %s", out)
	}
	id = asks("stop", "box1/worker")
	if out, code := b.says("orders", "cancel", id, "--host", "box1"); code != 0 {
		t.Errorf("who asked cannot take it back: %d: %s", code, out)
	}
	id = asks("stop", "box1/worker")
	_ = a.up.Process.Kill()
	_ = a.up.Wait()
	if out, code := a.says("orders", "approve", id); code != 2 || !strings.Contains(out, "not known now whether host box2") {
		t.Errorf("without a daemon, which alone hears who was revoked: %d: %s", code, out)
	}
	a.start()
	await(t, func() string { return out + a.said.String() }, func() bool { // once the hub has told
		var code int
		out, code = a.says("orders", "approve", id)
		return code == 0
	})
	await(t, func() string { return out + a.said.String() }, func() bool {
		out, _ = b.says("orders", "show", id, "--host", "box1")
		return strings.Contains(out, "Stopped worker") && strings.Contains(out, "Approved by ")
	})
	if out, code := a.says("orders", "approve", id); code != 2 {
		t.Errorf("approved of twice: %d: %s", code, out)
	}
}

// TestAnOrderOfAFormerKey: what was asked for under a key is not approved of once another key has that name, as after a
// theft.
func TestAnOrderOfAFormerKey(t *testing.T) {
	hub, a, b := workerSeen(t, "ask")
	var out string
	if out, code := b.says("stop", "box1/worker"); code != 4 {
		t.Fatalf("%d: %s", code, out)
	}
	var asked struct{ Orders []struct{ ID string } }
	out, _ = a.says("orders", "--json")
	if err := json.Unmarshal([]byte(out), &asked); err != nil || len(asked.Orders) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	hub.Join(t, "box2")
	await(t, func() string { return out + b.said.String() }, func() bool {
		var code int
		out, code = b.says("hub", "status") // in lines of a terminal
		return code == 3 && strings.Contains(strings.Join(strings.Fields(out), " "), "does not let this host in")
	})
	if out, code := a.says("orders", "approve", asked.Orders[0].ID); code != 2 || !strings.Contains(out, "has joined anew since") {
		t.Errorf("%d: %s", code, out)
	}
}

// cutFor is how long the hub is cut off: CUSTOS_CUT_FOR, or twice as long as a lease lasts.
func cutFor() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("CUSTOS_CUT_FOR")); err == nil {
		return d
	}
	return 30 * time.Second
}

// TestTheHubIsCut: each host goes on mending its own, and writes nothing that is shared. When the hub is back, what
// still stands is done once, and what passed meanwhile is not made up for.
func TestTheHubIsCut(t *testing.T) {
	hub, forge := hubtest.Start(t, 1), newSharedForge(t)
	forge.open(1)
	towns := []*town{}
	for _, name := range []string{"box1", "box2"} {
		w := foundBeside(t, quickLimits+strings.ReplaceAll(fmt.Sprintf(sharedRules, forge.URL, forge.token), "NAME", name+"-shop"))
		if err := hub.Join(t, name).Save(w.cfg.HubDir()); err != nil {
			t.Fatal(err)
		}
		w.start()
		towns = append(towns, w)
	}
	said := func() string { return towns[0].said.String() + "\n" + towns[1].said.String() }
	await(t, said, func() bool { return forge.comments(1) > 0 })
	pids := []int{}
	for _, w := range towns {
		w.spawn("worker", "reply hello", false)
		pids = append(pids, w.awaitState("worker", "idle").PID)
	}
	hub.Stop(0)
	cut := time.Now()
	for _, w := range towns {
		await(t, said, func() bool {
			out, code := w.says("hub", "status")
			return code == 3 && strings.Contains(out, "not acted on now")
		})
	}
	for n := 2; n <= 5; n++ {
		forge.open(n)
	}
	for i, w := range towns { // what is a host's own it mends
		if err := syscall.Kill(pids[i], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.awaitAgain("worker", pids[i])
	}
	t.Logf("both agents run again, %s after the hub was cut off", time.Since(cut).Round(time.Second))
	time.Sleep(time.Until(cut.Add(cutFor() - 15*time.Second))) // the forge is looked at every 10 s
	forge.Change(func() {                                      // nothing is to be said there any more
		forge.repo.Issues[5].Closed, forge.repo.Issues[5].Updated = time.Now(), time.Now()
	})
	time.Sleep(time.Until(cut.Add(cutFor())))
	for n := 2; n <= 5; n++ {
		if c := forge.comments(n); c != 0 {
			t.Errorf("issue %d has %d comments while the hub is cut off", n, c)
		}
	}
	before := []int{strings.Count(towns[0].said.String(), "[P"), strings.Count(towns[1].said.String(), "[P")}
	hub.Restart(0)
	back := time.Now()
	await(t, said, func() bool { return forge.comments(2) > 0 && forge.comments(3) > 0 && forge.comments(4) > 0 })
	t.Logf("all is said %s after the hub was back, which was away for %s", time.Since(back).Round(time.Second), back.Sub(cut).Round(time.Second))
	await(t, said, func() bool { out, _ := towns[1].says("ps"); return strings.Contains(out, "box1/worker") })
	for i, want := range []int{1, 1, 1, 1, 0} {
		if c := forge.comments(i + 1); c != want {
			t.Errorf("issue %d has %d comments, want %d", i+1, c, want)
		}
	}
	for i, w := range towns {
		if n := strings.Count(w.said.String(), "[P") - before[i]; n > 12 { // what ended is told of, and what is done
			t.Errorf("%d news come at once when the hub is back:\n%s", n, w.said)
		}
		if out, code := w.says("hub", "status"); code != 0 {
			t.Errorf("%d: %s", code, out)
		}
	}
}

// TestAClonedHostIsOrderedNothing: of two daemons with one key either may be asked, so that neither does what is ordered
// elsewhere; with one of them gone the other does.
func TestAClonedHostIsOrderedNothing(t *testing.T) {
	_, a, b := workerSeen(t, "act")
	j, err := credential.Load(a.cfg.HubDir())
	if err != nil {
		t.Fatal(err)
	}
	twin := foundBeside(t, quickLimits+"[hub]\nremote = \"act\"\n")
	if err := j.Save(twin.cfg.HubDir()); err != nil {
		t.Fatal(err)
	}
	var out string
	says := func() string { return out + a.said.String() }
	twin.start()
	await(t, says, func() bool { // each knows it by its own next head, 5 s later
		for range 6 { // either may be asked
			var code int
			if out, code = b.says("stop", "box1/nobody"); code != 3 {
				return false
			}
		}
		return true
	})
	if out, _ := twin.says("hub", "status"); !strings.Contains(out, "Two daemons tell under this name") {
		t.Errorf("it does not say so itself: %s", out)
	}
	if out, _ := b.says("ps"); !strings.Contains(out, "two daemons") {
		t.Errorf("it is not shown: %s", out)
	}
	for range 3 {
		if out, code := b.says("stop", "box1/worker"); code != 3 || !strings.Contains(out, "not known which one is meant") {
			t.Errorf("it is ordered: %d: %s", code, out)
		}
	}
	twin.kill()
	await(t, says, func() bool {
		var code int
		out, code = b.says("nudge", "box1/worker", "fake reply thanks")
		return code == 0
	})
}
