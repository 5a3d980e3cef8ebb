package daemon_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"custos/internal/api"
	"custos/internal/web/chromiumtest"
)

// showsKeys is a program that shows each byte that it is typed, and asks for pastes in
// brackets; coloured is what it shows before.
const (
	coloured  = `printf 'the key sk-ant-api03-%s is known\n\n\033[1;31mred\033[0m \033[38;2;255;135;0mamber\033[0m \033]0;<b>title</b>\007<script>alert(1)</script>\n\n' abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ; `
	showsKeys = `printf '\033[?2004hready> '; stty raw -echo; exec cat -vT`
)

// watchedTown is a town with a page, and an agent in a terminal that shows the keys.
func watchedTown(t *testing.T) *browsed {
	t.Helper()
	w := browsedTown(t, chromiumtest.Options{})
	w.spawnKeys("builder")
	w.tmux("set-option", "-s", "@painted", "0")
	w.tmux("set-hook", "-g", "after-capture-pane", `if-shell -F "#{hook_flag_e}" "set-option -sF @painted '#{e|+|:#{@painted},1}'"`)
	return w
}

func (w *browsed) spawnKeys(name string) {
	w.Helper()
	s := &api.SpawnRequest{Kind: "claude", Argv: []string{w.script(name, coloured+showsKeys)}, Dir: filepath.Join(w.dir, "work"), Restart: "never"}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
		w.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
	}
	w.pidOf(name)
}

// painted is how many pictures with colours the terminal server was asked for.
func (w *browsed) painted() (n int) {
	w.Helper()
	if _, err := fmt.Sscan(w.tmux("show-option", "-sv", "@painted"), &n); err != nil {
		w.Fatal(err)
	}
	return n
}

// A terminal in a real browser: watched, taken over and typed to by the keys of a keyboard,
// by one person at a time, by nobody without the right to, until it ends.
func TestATerminalInARealBrowser(t *testing.T) {
	w := watchedTown(t)
	for _, part := range []struct {
		name string
		is   func(*testing.T, *browsed)
	}{
		{"watched", watchesATerminal},
		{"taken over", takesATerminalOver},
		{"by a link", looksAtATerminalByALink},
		{"by an agent", typesAsNoAgent},
		{"ended by others", typesNoMore},
		{"its agent dies", typesToOneThatDies},
		{"killed", typesToNobody},
	} {
		t.Run(part.name, func(t *testing.T) {
			all := w.T
			w.T = t
			defer func() { w.T = all }()
			part.is(t, w)
		})
	}
}

// looksAt opens the page of an agent, and waits until its terminal is followed.
func (w *browsed) looksAt(c *chromiumtest.Tab, name string) {
	w.Helper()
	c.Goes(w.base() + "/agents/" + name)
	c.Awaits("#terminal-at", "As it is now.")
	c.Awaits("#terminal", "ready>")
}

// watchesATerminal: its colours are seen, and no secret, title or element; what is new comes.
// While nobody looks it is not looked at.
func watchesATerminal(t *testing.T, w *browsed) {
	if n := w.painted(); n != 0 {
		t.Errorf("nobody looks yet, and %d pictures were taken", n)
	}
	c := w.person(t)
	w.looksAt(c, "builder")
	color := func() string {
		return chromiumtest.Evaluate[string](c, `(() => { const s = Array.from(document.querySelectorAll("#terminal span span")).find(s => s.textContent === "amber"); return s ? getComputedStyle(s).color : document.getElementById("terminal").innerHTML; })()`)
	}
	comes(t, func() string { return "amber is " + color() }, func() bool { return color() == "rgb(255, 135, 0)" }) // the page may be asked for once more just then
	if text := c.Text(); strings.Contains(text, "abcdefghij") || strings.Contains(text, "title</b>") || !strings.Contains(text, "<script>alert(1)</script>") {
		t.Errorf("it shows %s", text)
	}
	w.tmux("send-keys", "-t", w.agent("builder").Pane, "more")
	c.Awaits("#terminal", "ready> more")
	if w.painted() == 0 {
		t.Error("no picture was counted: that nobody looks would be told of nothing")
	}
	c.Goes(w.base() + "/alerts")
	c.Awaits("h1", "Alerts")
	was := -1
	comes(t, func() string { return "it is looked at, and nobody looks" }, func() bool {
		now := w.painted()
		still := now == was
		was = now
		<-time.After(2 * looksSeldomest)
		return still && w.painted() == now
	})
	if said := c.Complaints(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
}

// looksSeldomest is the longest time between two pictures of a terminal of our own server.
const looksSeldomest = 250 * time.Millisecond

// screen is what the terminal of a page shows, as one line.
func screen(c *chromiumtest.Tab) string {
	c.T.Helper()
	return chromiumtest.Evaluate[string](c, `document.getElementById("terminal").textContent.replaceAll("\n", "").trimEnd()`)
}

// takesOver has a person take over the keyboard on the page of an agent.
func takesOver(c *chromiumtest.Tab) {
	c.T.Helper()
	c.Clicks("#keyboard button")
	c.Awaits("#keys", "")
	c.Awaits("#typing", "types here by hand since")
}

// comes waits for what a page shows, and no longer than a page may take.
func comes(t *testing.T, what func() string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); <-time.After(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("it did not come about: %s", what())
		}
	}
}

// takesATerminalOver: each key comes as the terminal's program expects it, and is shown soon;
// a second person is told who types, and does not; then they may.
func takesATerminalOver(t *testing.T, w *browsed) {
	one, two := w.person(t), w.person(t)
	w.looksAt(one, "builder")
	w.looksAt(two, "builder")
	one.Awaits("#keyboard button", "")
	chromiumtest.Evaluate[int](one, `(() => { const b = document.querySelector("#keyboard button"); b.click(); b.click(); return 0; })()`)
	one.Awaits("#keys", "")
	two.Awaits("#typing", "types here by hand since")
	two.Clicks("#keyboard button")
	two.Awaits("#keyboard [role=status]", "types there since")
	if n := chromiumtest.Evaluate[int](two, `document.querySelectorAll("#keys").length`); n != 0 {
		t.Error("the second one may type, too")
	}
	if said, _ := w.says("feed"); strings.Count(said, "takes over the keyboard of agent builder") != 1 {
		t.Errorf("who clicks twice takes over\n%s", said)
	}
	one.Clicks("#keys")
	shown := screen(one)
	shows := func(what, more string) {
		t.Helper()
		shown += more
		comes(t, func() string { return fmt.Sprintf("%s: %q, want %q", what, screen(one), shown) }, func() bool { return screen(one) == shown })
	}
	for _, k := range []struct {
		keys  string
		with  kb.Modifier
		shown string
	}{
		{"ls <b>", 0, "ls <b>"}, {kb.Enter, 0, "^M"}, {kb.Tab, 0, "^I"}, {kb.Tab, kb.ModifierShift, "^[[Z"}, {kb.Escape, 0, "^["}, {kb.Backspace, 0, "^?"},
		{kb.ArrowUp, 0, "^[[A"}, {kb.ArrowLeft, kb.ModifierCtrl, "^[[1;5D"}, {kb.Delete, 0, "^[[3~"}, {kb.PageDown, 0, "^[[6~"}, {kb.F5, 0, "^[[15~"},
		{"c", kb.ModifierCtrl, "^C"}, {"d", kb.ModifierCtrl, "^D"}, {"x", kb.ModifierAlt, "^[x"},
	} {
		one.Does(chromedp.KeyEvent(k.keys, chromedp.KeyModifiers(k.with)))
		shows(fmt.Sprintf("%q with %d", k.keys, k.with), k.shown)
	}
	chromiumtest.Call(one, input.InsertText, input.InsertTextParams{Text: "é"}) // as the keyboard of a phone does
	shows("é", "M-CM-)")
	chromiumtest.Evaluate[bool](one, `(() => { const d = new DataTransfer(); d.setData("text/plain", "two\nlines\u001b[201~; x"); return document.getElementById("keys").dispatchEvent(new ClipboardEvent("paste", {clipboardData: d, cancelable: true})); })()`)
	comes(t, func() string { return screen(one) }, func() bool { return strings.HasSuffix(screen(one), "^[[201~") })
	// the end of a paste that is pasted loses its escape; a new line goes down and not back
	if pasted := strings.Join(strings.Fields(strings.TrimPrefix(screen(one), shown)), " "); pasted != "^[[200~two lines[201~; x^[[201~" {
		t.Errorf("a paste comes as %q", pasted)
	}
	one.Clicks(`#keyboard .keys button:last-child`)
	comes(t, func() string { return screen(one) }, func() bool { return strings.HasSuffix(screen(one), "^[[201~^C") })
	echoes(t, one)

	one.Does(chromedp.KeyEvent(".", chromedp.KeyModifiers(kb.ModifierCtrl)))
	one.Awaits("#keyboard", "Type here yourself")
	comes(t, two.Text, func() bool { return !two.Shows("#typing", "") })
	two.Clicks("#keyboard button")
	two.Awaits("#keys", "")
	if one.Awaits("#typing", "types here by hand since"); two.Shows("#keyboard", "Type here yourself") {
		t.Error("the second one may not type now")
	}
	two.Clicks("#keyboard > button")
	comes(t, one.Text, func() bool { return !one.Shows("#typing", "") })
	for _, c := range []*chromiumtest.Tab{one, two} {
		if said := c.Complaints(); c == one && said != "" || c == two && !strings.Contains(said, "409") {
			t.Errorf("the browser complains of\n%s", said)
		}
	}
}

// echoed is how long it may take from a key until 95 of 100 are shown, as docs/performance.md
// promises; echoedLate on a machine that does more than it can.
const echoed, echoedLate = 150 * time.Millisecond, time.Second

// echoes measures from the pressing of a key until the page's document shows it.
func echoes(t *testing.T, c *chromiumtest.Tab) {
	t.Helper()
	chromiumtest.Evaluate[int](c, `window.took = [], window.pressed = 0, (() => {
  const shown = () => document.getElementById("terminal").textContent.trimEnd().length;
  let was = shown();
  document.getElementById("keys").addEventListener("keydown", () => { window.pressed = performance.now(); }, true);
  new MutationObserver(() => { if (window.pressed > 0 && shown() > was) { window.took.push(performance.now() - window.pressed); window.pressed = 0; } was = shown(); }).observe(document.getElementById("terminal"), {childList: true, subtree: true, characterData: true});
  return 0;
})()`)
	var took []float64
	for i := range 40 {
		<-time.After(time.Duration(20+i*67%500) * time.Millisecond) // as people type, and as they think
		c.Does(chromedp.KeyEvent(string(rune('a' + i%26))))
		comes(t, func() string { return fmt.Sprintf("key %d: %s", i, screen(c)) }, func() bool {
			took = chromiumtest.Evaluate[[]float64](c, `window.took`)
			return len(took) > i
		})
	}
	slices.Sort(took)
	load := loaded(t)
	t.Logf("at load %.1f a key is shown after %.0f ms, 95 of 100 within %.0f ms, at most %.0f ms", load, took[20], took[37], took[39])
	most := echoed
	if load > float64(runtime.NumCPU()) {
		most = echoedLate
	}
	if p95 := time.Duration(took[37]) * time.Millisecond; p95 > most {
		t.Errorf("at load %.1f 95 of 100 keys are shown within %v, want %v", load, p95, most)
	}
}

// loaded is how many processes wanted to run in the last minute.
func loaded(t *testing.T) (load float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		t.Fatal(err)
	}
	return load
}

// asksOf is the status of a request of the page's own script.
func asksOf(c *chromiumtest.Tab, path string) int {
	c.T.Helper()
	return chromiumtest.Evaluate[int](c, fmt.Sprintf(`fetch(%q, {method: "POST", body: new URLSearchParams({view: "%032d"})}).then(r => r.status)`, path, 1))
}

// looksAtATerminalByALink: one that shows no terminal has none; one that does has no keyboard.
func looksAtATerminalByALink(t *testing.T, w *browsed) {
	for _, l := range []struct {
		more []string
		sees bool
	}{{nil, false}, {[]string{"--terminal"}, true}} {
		c := w.browser.Tab(t)
		out, code := w.says(append([]string{"web", "link", "--agent", "builder", "--for", "1h"}, l.more...)...)
		address, _, _ := strings.Cut(out, "\n")
		if code != 0 {
			t.Fatalf("web link ended with %d: %s", code, out)
		}
		c.Goes(address)
		c.Awaits("h1", "builder")
		if l.sees {
			c.Awaits("#terminal-at", "As it is now.")
			c.Awaits("#terminal", "ready>")
		} else if n := chromiumtest.Evaluate[int](c, `document.querySelectorAll("#screen, #terminal").length`); n != 0 || strings.Contains(c.Text(), "ready>") {
			t.Errorf("it shows the terminal:\n%s", c.Text())
		}
		if n := chromiumtest.Evaluate[int](c, `document.querySelectorAll("#keyboard, #keys, form").length`); n != 0 {
			t.Errorf("%v: it offers to type", l.more)
		}
		if said := c.Complaints(); said != "" {
			t.Errorf("the browser complains of\n%s", said)
		}
		for _, do := range []string{"take", "keys", "release"} {
			was := w.refusals("POST /agents/builder/terminal/" + do)
			if status := asksOf(c, "/agents/builder/terminal/"+do); status != http.StatusForbidden || w.refusals("POST /agents/builder/terminal/"+do) != was+1 {
				t.Errorf("%v: %s by a link: %d", l.more, do, status)
			}
		}
		if !l.sees && c.Goes(w.base()+"/agents/builder/terminal") != http.StatusForbidden {
			t.Error("the stream is sent")
		}
	}
}

// typesAsNoAgent: an agent that has a copy of a person's cookie takes over no keyboard.
func typesAsNoAgent(t *testing.T, w *browsed) {
	out, code := w.says("web")
	address, _, _ := strings.Cut(out, "\n")
	if code != 0 {
		t.Fatalf("web ended with %d: %s", code, out)
	}
	b := newBrowser(t, w.base())
	b.enters(address)
	own, _ := url.Parse(w.base())
	cookie, told := b.http.Jar.Cookies(own)[0], filepath.Join(w.dir, "work", "told")
	script, text := filepath.Join(w.dir, "work", "thief.sh"), fmt.Sprintf(`#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/%s
printf 'POST /agents/builder/terminal/take HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nCookie: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 37\r\nConnection: close\r\n\r\nview=11111111111111111111111111111111' >&3
cat <&3 >%s.part
mv %[5]s.part %[5]s
sleep 600
`, own.Port(), own.Host, w.base(), cookie, told)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	was := w.refusals("POST /agents/builder/terminal/take")
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "thief", Spawn: &api.SpawnRequest{Kind: "claude", Argv: []string{script}, Dir: filepath.Join(w.dir, "work"), Headless: true, Prompt: "go"}}); o.State != "done" {
		t.Fatalf("spawn: %+v\n%s", o, w.said)
	}
	read := func() string { got, _ := os.ReadFile(told); return string(got) }
	comes(t, w.said.String, func() bool { return read() != "" })
	if got := read(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("the agent was told: %s", got)
	}
	if w.refusals("POST /agents/builder/terminal/take") != was+1 {
		t.Error("it is not written down")
	}
	if status, _, out := b.asks(http.MethodPost, "/agents/builder/terminal/take", oneView); status != http.StatusOK {
		t.Errorf("a person by the same cookie: %d %s", status, out)
	}
	b.asks(http.MethodPost, "/leave", nil)
}

// typesNoMore: who types is told when it was ended, and gets the offer to begin anew.
func typesNoMore(t *testing.T, w *browsed) {
	c := w.person(t)
	w.looksAt(c, "builder")
	comes(t, c.Text, func() bool { return !c.Shows("#typing", "") })
	takesOver(c)
	if said, code := w.says("freeze", "for the test"); code != 0 {
		t.Fatal(said)
	}
	c.Awaits("#keyboard [role=status]", "It has ended")
	c.Clicks("#keyboard button")
	c.Awaits("#keyboard [role=status]", "frozen: ")
	w.says("thaw")
	takesOver(c)
	c.Clicks("#keyboard > button")
	c.Awaits("#keyboard", "Type here yourself")
	comes(t, c.Text, func() bool { return !c.Shows("#typing", "") })
}

// typesToOneThatDies: the page says that it has ended, and nobody types there any more.
func typesToOneThatDies(t *testing.T, w *browsed) {
	w.spawnKeys("mortal")
	c := w.person(t)
	w.looksAt(c, "mortal")
	takesOver(c)
	c.Does(chromedp.KeyEvent("abc"))
	c.Awaits("#terminal", "ready> abc")
	if err := syscall.Kill(w.pidOf("mortal"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Awaits("#state-title", "crashed")
	comes(t, c.Text, func() bool { return !c.Shows("#keys", "") })
	if status := asksOf(c, "/agents/mortal/terminal/take"); status != http.StatusConflict {
		t.Errorf("one that has ended is taken over: %d", status)
	}
	c.Picture("terminal-died")
}

// typesToNobody: of a daemon that was killed the page says so; when it is back the terminal
// is followed again, what was typed meanwhile is not typed, and it is taken over anew.
func typesToNobody(t *testing.T, w *browsed) {
	c := w.person(t)
	w.looksAt(c, "builder")
	takesOver(c)
	c.Does(chromedp.KeyEvent("before"))
	c.Awaits("#terminal", "before")
	w.kill()
	c.Awaits("#terminal-at", "not followed now")
	c.Does(chromedp.KeyEvent("lost"))
	c.Awaits("#keyboard [role=status]", "not reached")
	w.start()
	c.Awaits("#terminal-at", "As it is now.")
	takesOver(c)
	c.Does(chromedp.KeyEvent("after"))
	c.Awaits("#terminal", "beforeafter")
	w.kill()
	c.Awaits("#terminal-at", "not followed now")
	w.start()
	c.Awaits("#keyboard", "Type here yourself") // nobody types by a daemon that knows nothing of it
	c.Awaits("#keyboard [role=status]", "Custos was away")
	if said, _ := w.says("ps"); strings.Contains(said, "types there by the page") {
		t.Errorf("ps says\n%s", said)
	}
	said, _ := w.says("feed", "-n", "400", "--json")
	if n := strings.Count(said, "the keyboard was given back, for Custos had ended"); n != 2 {
		t.Errorf("two daemons were killed while somebody typed, and %d ends are written down:\n%s", n, said)
	}
}
