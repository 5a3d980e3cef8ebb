package daemon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"custos/internal/api"
	"custos/internal/web/chromiumtest"
)

// browsed is a town whose page is used, and attacked, by a real browser.
type browsed struct {
	*town
	browser *chromiumtest.Browser
	listen  string // of the page, like 127.0.0.1:20001
	top     string // of its custos.toml, without [web]
}

// base is how browsers call the page.
func (w *browsed) base() string { return "http://" + w.listen }

// browsedTown only observes: of what is done about locks that are left behind a person
// approves.
func browsedTown(t *testing.T, o chromiumtest.Options) *browsed {
	t.Helper()
	b := chromiumtest.Start(t, o)
	w := &browsed{town: foundTown(t, ""), browser: b, listen: freePort(t)}
	locks := filepath.Join(w.dir, "locks")
	if err := os.Mkdir(locks, 0o755); err != nil {
		t.Fatal(err)
	}
	w.top = "mode = \"observe\"\ngrace = \"0s\"\n" + quickTown + fmt.Sprintf("[locks]\nglobs = [%q]\nwaited_for = [\"*.lock\"]\nforeign_namespace = false\nevery = \"1s\"\n", locks+"/*.lock")
	w.rewrite(w.top + fmt.Sprintf("[web]\nlisten = %q\n", w.listen))
	w.start()
	return w
}

// locks leaves a lock behind, of a process that is gone.
func (w *browsed) locks(name string) string {
	w.Helper()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		w.Fatal(err)
	}
	path := filepath.Join(w.dir, "locks", name+".lock")
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", gone.Process.Pid), 0o600); err != nil {
		w.Fatal(err)
	}
	hours := time.Now().Add(-3 * time.Hour)
	if err := os.Chtimes(path, hours, hours); err != nil {
		w.Fatal(err)
	}
	return path
}

// refusals are how many refusals of the page are written down, of which a text tells.
func (w *browsed) refusals(text string) (n int) {
	w.Helper()
	c := w.client()
	defer c.Close()
	feed, err := c.Feed(w.Context(), api.FeedQuery{Limit: 1000})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range feed.Entries {
		if e.Kind == "web.refused" && strings.Contains(e.Text, text) {
			n++
		}
	}
	return n
}

// person opens the page as one, in a tab of a browser without any cookie.
func (w *browsed) person(t *testing.T) *chromiumtest.Tab {
	t.Helper()
	c := w.browser.Tab(t)
	out, code := w.says("web")
	address, _, _ := strings.Cut(out, "\n")
	if code != 0 {
		t.Fatalf("web ended with %d: %s", code, out)
	}
	c.Goes(address)
	c.Awaits("h1", "What needs you")
	return c
}

// The page in a real browser: used at the sizes of a phone and of a desk, without scripts and
// by a link, and attacked by other pages.
func TestThePageInARealBrowser(t *testing.T) {
	w := browsedTown(t, chromiumtest.Options{Hosts: []string{"MAP evil.test 127.0.0.1"}})
	for _, part := range []struct {
		name string
		is   func(*testing.T, *browsed)
	}{
		{"on a phone", func(t *testing.T, w *browsed) { usesThePage(t, w, "phone", 390, 844) }},
		{"at a desk", func(t *testing.T, w *browsed) { usesThePage(t, w, "desk", 1440, 900) }},
		{"without scripts", worksWithoutScripts},
		{"by a link", onlyLooksByALink},
		{"by a foreign name", showsNothingByAForeignName},
		{"by another site", func(t *testing.T, w *browsed) { refusesAnotherPage(t, w, "evil.test", "cross-site") }},
		{"by another port", func(t *testing.T, w *browsed) { refusesAnotherPage(t, w, "127.0.0.1", "same-site") }},
		{"by no browser", refusesWhatNoPageAsksFor},
		{"killed", isRightAgainAfterAKill},
	} {
		t.Run(part.name, func(t *testing.T) {
			all := w.T
			w.T = t
			defer func() { w.T = all }()
			part.is(t, w)
		})
	}
}

// usesThePage goes from an alert over why it is there to its approval, until it is done; has
// an agent's question answered, tells it something, stops it, and signs out. The browser has
// nothing to complain of, and asks for nothing elsewhere.
func usesThePage(t *testing.T, w *browsed, size string, width, height int64) {
	lock := w.locks(size)
	w.spawn(size, "dialog touch proof", false)
	c := w.person(t)
	c.Resize(width, height)
	fits := func(name string) {
		t.Helper()
		if over := c.Overflow(320); over != "" {
			t.Errorf("%s is wider than the screen: %s", name, over)
		}
		c.Resize(width, height)
		c.Picture(name + "-" + size)
	}
	c.Awaits("#needs", size+".lock")
	fits("home")
	c.Clicks(`#needs li:has(a[href^="/alerts/"]) a.button`)
	c.Awaits("#plan", "remove-lock")
	c.Awaits("#why", "dead")
	fits("alert")
	c.Clicks(`#plan form button`)
	c.Awaits("#outcome", "approved")
	c.Awaits("#alert", "resolved")
	await(t, func() string { return lock + " is there" }, func() bool { _, err := os.Lstat(lock); return os.IsNotExist(err) })
	fits("alert-done")

	c.Clicks(`a.brand`)
	c.Clicks(`#needs a.button[href="/agents/` + size + `"]`)
	c.Awaits("#dialog-title", "It asks")
	fits("agent")
	if top := chromiumtest.Evaluate[int64](c, `Math.round(document.querySelector('#dialog button[value="yes"]').getBoundingClientRect().bottom + scrollY)`); top > height {
		t.Errorf("to answer takes scrolling: the button ends at %d of %d", top, height)
	}
	c.Clicks(`#dialog button[value="yes"]`)
	c.Awaits("#outcome", "answer: done")
	w.awaitState(size, "idle", "working")
	c.Types("#text", "fake reply noon")
	c.Clicks(`form[action$="/nudge"] button`)
	c.Awaits("#outcome", "nudge: done")
	fits("agent-told")
	c.Clicks(`#act a.danger`)
	c.Awaits("#confirm", "Leave it running")
	fits("stop")
	c.Clicks(`#confirm button.danger`)
	c.Awaits("#outcome", "stop: done")
	w.awaitState(size, "stopped", "finished")
	c.Awaits("#state-title", "stopped")

	if found := c.Elsewhere(w.base()); len(found) > 0 {
		t.Errorf("it asked for %q", found)
	}
	if said := c.Complaints(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
	c.Clicks(`form[action="/leave"] button`)
	c.Awaits("#notice", "not let in")
	fits("signed-out")
}

// worksWithoutScripts: what is shown is read, and what the forms say is done.
func worksWithoutScripts(t *testing.T, w *browsed) {
	w.spawn("quiet", "reply hello", false)
	w.awaitState("quiet", "idle", "waiting")
	c := w.person(t)
	c.WithoutScripts()
	c.Resize(390, 844)
	c.Goes(w.base() + "/")
	c.Clicks(`#agents a[href="/agents/quiet"]`)
	c.Awaits("#state-title", "idle")
	c.Awaits("#screen", "hello")
	c.Picture("agent-without-scripts")
	c.Types("#text", "fake reply without scripts")
	c.Clicks(`form[action$="/nudge"] button`)
	c.Awaits("#outcome", "nudge: ")
	// it is as it came: a person loads it again
	await(t, c.Text, func() bool { c.Does(chromedp.Reload()); return c.Shows("#outcome", "nudge: done") })
	await(t, c.Text, func() bool { c.Does(chromedp.Reload()); return c.Shows("#screen", "without scripts") })
	if said := c.Complaints(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
}

// onlyLooksByALink: it has no forms, and what a form would have done is refused, and told.
func onlyLooksByALink(t *testing.T, w *browsed) {
	c := w.browser.Tab(t)
	out, code := w.says("web", "link", "--agent", "quiet", "--for", "1h")
	address, _, _ := strings.Cut(out, "\n")
	if code != 0 {
		t.Fatalf("web link ended with %d: %s", code, out)
	}
	c.Goes(address)
	c.Awaits("h1", "quiet")
	c.Resize(390, 844)
	c.Picture("link")
	if n := chromiumtest.Evaluate[int](c, `document.querySelectorAll("form, nav, #screen").length`); n > 0 {
		t.Errorf("it has %d forms, menus and terminals", n)
	}
	if said := c.Complaints(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
	was := w.refusals("POST /agents/quiet/stop")
	if status := chromiumtest.Evaluate[int](c, `fetch("/agents/quiet/stop", {method: "POST", body: new URLSearchParams({id: "ABC"})}).then(r => r.status)`); status != http.StatusForbidden {
		t.Errorf("a form of the link: %d", status)
	}
	if n := w.refusals("POST /agents/quiet/stop"); n != was+1 {
		t.Errorf("it is written down %d times", n-was)
	}
	if status := c.Goes(w.base() + "/"); status != http.StatusForbidden {
		t.Errorf("another page by the link: %d", status)
	}
}

// showsNothingByAForeignName: a name that was made to lead here (DNS rebinding).
func showsNothingByAForeignName(t *testing.T, w *browsed) {
	c := w.person(t)
	_, port, _ := strings.Cut(w.listen, ":")
	was := w.refusals(`called "evil.test:` + port)
	if status := c.Goes("http://evil.test:" + port + "/"); status != http.StatusMisdirectedRequest {
		t.Errorf("evil.test: %d", status)
	}
	c.Awaits("#notice", "not called by that name")
	if text := c.Text(); strings.Contains(text, "quiet") {
		t.Errorf("evil.test shows %s", text)
	}
	if n := w.refusals(`called "evil.test:` + port); n == was {
		t.Error("it is not written down")
	}
}

// refusesAnotherPage: a page of another origin has the browser of a person, who has a
// session, ask in every way that there is. Nothing is read, nothing is done, and it is told.
func refusesAnotherPage(t *testing.T, w *browsed, host, site string) {
	other, err := url.Parse(servesPage(t, `<!DOCTYPE html><title>Another</title><p>another page</p>`))
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://" + host + ":" + other.Port()
	c := w.person(t)
	victim := c.Beside()
	victim.Goes(w.base() + "/agents/quiet")
	c.Goes(origin)
	for name, a := range map[string]struct{ script, told string }{
		"a fetch":              {`fetch(T + "/", {credentials: "include"}).then(r => "read " + r.status, () => "refused")`, "GET /"},
		"a fetch unread":       {`fetch(T + "/agents", {mode: "no-cors", credentials: "include"}).then(r => "read " + r.status, () => "refused")`, "GET /agents"},
		"a form by fetch":      {`fetch(T + "/agents/quiet/interrupt", {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({id: "ABC"})}).then(r => "read " + r.status, () => "refused")`, "POST /agents/quiet/interrupt"},
		"JSON by fetch":        {`fetch(T + "/agents/quiet/nudge", {method: "POST", credentials: "include", headers: {"Content-Type": "application/json"}, body: "{}"}).then(r => "read " + r.status, () => "refused")`, "OPTIONS /agents/quiet/nudge"},
		"a stream":             {`new Promise(is => { const s = new EventSource(T + "/changes", {withCredentials: true}); s.onmessage = s.onopen = () => is("open"); s.onerror = () => is(s.readyState === 2 ? "refused" : "goes on"); })`, "GET /changes"},
		"a socket":             {`new Promise(is => { const s = new WebSocket(T.replace("http", "ws") + "/alerts"); s.onopen = () => is("open"); s.onerror = () => is("refused"); })`, "GET /alerts"},
		"a frame":              {`new Promise(is => { const f = document.createElement("iframe"); f.src = T + "/agents/quiet/stop"; f.onload = () => { let d = null; try { d = f.contentDocument; } catch (e) {} is(d === null ? "refused" : "read"); }; document.body.append(f); })`, "GET /agents/quiet/stop"},
		"a form into a frame":  {`new Promise(is => { const f = document.createElement("iframe"); f.name = "n"; document.body.append(f); const form = document.createElement("form"); form.method = "post"; form.action = T + "/agents/quiet/stop"; form.target = "n"; document.body.append(form); f.onload = () => { let d = null; try { d = f.contentDocument; } catch (e) {} is(d === null ? "refused" : "read"); }; form.submit(); })`, "POST /agents/quiet/stop"},
		"a picture":            {`new Promise(is => { const i = new Image(); i.onload = () => is("read"); i.onerror = () => is("refused"); i.src = T + "/assets/icon.svg"; })`, "GET /assets/icon.svg"},
		"a script of the page": {`new Promise(is => { const s = document.createElement("script"); s.onload = () => is("read"); s.onerror = () => is("refused"); s.src = T + "/assets/page.js"; document.body.append(s); })`, "GET /assets/page.js"},
		"a beacon":             {`navigator.sendBeacon(T + "/leave", new URLSearchParams({a: "b"})) ? "refused" : "not sent"`, "POST /leave"},
	} {
		told := a.told + " of"
		was := w.refusals(told)
		if got := chromiumtest.Evaluate[string](c, fmt.Sprintf("(T => %s)(%q)", a.script, w.base())); got != "refused" {
			t.Errorf("%s (%s): %s", name, site, got)
		}
		if strings.HasPrefix(told, "GET") { // of those some are told
			continue
		}
		await(t, func() string { return name + " is not written down: " + told }, func() bool { return w.refusals(told) > was })
	}
	if w.refusals("GET ") == 0 {
		t.Error("no look is written down")
	}
	tree := chromiumtest.Call(c, page.GetFrameTree, cdp.Empty{})
	for _, f := range tree.FrameTree.ChildFrames {
		if !strings.HasPrefix(f.Frame.URL, "chrome-error:") {
			t.Errorf("a frame shows %s", f.Frame.URL)
		}
	}
	// a person who is sent to a form's answer sees that nothing was done
	chromiumtest.Evaluate[bool](c, fmt.Sprintf(`(() => { const form = document.createElement("form"); form.method = "post"; form.action = "%s/agents/quiet/stop"; document.body.append(form); form.submit(); return true; })()`, w.base()))
	c.Awaits("#notice", "Another page has your browser ask for this")
	victim.Awaits("#state-title", "idle")
	if row := w.agent("quiet"); row.State != "idle" {
		t.Errorf("afterwards it is %+v", row)
	}
	if said := victim.Complaints(); said != "" {
		t.Errorf("the browser of the person complains of\n%s", said)
	}
}

// servesPage serves a page at a port of its own, and returns its address.
func servesPage(t *testing.T, text string) string {
	t.Helper()
	return serves(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte(text))
	}))
}

// serves serves something at a port of its own, and returns its address.
func serves(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// refusesWhatNoPageAsksFor: what is no browser's form of this page, of a person with a
// session or without, does nothing, and is written down.
func refusesWhatNoPageAsksFor(t *testing.T, w *browsed) {
	out, code := w.says("web")
	address, _, _ := strings.Cut(out, "\n")
	if code != 0 {
		t.Fatalf("web ended with %d: %s", code, out)
	}
	person, nobody := newBrowser(t, w.base()), newBrowser(t, w.base())
	person.enters(address)
	for _, c := range []struct {
		name   string
		by     *browser
		with   map[string]string
		status int
	}{
		{"no origin", person, nil, http.StatusForbidden},
		{"the origin null", person, map[string]string{"Origin": "null"}, http.StatusForbidden},
		{"a foreign origin", person, map[string]string{"Origin": "http://evil.test"}, http.StatusForbidden},
		{"the origin of another port", person, map[string]string{"Origin": "http://127.0.0.1:1"}, http.StatusForbidden},
		{"JSON", person, map[string]string{"Origin": w.base(), "Content-Type": "application/json"}, http.StatusUnsupportedMediaType},
		{"no cookie", nobody, map[string]string{"Origin": w.base()}, http.StatusUnauthorized},
		{"a cookie that is made up", nobody, map[string]string{"Origin": w.base(), "Cookie": "custos-" + strings.TrimPrefix(w.listen, "127.0.0.1:") + "=AAAA"}, http.StatusUnauthorized},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base()+"/agents/quiet/stop", strings.NewReader("id=ABC"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range c.with {
			req.Header.Set(name, value)
		}
		was := w.refusals("POST /agents/quiet/stop")
		resp, err := c.by.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n := w.refusals("POST /agents/quiet/stop") - was; resp.StatusCode != c.status || n != 1 {
			t.Errorf("%s: %d, written down %d times; want %d", c.name, resp.StatusCode, n, c.status)
		}
	}
	if row := w.agent("quiet"); row.State != "idle" {
		t.Errorf("afterwards it is %+v", row)
	}
}

// rightWithin is how soon a page must be right again after the daemon is back.
const rightWithin = 3 * time.Second

// isRightAgainAfterAKill: a page that is looked at while the daemon is killed says so, and is
// right again soon after there is one: also about an agent that has died meanwhile.
func isRightAgainAfterAKill(t *testing.T, w *browsed) {
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "mortal", Spawn: &api.SpawnRequest{Kind: "claude", Dir: filepath.Join(w.dir, "work"), Prompt: "fake reply hello", Restart: "never"}}); o.State != "done" {
		t.Fatalf("spawn: %+v", o)
	}
	w.awaitState("mortal", "idle")
	pid := w.pidOf("mortal")
	c := w.person(t)
	c.Goes(w.base() + "/agents")
	c.Awaits(`tr[data-agent="mortal"]`, "idle")
	w.kill()
	c.Awaits("#stale", "not kept up to date")
	c.Picture("killed")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	right := make(chan time.Duration, 1)
	go func() {
		for !listens(w.listen) {
			<-time.After(5 * time.Millisecond)
		}
		back := time.Now()
		for time.Since(back) < longest && (c.Shows("#stale", "") || !c.Shows(`tr[data-agent="mortal"]`, "crashed")) {
			<-time.After(5 * time.Millisecond)
		}
		right <- time.Since(back)
	}()
	w.start()
	took := <-right
	t.Logf("right again %v after the page was served", took.Round(time.Millisecond))
	if took > rightWithin {
		t.Errorf("it was right again after %v only, want %v:\n%s", took, rightWithin, c.Text())
	}
}
