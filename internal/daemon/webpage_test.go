package daemon_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/daemon"
)

// browser is one that has a session of the page, or none yet.
type browser struct {
	t    *testing.T
	http *http.Client
	base string // like http://127.0.0.1:7777
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, base}
}

// asks returns the status, where to go on, and the page.
func (b *browser) asks(method, address string, form url.Values) (status int, next, page string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.base + address
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.base)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), string(text)
}

// sees is asks for a page that is there.
func (b *browser) sees(path string) string {
	b.t.Helper()
	status, _, page := b.asks(http.MethodGet, path, nil)
	if status != http.StatusOK {
		b.t.Fatalf("GET %s: %d\n%s", path, status, page)
	}
	return page
}

// enters opens an address of the page.
func (b *browser) enters(address string) {
	b.t.Helper()
	if status, next, page := b.asks(http.MethodGet, address, nil); status != http.StatusSeeOther {
		b.t.Fatalf("%s: %d %s\n%s", address, status, next, page)
	}
}

// webAddress has a person ask for an address of the page.
func (w *town) webAddress(args ...string) string {
	w.Helper()
	out, code := w.says(append([]string{"web"}, args...)...)
	address, _, _ := strings.Cut(out, "\n")
	if code != 0 || !strings.HasPrefix(address, "http://127.0.0.1:") {
		w.Fatalf("web %v ended with %d: %s", args, code, out)
	}
	return address
}

const quickTown = "[agents]\nevery = \"1s\"\n[limits]\nstagger = \"0s\"\nspawn_memory = \"0\"\n"

// A person opens the page and leaves it; an agent that has a copy of the cookie does nothing
// by it, and that is written down. The page is off until it is asked for.
func TestThePageKnowsAnAgentFromAPerson(t *testing.T) {
	w := newTown(t, quickTown)
	if out, _ := w.says("web", "sessions"); !strings.Contains(out, "The page is off") {
		t.Errorf("before anybody asked for it: %s", out)
	}
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, "http://"+u.Host)
	if status, _, _ := b.asks(http.MethodGet, "/", nil); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d", status)
	}
	b.enters(address)
	if status, _, _ := newBrowser(t, b.base).asks(http.MethodGet, address, nil); status != http.StatusUnauthorized {
		t.Errorf("the address was good twice: %d", status)
	}
	b.sees("/")
	own, _ := url.Parse(b.base)
	cookies := b.http.Jar.Cookies(own)
	if len(cookies) != 1 {
		t.Fatalf("the cookies: %v", cookies)
	}
	if lies := w.grep(cookies[0].Value); lies != "" {
		t.Errorf("the cookie lies in %s", lies)
	}
	if lies := w.grep(u.Query().Get("token")); lies != "" {
		t.Errorf("the token of the address lies in %s", lies)
	}

	script, told := filepath.Join(w.dir, "work", "thief.sh"), filepath.Join(w.dir, "work", "told")
	text := fmt.Sprintf(`#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/%s
printf 'POST /leave HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nCookie: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' >&3
cat <&3 >%s.part
mv %s.part %s
sleep 600
`, u.Port(), u.Host, u.Host, cookies[0], told, told, told)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "thief", Spawn: &api.SpawnRequest{Kind: "claude", Argv: []string{script}, Dir: filepath.Join(w.dir, "work"), Headless: true, Prompt: "go"}}); o.State != "done" {
		t.Fatalf("spawn: %+v\n%s", o, w.said)
	}
	read := func() string { got, _ := os.ReadFile(told); return string(got) }
	await(t, func() string { return w.said.String() }, func() bool { return read() != "" })
	if got := read(); !strings.HasPrefix(got, "HTTP/1.1 403 ") || !refusedForWhoAsks(got) {
		t.Errorf("the agent was told: %s", got)
	}
	if out, _ := w.says("feed"); !strings.Contains(out, "web.refused") {
		t.Errorf("it is not written down: %s", out)
	}
	b.sees("/")
	if status, next, page := b.asks(http.MethodPost, "/leave", nil); status != http.StatusSeeOther {
		t.Errorf("a person: %d %s\n%s", status, next, page)
	}
	if status, _, _ := b.asks(http.MethodGet, "/", nil); status != http.StatusUnauthorized {
		t.Errorf("after it was left: %d", status)
	}
}

// grep names a file of Custos that has a text in it; "" when none has.
func (w *town) grep(text string) (found string) {
	w.Helper()
	for _, top := range []string{"s"} {
		_ = filepath.WalkDir(filepath.Join(w.dir, top), func(name string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if got, err := os.ReadFile(name); err == nil && strings.Contains(string(got), text) {
					found = name
				}
			}
			return nil
		})
	}
	return found
}

// A link shows one thing, and ends when it is revoked, as a session does; the page is
// turned off and on again.
func TestLinksAndSessionsOfThePageEnd(t *testing.T) {
	w := newTown(t, quickTown)
	link := w.webAddress("link", "--page", "/", "--for", "1h")
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + u.Host
	one, two, person := newBrowser(t, base), newBrowser(t, base), newBrowser(t, base)
	one.enters(link)
	two.enters(link) // as often as it is shown to somebody
	person.enters(w.webAddress())
	one.sees("/")
	two.sees("/")
	if status, _, _ := one.asks(http.MethodPost, "/leave", nil); status != http.StatusForbidden {
		t.Errorf("something was done with a link: %d", status)
	}
	out, _ := w.says("web", "sessions")
	id, _, _ := strings.Cut(strings.TrimSpace(out[strings.Index(out, "\n"):]), " ")
	if out, code := w.says("web", "revoke", id); code != 0 {
		t.Fatalf("revoke %q: %s", id, out)
	}
	if status, _, _ := two.asks(http.MethodGet, "/", nil); status != http.StatusUnauthorized {
		t.Errorf("after the link was revoked: %d; sessions:\n%s", status, out)
	}
	person.sees("/")
	if out, code := w.says("web", "revoke", "--all"); code != 0 || !strings.Contains(out, "Ended: 1.") {
		t.Errorf("revoke --all: %s", out)
	}
	if status, _, _ := person.asks(http.MethodGet, "/", nil); status != http.StatusUnauthorized {
		t.Errorf("after all were revoked: %d", status)
	}
	if out, code := w.says("web", "stop"); code != 0 {
		t.Errorf("stop: %s", out)
	}
	await(t, w.said.String, func() bool { return !listens(u.Host) })
	again := newBrowser(t, "")
	again.enters(w.webAddress())
}

// A page that only a person asked for goes on where it was when another custos.toml comes
// into force, with its sessions; one that custos.toml has is there again after kill -9.
func TestThePageOutlivesItsDaemon(t *testing.T) {
	w := newTown(t, quickTown)
	address := w.webAddress()
	b := newBrowser(t, address[:strings.Index(address, "/enter")])
	b.enters(address)
	listen := freePort(t)
	const text = "mode = \"auto\"\ngrace = \"0s\"\n" + quickTown
	begun := strings.Count(w.said.String(), "The page is served")
	w.rewrite(text + "[metrics]\nlisten = \"" + freePort(t) + "\"\n")
	await(t, w.said.String, func() bool { return strings.Count(w.said.String(), "The page is served") > begun })
	b.sees("/")
	w.rewrite(text + "[web]\nlisten = \"" + listen + "\"\n")
	await(t, w.said.String, func() bool { return strings.Contains(w.said.String(), "at="+listen) })
	address = w.webAddress()
	if !strings.HasPrefix(address, "http://"+listen+"/") {
		t.Errorf("the address: %s", address)
	}
	b = newBrowser(t, "http://"+listen)
	b.enters(address)
	w.kill()
	w.start()
	await(t, w.said.String, func() bool { return listens(listen) }) // it may be told of before
	b.sees("/")
	w.rewrite(text)
	await(t, w.said.String, func() bool { return !listens(listen) })
}

// listens says whether anybody listens at an address.
func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// An address that is taken keeps nobody from watching: it is said, and the page is there
// once it is free.
func TestATakenAddressIsSaid(t *testing.T) {
	l, err := net.Listen("tcp", freePort(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := newTown(t, quickTown+"[web]\nlisten = \""+l.Addr().String()+"\"\n")
	if out, _ := w.says("health"); !strings.Contains(out, "cannot serve the page at "+l.Addr().String()) {
		t.Errorf("health: %s", out)
	}
	if out, code := w.says("web"); code != 3 || !strings.Contains(out, "address already in use") {
		t.Errorf("web ended with %d: %s", code, out)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	newBrowser(t, "").enters(w.webAddress())
	if out, _ := w.says("health"); strings.Contains(out, "cannot serve the page") {
		t.Errorf("health, later: %s", out)
	}
}

// hidden is the value of a field that a form of a page has.
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("there is no field %s in %s", name, page)
	}
	return value
}

// From the page an agent is told something, and stopped; what became of it is told there,
// and the same form sent twice is one order.
func TestAnAgentIsToldAndStoppedByThePage(t *testing.T) {
	w := newTown(t, quickTown)
	w.spawn("builder", "reply hello", false)
	w.awaitState("builder", "idle", "waiting")
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, "http://"+u.Host)
	b.enters(address)
	page := b.sees("/agents/builder")
	form := url.Values{"text": {"fake reply noon"}, "id": {hidden(t, page, "id")}}
	status, next, said := b.asks(http.MethodPost, "/agents/builder/nudge", form)
	if status != http.StatusSeeOther {
		t.Fatalf("nudge: %d\n%s", status, said)
	}
	next, _, _ = strings.Cut(next, "#")
	await(t, func() string { return b.sees(next) }, func() bool { return strings.Contains(b.sees(next), "nudge: done") })
	if status, again, said := b.asks(http.MethodPost, "/agents/builder/nudge", form); status != http.StatusSeeOther || !strings.HasPrefix(again, next) {
		t.Errorf("the same form again: %d to %s\n%s", status, again, said)
	}
	asked := b.sees("/agents/builder/stop")
	status, next, said = b.asks(http.MethodPost, "/agents/builder/stop", url.Values{"why": {"by the page"}, "id": {hidden(t, asked, "id")}})
	if status != http.StatusSeeOther {
		t.Fatalf("stop: %d\n%s", status, said)
	}
	next, _, _ = strings.Cut(next, "#")
	await(t, func() string { return b.sees(next) }, func() bool { return strings.Contains(b.sees(next), "stop: done") })
	w.awaitState("builder", "stopped", "finished")
	if out, _ := w.says("ps", "--json"); !strings.Contains(out, `"state": "stopped"`) {
		t.Errorf("ps: %s", out)
	}
}

// An alert is looked at, its plan read, and just that approved of, by the page; a second
// time there is nothing to approve, and what was not approved stays undone.
func TestAnAlertIsApprovedByThePage(t *testing.T) {
	dir, cfg := scratch(t)
	gardener, other := filepath.Join(dir, "locks/gardener-poll.lock"), filepath.Join(dir, "locks/reused-run.lock")
	up(t, dir, cfg)
	c, err := api.Dial(t.Context(), daemon.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Patrol(t.Context(), api.PatrolOrder{}); err != nil {
		t.Fatal(err)
	}
	number := alertOf(t.Context(), t, c, "lock/"+gardener)
	made, err := c.WebAddress(t.Context(), api.WebRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, made.URL[:strings.Index(made.URL, "/enter")])
	b.enters(made.URL)
	at := fmt.Sprintf("/alerts/%d", number)
	if list := b.sees("/alerts"); !strings.Contains(list, `href="`+at+`"`) {
		t.Errorf("nothing leads to alert %d: %s", number, list)
	}
	page := b.sees(at)
	if !strings.Contains(page, "remove-lock") || !strings.Contains(page, gardener) {
		t.Errorf("its plan is not shown: %s", page)
	}
	form := url.Values{"seen": {hidden(t, page, "seen")}}
	if status, _, said := b.asks(http.MethodPost, at+"/approve", url.Values{"seen": {"0123456789abcdef"}}); status != http.StatusConflict {
		t.Errorf("what was not shown was approved of: %d\n%s", status, said)
	}
	if _, err := os.Lstat(gardener); err != nil {
		t.Fatalf("it is done already: %v", err)
	}
	if status, next, said := b.asks(http.MethodPost, at+"/approve", form); status != http.StatusSeeOther || !strings.HasPrefix(next, at+"?begun=") {
		t.Fatalf("approve: %d to %s\n%s", status, next, said)
	}
	await(t, func() string { return "the lock is there" }, func() bool { _, err := os.Lstat(gardener); return os.IsNotExist(err) })
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("what was not approved is done: %v", err)
	}
	if status, _, said := b.asks(http.MethodPost, at+"/approve", form); status < 400 {
		t.Errorf("approved a second time: %d\n%s", status, said)
	}
	await(t, func() string { return b.sees(at) }, func() bool { return strings.Contains(b.sees(at), "action.ended") })
}

// A question that an agent shows is answered by the page, by one of the choices that are
// there; home leads to it. An answer to another question is not given.
func TestAQuestionIsAnsweredByThePage(t *testing.T) {
	w := newTown(t, quickTown)
	w.spawn("asker", "dialog touch proof", false)
	w.awaitState("asker", "waiting", "dialog")
	address := w.webAddress()
	b := newBrowser(t, address[:strings.Index(address, "/enter")])
	b.enters(address)
	await(t, func() string { return b.sees("/") }, func() bool { return strings.Contains(b.sees("/"), `class="button" href="/agents/asker"`) })
	var page string
	await(t, func() string { return page }, func() bool { page = b.sees("/agents/asker"); return strings.Contains(page, `name="dialog"`) })
	if !strings.Contains(page, "touch proof") || !strings.Contains(page, `name="choice" value="yes"`) {
		t.Fatalf("its question is not shown: %s", page)
	}
	status, next, said := b.asks(http.MethodPost, "/agents/asker/answer", url.Values{"choice": {"yes"}, "dialog": {"another"}, "id": {"WRONG"}})
	switch next, _, _ = strings.Cut(next, "#"); {
	case next == "" && status < 400:
		t.Errorf("an answer to another question: %d\n%s", status, said)
	case next != "":
		await(t, func() string { return b.sees(next) }, func() bool { return strings.Contains(b.sees(next), "answer: refused") })
	}
	status, next, said = b.asks(http.MethodPost, "/agents/asker/answer", url.Values{"choice": {"yes"}, "dialog": {hidden(t, page, "dialog")}, "id": {hidden(t, page, "id")}})
	if status != http.StatusSeeOther {
		t.Fatalf("answer: %d\n%s", status, said)
	}
	next, _, _ = strings.Cut(next, "#")
	await(t, func() string { return b.sees(next) }, func() bool { return strings.Contains(b.sees(next), "answer: done") })
	w.awaitState("asker", "idle", "working")
}
