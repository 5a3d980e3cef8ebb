package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"custos/internal/api"
	"custos/internal/web/chromiumtest"
)

// screens are what programs show, by what they are: as coding agents do, as large as a
// terminal may be, on the alternate screen as a monitor does, and with characters of two
// cells, of none, of another direction, and that few fonts have. Each line that ends with │
// ends in the same cell as the others of its screen do.
func screens() map[string]string {
	var big, monitor, strange strings.Builder
	for row := range 1000 {
		fmt.Fprintf(&big, "\x1b[38;5;%dm%04d %s│\x1b[0m\n", row%256, row, strings.Repeat("0123456789abcdef ", 24)[:394])
	}
	for row := range 8 {
		fmt.Fprintf(&monitor, "  \x1b[36m%d\x1b[39m\x1b[1m[\x1b[32m%-30s\x1b[31m|||||\x1b[90m%7.1f%%\x1b[39m]\x1b[0m\n", row, strings.Repeat("|", 4*row), 12.3*float64(row))
	}
	monitor.WriteString("\x1b[30;42m    PID USER       PRI  NI  VIRT   RES  CPU% MEM%   TIME+  Command                  \x1b[0m\n")
	for row := range 14 {
		look := ""
		if row == 2 {
			look = "\x1b[30;46m"
		}
		fmt.Fprintf(&monitor, "%s %6d \x1b[90mroot\x1b[39m        20   0 \x1b[36m1\x1b[39m%03dM  %3dM  \x1b[32m%4.1f\x1b[39m  0.%d   0:0%d.10 \x1b[1;32m/usr/bin/agent\x1b[0m --number %d\x1b[0m\n", look, 1000+row, row*37%1000, row*13, float64(row)*1.7, row%10, row%10, row)
	}
	for _, text := range []string{"plain", "日本語テキスト 漢字", "한국어 조선말", "😀🚀 emoji", "● ✻ ⎿ ⏵⏵ ☐ ☑ → ⚠ ✔ ◆", "שלום עולם hebrew", "مرحبا بالعالم arab", "ne\u0301e nai\u0308ve a\u0338", "हिन्दी", "Ελληνικά, по-русски", "– — “quoted” … •", "\x1b[1m太字\x1b[0m \x1b[3m斜体\x1b[0m \x1b[4m下線\x1b[0m"} {
		strange.WriteString(text + strings.Repeat(" ", 24-ansi.StringWidthWc(text)) + "│\n")
	}
	monitor.WriteString("\x1b[37;44mF1\x1b[30;46mHelp  \x1b[37;44mF2\x1b[30;46mSetup \x1b[37;44mF10\x1b[30;46mQuit\x1b[0m")
	return map[string]string{
		"agent": "\x1b[38;5;174m●\x1b[39m I look at \x1b[1mmain.go\x1b[0m and mend it.\n\n\x1b[32m●\x1b[39m \x1b[1mBash\x1b[0m(go test ./...)\n  ⎿  \x1b[31mFAIL\x1b[39m custos/x \x1b[2m0.3s\x1b[0m\n     \x1b[48;5;52m- was wrong\x1b[0m\n     \x1b[48;5;22m+ is right\x1b[0m\n\n" +
			"\x1b[2m╭" + strings.Repeat("─", 78) + "╮\x1b[0m\n\x1b[2m│\x1b[0m > \x1b[7mt\x1b[27mell it" + strings.Repeat(" ", 69) + "\x1b[2m│\x1b[0m\n\x1b[2m╰" + strings.Repeat("─", 78) + "╯\x1b[0m\n  \x1b[38;2;255;135;0m⏵⏵ accept edits on\x1b[39m (shift+tab to cycle)",
		"large":   big.String(),
		"monitor": monitor.String(),
		"strange": strange.String(),
	}
}

// raggedLines are the lines of the terminal whose last │ is not below that of the others.
const raggedLines = `(() => {
  const found = [];
  let want = null;
  for (const line of document.querySelectorAll("#terminal > span")) {
    const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let last = null;
    for (let n = walk.nextNode(); n; n = walk.nextNode()) { if (n.data.includes("│")) { last = n; } }
    if (!last) { continue; }
    const r = document.createRange();
    r.setStart(last, last.data.lastIndexOf("│"));
    r.setEnd(last, last.data.lastIndexOf("│") + 1);
    const at = r.getBoundingClientRect().left;
    if (want === null) { want = at; }
    if (Math.abs(at - want) > 1.5) { found.push(line.textContent.trim() + " is off by " + (at - want).toFixed(1)); }
  }
  return found.join("\n");
})()`

// box is how the terminal lies on the page.
type box struct {
	Wide, High, Inner, Page, Follows bool
}

// It is looked at as it is drawn: what follows a change of size does so with the next frame.
const boxed = `new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() => {
  const p = document.getElementById("terminal"), r = p.getBoundingClientRect();
  return {Wide: p.scrollWidth > p.clientWidth + 1, High: p.scrollHeight > p.clientHeight + 1, Inner: r.height <= innerHeight,
    Page: document.documentElement.scrollWidth <= document.documentElement.clientWidth, Follows: p.scrollHeight - p.clientHeight - p.scrollTop < 4};
})`

// Whatever a terminal shows, and while a person types there, the page fits the screen: the
// terminal scrolls within itself and is no higher than the screen, its columns stand below
// each other, and everybody can use it, light and dark, on a phone and at a desk.
func TestATerminalFitsThePageInARealBrowser(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	axe, err := chromiumtest.Axe()
	if err != nil {
		t.Fatal(err)
	}
	w := newScreened(t, "nothing yet")
	w.answers["GET /v1/agents/builder"] = api.AgentDetail{Agent: api.AgentRow{Name: "builder", Kind: "claude", State: "working", Since: "3m", Reason: "its title shows a spinner", Source: "title", Owner: "custos", Project: "shop", Pane: "builder:0.0"}}
	s, c := serveWorld(t, w.world), b.Tab(t)
	s.enters(c)
	c.Audited()
	for name, text := range screens() {
		w.shows("nothing yet")
		c.Goes(s.base + "/agents/builder")
		c.Awaits("#terminal", "nothing yet")
		w.shows(text + "\n\x1b[0mend of " + name)
		c.Awaits("#terminal", "end of "+name)
		for _, taken := range []bool{false, true} {
			if taken {
				c.Clicks("#keyboard button")
				c.Awaits("#typing", "types here by hand")
			}
			for _, size := range [][2]int64{{1440, 900}, {390, 844}} {
				c.Resize(size[0], size[1])
				what := fmt.Sprintf("%s, %d wide, taken over %v", name, size[0], taken)
				is := chromiumtest.Evaluate[box](c, boxed)
				if !is.Page || !is.Inner || !is.Follows || name == "large" && (!is.Wide || !is.High) {
					t.Errorf("%s: %+v\n%s", what, is, c.Overflow(size[0]))
				}
				if off := chromiumtest.Evaluate[string](c, raggedLines); off != "" {
					t.Errorf("%s:\n%s", what, off)
				}
				for _, dark := range []bool{false, true} {
					c.Dark(dark)
					c.Picture(fmt.Sprintf("terminal-%s-%d-%v-%v", name, size[0], taken, dark))
					if axe == "" || name == "large" || size[0] != 390 && dark { // of colours a phone tells all
						continue
					}
					if found, kept := c.Faults(axe); found != "" || !slices.Contains(kept, "color-contrast") {
						t.Errorf("%s, dark %v; it keeps %q and breaks\n%s", what, dark, kept, found)
					}
				}
			}
		}
		c.Clicks("#keyboard > button")
		c.Awaits("#keyboard", "Type here yourself")
	}
	if axe == "" {
		t.Skip("what keeps people from using a page was not looked for: CUSTOS_AXE=$(scripts/axe)")
	}
}

// Of two windows of one browser one types: the other is told so and may take over from it, and
// then the first one is told that, without a key. Who leaves gives the keyboard back.
func TestOneWindowTypesInARealBrowser(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	w := newScreened(t, "hello")
	s, one := serveWorld(t, w.world), b.Tab(t)
	s.enters(one)
	two := one.Beside()
	for _, c := range []*chromiumtest.Tab{one, two} {
		c.Goes(s.base + "/agents/builder")
		c.Awaits("#terminal-at", "As it is now.")
	}
	one.Clicks("#keyboard button")
	one.Awaits("#keys", "")
	two.Awaits("#typing", "ann types here by hand since")
	two.Clicks("#keyboard button")
	two.Awaits("#keyboard [role=status]", "you type there in another window of this browser since")
	if !one.Shows("#keys", "") {
		t.Error("the first one was ended by a question")
	}
	two.Clicks("#keyboard [role=status] + button")
	two.Awaits("#keys", "")
	one.Awaits("#keyboard [role=status]", "Another window of this browser has taken over")
	if one.Shows("#keys", "") || !two.Shows("#typing", "ann types here by hand since") {
		t.Error("both type, or nobody does")
	}
	two.Goes(s.base + "/alerts")
	for begun := time.Now(); w.Terminals.Typing("builder") != ""; <-time.After(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("who has left types there still")
		}
	}
}

// A terminal on which nothing happens is followed all the same: that nothing is new is told,
// and only silence is doubted.
func TestAQuietTerminalIsFollowedInARealBrowser(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	w := newScreened(t, "as ever")
	s, c := serveWorld(t, w.world), b.Tab(t)
	s.enters(c)
	c.Goes(s.base + "/agents/builder")
	c.Awaits("#terminal-at", "As it is now.")
	chromiumtest.Evaluate[int](c, `(() => { const now = Date.now; Date.now = () => now() + 20000; return 0; })()`)
	c.Awaits("#terminal-at", "may be old")
	c.Awaits("#terminal-at", "As it is now.")
}

// A terminal that the page does not show any more, as of an agent that was stopped, is not
// followed: nothing is drawn into what is gone, and no screen is looked at for it.
func TestATerminalThatIsGoneIsLeftInARealBrowser(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	w := newScreened(t, "hello")
	s, c := serveWorld(t, w.world), b.Tab(t)
	s.enters(c)
	c.Goes(s.base + "/agents/builder")
	c.Awaits("#terminal-at", "As it is now.")
	chromiumtest.Evaluate[int](c, `(() => { document.getElementById("screen").remove(); return 0; })()`)
	for n, begun, seen := 0, time.Now(), -1; ; n++ {
		w.shows(fmt.Sprint("line ", n))
		<-time.After(100 * time.Millisecond)
		w.mu.Lock()
		shots := w.shots
		w.mu.Unlock()
		if shots == seen {
			break
		}
		if seen = shots; time.Since(begun) > 10*time.Second {
			t.Fatal("the screen is looked at still")
		}
	}
	if said := c.Complaints(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
}
