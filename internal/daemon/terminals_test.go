package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/session/sessiontest"
	"custos/internal/terminal"
)

// oneView is what a page sends that takes over a keyboard.
var oneView = url.Values{"view": {strings.Repeat("1", 32)}}

// watched is a terminal as a browser shows it, by the frames that it was told.
type watched struct {
	mu     sync.Mutex
	lines  []terminal.Line
	gone   string
	typing string
}

// watches opens the stream of a terminal.
func (b *browser) watches(name string) *watched {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+"/agents/"+name+"/terminal", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("the stream of %s is answered with %d", name, resp.StatusCode)
	}
	b.t.Cleanup(func() { resp.Body.Close() })
	w := &watched{}
	go func() {
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 1<<20)
		kind := ""
		for in.Scan() {
			if event, ok := strings.CutPrefix(in.Text(), "event: "); ok {
				kind = event
			}
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				w.take(kind, data)
			}
		}
	}()
	return w
}

func (w *watched) take(kind, data string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch kind {
	case "frame":
		var c struct {
			Whole bool
			terminal.Change
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			w.gone = err.Error()
			return
		}
		if c.Whole {
			w.lines = nil
		}
		w.lines, w.gone = terminal.Apply(c.Change, w.lines), ""
	case "gone":
		w.gone = data
	case "typing":
		w.typing = data
	}
}

func (w *watched) shows() (text, gone, typing string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, l := range w.lines {
		out = append(out, l.Text())
	}
	return strings.Join(out, "\n"), w.gone, w.typing
}

// awaits waits until a text is shown.
func (w *watched) awaits(t *testing.T, want string) {
	t.Helper()
	await(t, func() string { return fmt.Sprint(w.shows()) }, func() bool { text, _, _ := w.shows(); return strings.Contains(text, want) })
}

// Two browsers watch an agent that a person is attached to as well: nobody is resized. One of
// them takes over: what is typed is shown in a moment, everybody is told who types, and it is
// written down that it was, and not what.
func TestTwoWatchATerminalAndOneTypes(t *testing.T) {
	w := newTown(t, quickTown)
	w.spawn("builder", "reply hello", false)
	w.awaitState("builder", "idle")
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, "http://"+u.Host)
	b.enters(address)
	size := func() string {
		return w.tmux("list-panes", "-a", "-f", "#{!=:#{session_name},~custos}", "-F", "#{window_width}x#{window_height} #{session_attached}")
	}
	outer := sessiontest.NewTmux(t) // a person, on a terminal of a size of its own
	outer.New(t, "outer", "sh", "-c", "unset TMUX; exec tmux -S "+filepath.Join(w.cfg.RuntimeDir, "tmux.sock")+" attach")
	await(t, size, func() bool { return strings.HasPrefix(size(), "120x39 1") })
	one, two := b.watches("builder"), b.watches("builder")
	one.awaits(t, "for shortcuts")
	two.awaits(t, "for shortcuts")
	if now := size(); now != "120x39 1" {
		t.Errorf("it is %s now", now)
	}

	status, _, out := b.asks(http.MethodPost, "/agents/builder/terminal/take", oneView)
	var held struct{ Hold string }
	if err := json.Unmarshal([]byte(out), &held); err != nil || status != http.StatusOK {
		t.Fatalf("take over: %d %s, %v", status, out, err)
	}
	await(t, func() string { return fmt.Sprint(two.shows()) }, func() bool { _, _, typing := two.shows(); return strings.Contains(typing, `"by"`) })
	if said, _ := w.says("ps"); !strings.Contains(said, "types there by the page") {
		t.Errorf("ps says\n%s", said)
	}
	var took []time.Duration
	sent := ""
	for i := range 40 {
		key := string(rune('a' + i%26))
		sent += key
		began := time.Now()
		if status, _, out := b.asks(http.MethodPost, "/agents/builder/terminal/keys", url.Values{"hold": {held.Hold}, "turn": {fmt.Sprint(i + 1)}, "keys": {`[{"text":"` + key + `"}]`}}); status != http.StatusOK {
			t.Fatalf("key %d: %d %s", i, status, out)
		}
		two.awaits(t, sent)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("a key is shown after %s, 95 of 100 after %s, at most %s", took[20], took[37], took[39])
	if took[37] > time.Second {
		t.Errorf("95 of 100 keys are shown after %s", took[37])
	}
	b.asks(http.MethodPost, "/agents/builder/terminal/release", url.Values{"hold": {held.Hold}})
	said, _ := w.says("feed")
	if !strings.Contains(said, "typed 40 keys to agent builder") || strings.Contains(said, "abcdef") {
		t.Errorf("written down is %s", said)
	}

	if said, code := w.says("freeze", "for the test"); code != 0 {
		t.Fatal(said)
	}
	if status, _, out := b.asks(http.MethodPost, "/agents/builder/terminal/take", oneView); status != http.StatusConflict || !strings.Contains(out, "frozen") {
		t.Errorf("while frozen: %d %s", status, out)
	}
	w.says("thaw")
	w.tmux("kill-session", "-t", strings.Split(w.tmux("list-sessions", "-f", "#{!=:#{session_name},~custos}", "-F", "#{session_name}"), "\n")[0])
	await(t, func() string { return fmt.Sprint(one.shows()) }, func() bool { _, gone, _ := one.shows(); return gone != "" })
}
