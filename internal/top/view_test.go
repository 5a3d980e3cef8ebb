package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"custos/internal/api"
)

var update = flag.Bool("update", false, "rewrite the screens of testdata")

// The screens, as a terminal of each size shows them: what is chosen stands behind a >.
func TestScreens(t *testing.T) {
	frozen := small()
	frozen.Frozen, frozen.Seen = "ada: because", []api.PartSeen{{Part: "agents", Status: "stale", Why: "the probe is late"}}
	for name, m := range map[string]Model{
		"home-80x24":    at(80, 24, small()),
		"home-120x40":   at(120, 40, small()),
		"home-20x5":     at(20, 5, small()),
		"agents-80x24":  after(at(80, 24, small()), typed("tab", "down")...),
		"nothing-80x24": at(80, 24, api.FirstLook{At: noon, From: api.From{Host: "box"}, Mode: "observe", Seen: []api.PartSeen{{Part: "agents", Status: "ok"}}}),
		"frozen-80x24":  at(80, 24, frozen),
		"old-80x24":     after(at(80, 24, small()), lookMsg{err: &api.Error{Kind: api.Unreachable, Message: "the daemon is gone"}}, tickMsg(noon.Add(12*time.Second))),
		"first-80x24":   New(Options{Words: words()}),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, m) })
	}
}

func golden(t *testing.T, name string, m Model) {
	t.Helper()
	got := ansi.Strip(m.View().Content) + "\n"
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(go test ./internal/top -run TestScreens -update)\n%s", d)
	}
	fits(t, m)
}

// fits says where a screen is not just as large as the terminal.
func fits(t interface{ Fatalf(string, ...any) }, m Model) {
	all := strings.Split(m.frame(), "\n")
	if len(all) != m.height {
		t.Fatalf("%d lines, want %d:\n%s", len(all), m.height, m.frame())
	}
	for _, l := range all {
		if w := wide(l); w > m.width {
			t.Fatalf("%d cells, want %d at most: %q", w, m.width, l)
		}
	}
}

// Without colours there are none: only what is strong, and what is chosen is turned round.
func TestNoColour(t *testing.T) {
	for _, colour := range []bool{false, true} {
		m := at(80, 24, small())
		m.o.Colour = colour
		text := strings.NewReplacer("\x1b[1m", "", "\x1b[7m", "", "\x1b[0m", "").Replace(m.frame())
		if got := strings.Contains(text, "\x1b"); got != colour {
			t.Errorf("colours wanted: %v, and there are some: %v", colour, got)
		}
	}
}

// How long something lasts counts on by itself, by the clock of who looks: that the clock
// over there goes wrong does not matter.
func TestDwellCountsOn(t *testing.T) {
	l := small()
	l.At = l.At.Add(time.Hour) // over there it is later
	for i := range l.NeedsYou {
		l.NeedsYou[i].Since = l.NeedsYou[i].Since.Add(time.Hour)
	}
	m := after(at(120, 30, l), tickMsg(noon.Add(5*time.Second)))
	for _, want := range []string{"18s agent builder", "waiting 18s"} {
		if !strings.Contains(strings.Join(strings.Fields(ansi.Strip(m.frame())), " "), want) {
			t.Errorf("%q is not in\n%s", want, ansi.Strip(m.frame()))
		}
	}
}

// What is chosen stays chosen, wherever the next look has it.
func TestChosenStays(t *testing.T) {
	m := after(at(80, 24, small()), typed("down", "down", "down", "down")...)
	if m.row().agent != "docs" {
		t.Fatalf("chosen is %+v", m.row())
	}
	l := small()
	l.NeedsYou = l.NeedsYou[1:]
	l.Agents[0], l.Agents[3] = l.Agents[3], l.Agents[0]
	again := lookMsg{v: glance{l, api.Status{Daemon: true}}, at: noon.Add(time.Second)}
	if m = after(m, again); m.row().agent != "docs" {
		t.Errorf("after the next look it is %+v", m.row())
	}
}

// A question is put once until it is answered, and not before its answer's time came ten
// times over.
func TestAsksWithEase(t *testing.T) {
	asks := func(m Model, at time.Duration) bool {
		next, _ := m.Update(tickMsg(noon.Add(at)))
		return next.(Model).look.asked != m.look.asked
	}
	m := after(New(Options{Words: words()}), tickMsg(noon))
	if !m.look.asking || asks(m, time.Minute) {
		t.Error("it is not asked just once")
	}
	slow := looked(small()).(lookMsg)
	slow.took = 400 * time.Millisecond
	m = after(m, slow)
	if asks(m, 3*time.Second) || !asks(m, 4*time.Second) {
		t.Error("a look that takes 0.4 s is not asked for each 4 s")
	}
	if quick := after(m, looked(small())); asks(quick, 999*time.Millisecond) || !asks(quick, time.Second) {
		t.Error("a quick one is not asked for each second")
	}
}

// A storm of sizes leaves the last.
func TestSizes(t *testing.T) {
	m := at(80, 24, small())
	for w := 200; w >= 0; w -= 7 {
		for _, h := range []int{0, 1, 2, 5, 9, 60} {
			m = after(m, tea.WindowSizeMsg{Width: w, Height: h})
			fits(t, m)
		}
	}
}

// Who hangs is said to, with how old what is shown is; it is right again within two seconds
// of answering.
func TestComesBack(t *testing.T) {
	playing(t, func(p *play) {
		for _, live := range []bool{false, true} {
			p.tell(changeMsg{p.m.now, live})
			p.hang(true)
			p.wait(25 * time.Second)
			p.wants("what is shown is", "context deadline exceeded", "builder")
			p.hang(false)
			p.wait(patience + 2*time.Second) // the question that hangs is over first
			if text := p.m.frame(); strings.Contains(text, "what is shown") || strings.Contains(text, "deadline") {
				t.Errorf("changes are told: %v, and it has not come back:\n%s", live, text)
			}
		}
	})
}

// Where changes are told, what has changed is asked for at once, and else each five seconds.
func TestChangesAreAskedFor(t *testing.T) {
	playing(t, func(p *play) {
		p.tell(changeMsg{p.m.now, true})
		p.wait(time.Second)
		before := p.c.count("GET /v1/look")
		p.wait(10 * time.Second)
		if n := p.c.count("GET /v1/look") - before; n != 2 {
			t.Errorf("with nothing new it is asked %d times in 10 s", n)
		}
		before = p.c.count("GET /v1/look")
		p.tell(changeMsg{p.m.now.Add(100 * time.Millisecond), true})
		p.wait(200 * time.Millisecond)
		if n := p.c.count("GET /v1/look") - before; n != 1 {
			t.Errorf("of a change it is asked %d times within 0.2 s", n)
		}
	})
}

// The screen of the chosen agent is asked for each second while it is shown and looked at.
func TestScreenIsAskedForWhileLookedAt(t *testing.T) {
	const screen = "GET /v1/agents/builder/screen"
	playing(t, func(p *play) {
		p.choose("builder")
		p.wait(time.Second)
		p.wants("Do you want to proceed?")
		asked := func(d time.Duration) int {
			before := p.c.count(screen)
			p.wait(d)
			return p.c.count(screen) - before
		}
		if n := asked(10 * time.Second); n < 9 || n > 11 {
			t.Errorf("it is asked for %d times in 10 s", n)
		}
		p.tell(tea.BlurMsg{})
		if n := asked(10 * time.Second); n > 0 {
			t.Errorf("with the terminal left it is asked for %d times", n)
		}
		p.tell(tea.FocusMsg{})
		p.keys("4")
		if n := asked(10 * time.Second); n > 0 {
			t.Errorf("on another pane it is asked for %d times", n)
		}
		p.keys("2")
		p.tell(tea.WindowSizeMsg{Width: 80, Height: 10})
		if n := asked(10 * time.Second); n > 0 {
			t.Errorf("without room for it it is asked for %d times", n)
		}
	})
}

// The panes and the pages show what they are asked for.
func TestPanes(t *testing.T) {
	playing(t, func(p *play) {
		p.keys("3")
		p.wants("ALERTS 1: 1 P2", "#3 P2 lock ~/locks/dev-agent.lock")
		p.keys("4")
		p.wants("FEED 1", "12:00:00 builder tool-end make")
		p.keys("5")
		p.wants("WORK 1", "w1 ready Mend the tests")
		p.keys("tab", "w")
		p.wants("WHY", "it waits", "for a person")
		p.keys("esc", "?")
		p.wants("KEYS", "have done what the alert asks for")
		p.keys("q", "2", "o", "/", "i", "d", "l", "e")
		p.wants("AGENTS 1 of 4: 1 idle by name", "/ idle_")
		p.keys("enter", "down", "esc")
		p.wants("AGENTS 4:")
	})
}

// A click chooses the row, or the pane, that it is at; the wheel goes through what is shown.
func TestMouse(t *testing.T) {
	click := func(m Model, line string) Model {
		for y, l := range strings.Split(ansi.Strip(m.frame()), "\n") {
			if strings.Contains(l, line) {
				return after(m, tea.MouseClickMsg{X: 3, Y: y, Button: tea.MouseLeft})
			}
		}
		t.Fatalf("%q is not on\n%s", line, m.frame())
		return m
	}
	m := at(80, 24, small())
	for _, agent := range []string{"review", "docs", "builder"} {
		if m = click(m, "  "+agent+" "); m.row().agent != agent {
			t.Errorf("a click at %s chooses %+v", agent, m.row())
		}
	}
	chosen := m.row().key
	if m = click(m, "AGENTS 4"); m.row().key != chosen {
		t.Errorf("a click at a title chooses %+v", m.row())
	}
	if m = after(m, tea.MouseClickMsg{X: 2, Y: 23}); m.row().key != chosen {
		t.Errorf("a click below all rows chooses %+v", m.row())
	}
	tabs := ansi.Strip(m.tabs())
	for p := range panes {
		x := len([]rune(tabs[:strings.Index(tabs, tab(p))])) + 2
		if m = after(m, tea.MouseClickMsg{X: x, Y: 1}); m.pane != p {
			t.Errorf("a click at %q shows %s", tab(p), m.pane)
		}
	}
	m = after(at(80, 24, large(100)), tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if m.place() != 1+wheelRows {
		t.Errorf("the wheel goes to %d", m.place())
	}
	if m = after(m, tea.MouseWheelMsg{Button: tea.MouseWheelUp}, tea.MouseWheelMsg{Button: tea.MouseWheelUp}); m.place() != 1 {
		t.Errorf("and back to %d", m.place())
	}
	asked := after(m, press("down"), press("s"))
	if got := after(asked, tea.MouseClickMsg{X: 3, Y: 5}); got.row().key != asked.row().key || got.form == nil {
		t.Error("a click behind a question chooses another row")
	}
}

// What a person has to know is shown whole where there is room for two lines of it, and what all
// agents do is counted where machines are silent, too.
func TestLongTextsAreShownWhole(t *testing.T) {
	const trouble = "cannot read /home/me/.config/custos/custos.toml:8: unknown key \"priorty\" in [rules], did you mean \"priority\"?"
	l := small()
	for i, state := range []string{"rate_limited", "auth_lost", "crashed", "context_high", "starting", "finished"} {
		l.Agents = append(l.Agents, api.AgentRow{Name: fmt.Sprintf("a%d", i), Kind: "claude", State: state, Source: "hook"})
	}
	m := after(at(80, 24, l), hostsMsg{[]api.HostLook{silent(other("box1"))}, 1}, lookMsg{err: &api.Error{Kind: api.BadInput, Message: trouble}})
	said := strings.Join(strings.Fields(ansi.Strip(m.frame())), " ")
	for _, want := range []string{trouble, "1 rate limited", "1 auth lost", "1 crashed", "1 context high", "no answer within 6s"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not on\n%s", want, ansi.Strip(m.frame()))
		}
	}
	for h := range 30 {
		fits(t, after(m, tea.WindowSizeMsg{Width: 21, Height: h}))
	}
}

// What goes on with a key's words stands below them.
func TestHelpGoesOnBelowItsWords(t *testing.T) {
	m := after(at(60, 40, small()), press("?"))
	if got := ansi.Strip(m.frame()); !strings.Contains(got, "\n          ") {
		t.Errorf("%s", got)
	}
}

// Names are shortened only as far as there is no room for them.
func TestNamesAreWholeWhereThereIsRoom(t *testing.T) {
	const agent, lock = "a-name-that-is-as-long-as-names-may-be-here", "lock/a-lock-of-a-long-name-that-waits-for-somebody"
	l := small()
	l.Agents[0].Name, l.NeedsYou[0].Subject = agent, lock
	for width, whole := range map[int]bool{80: false, 200: true} {
		m := at(width, 50, l)
		fits(t, m)
		table := strings.SplitN(ansi.Strip(m.frame()), "── ", 2)[0]
		for _, want := range []string{agent, strings.Replace(lock, "/", " ", 1)} {
			if got := strings.Contains(table, want); got != whole {
				t.Errorf("%d columns: %q is whole: %v\n%s", width, want, got, table)
			}
		}
	}
}
