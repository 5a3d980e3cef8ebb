package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/agent"
	"custos/internal/session"
)

func kinds(t testing.TB) *agent.Kinds {
	t.Helper()
	k, err := agent.Parse(agent.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func one(title string) []session.Glimpse { return []session.Glimpse{{Pane: "%1", Title: title}} }

func TestTitlesThatMeanSomethingElse(t *testing.T) {
	for _, c := range []struct {
		from, to, want string // "": nothing is told
	}{
		{"vm", "✳ Claude Code", "pane %1 now shows claude idle, qwen waiting"},
		{"✳ Claude Code", "⠂ Claude Code", "pane %1 now shows claude working, codex working"},
		{"⠂ Claude Code", "⠐ Claude Code", ""},
		{"⠂ Claude Code", "⠐ Fix the flaky test", ""},
		{"⠂ Fix the flaky test", "✳ Fix the flaky test", "pane %1 now shows claude idle, qwen waiting"},
		{"✳ Fix it", "✳ Fix it all", ""},
		{"⠼ p-codex", "⠦ p-codex", ""},
		{"⠦ p-codex", "[ . ] Action Required | p-codex", "pane %1 now shows codex waiting"},
		{"[ . ] Action Required | p-codex", "[ ! ] Action Required | p-codex", ""},
		{"⠦ p-codex", "p-codex", "pane %1 now shows nothing"},
		{"◇  Ready (p-gem)   ", "✦  Working… (p-gem)   ", "pane %1 now shows gemini working"},
		{"✦  Working… (p-gem)", "✋  Action Required (p-gem)", "pane %1 now shows codex waiting, gemini waiting"},
		{"OC | one", "OC | two", ""},
	} {
		l := newLooks(kinds(t))
		l.news(one(c.from), 0)
		if got := l.news(one(c.to), 0); got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// title finds the title in the note beside each recorded screen.
var title = regexp.MustCompile(`^title=(.*?) +cmd=`)

// Every recorded title: its spinner turned is no news, and it means what the kind
// that it was recorded of reads in it.
func TestRecordedTitles(t *testing.T) {
	notes, err := filepath.Glob("../../agent/testdata/panes/*.meta")
	if err != nil || len(notes) == 0 {
		t.Skip("no recorded titles here")
	}
	all := kinds(t)
	for _, note := range notes {
		b, err := os.ReadFile(note)
		if err != nil {
			t.Fatal(err)
		}
		m := title.FindStringSubmatch(string(b))
		if m == nil || m[1] == "" {
			continue
		}
		name, _, _ := strings.Cut(filepath.Base(note), "-")
		k, _ := all.Get(name)
		l := newLooks(all)
		why := l.news(one(m[1]), 0)
		k.SilentTitle = ""
		for _, s := range agent.ReadScreen(k, "", m[1]) {
			if !strings.Contains(why, name+" "+string(s.Hint)) {
				t.Errorf("%s: %q is %q, want %s", note, m[1], why, s.Hint)
			}
		}
		first := []rune(m[1])[0]
		if first < 0x2800 || first > 0x28ff {
			continue
		}
		for r := rune(0x2801); r <= 0x28ff; r++ {
			if why := l.news(one(string(r)+string([]rune(m[1])[1:])), 0); why != "" {
				t.Fatalf("%s: turned to %c: %q", note, r, why)
			}
		}
	}
}

func TestDeathIsNews(t *testing.T) {
	l := newLooks(kinds(t))
	l.news(one("⠂ x"), 0)
	if why := l.news([]session.Glimpse{{Pane: "%1", Title: "⠂ x", Dead: true}}, 0); why != "pane %1 now shows dead" {
		t.Errorf("a death is %q", why)
	}
	if why := l.news(nil, 0); why != "" {
		t.Errorf("panes that went are %q: sessions are told of by others", why)
	}
	if len(l.panes) != 0 {
		t.Errorf("%d panes are remembered that are gone", len(l.panes))
	}
}

// A window that begins to be written to, which is looked at twice, and one that is at rest
// again, show something new, whatever their titles say: the next dialog after an answer, a menu
// whose name a person has typed. What is drawn all the time by one that is at work is no news.
func TestAWindowThatCameToRestIsNews(t *testing.T) {
	const writes, rests = "pane %1 is written to", "pane %1 was written to, and is at rest"
	l := newLooks(kinds(t))
	for i, c := range []struct {
		wrote, clock int64
		dead         bool
		want         string
	}{
		{100, 105, false, ""}, {100, 106, false, ""}, // at rest from the beginning
		{107, 107, false, writes}, {107, 108, false, writes}, {107, 109, false, rests}, {107, 110, false, ""}, // once
		{111, 111, false, writes}, {111, 111, false, writes}, {112, 112, false, ""}, {112, 113, false, ""}, {113, 113, false, ""}, // a spinner, looked at often
		{113, 115, false, rests}, {0, 116, false, ""}, {0, 119, false, ""}, {116, 119, false, ""}, // not told
		{117, 119, false, rests}, {120, 120, false, writes}, {121, 121, true, "pane %1 now shows dead"}, {121, 125, true, ""},
	} {
		got := l.news([]session.Glimpse{{Pane: "%1", Title: "vm", Wrote: c.wrote, Dead: c.dead}}, c.clock)
		if got != c.want {
			t.Errorf("glimpse %d, written to at %d: %q, want %q", i, c.wrote, got, c.want)
		}
	}
}

// Something is told exactly when something means something else than at the
// glimpse before; the same glimpse twice is never news.
func TestNewsIsChange(t *testing.T) {
	k := kinds(t)
	rapid.Check(t, func(t *rapid.T) {
		l := newLooks(k)
		was := map[string]string{}
		draw := func(i int) session.Glimpse {
			return session.Glimpse{Pane: fmt.Sprint("%", i), Dead: rapid.IntRange(0, 9).Draw(t, "dead") == 0,
				Title: rapid.SampledFrom([]string{"", "vm", "⠂ a", "⠐ b", "✳ a", "Action Required", "✦  x", "◇  x"}).Draw(t, "title")}
		}
		for range rapid.IntRange(1, 20).Draw(t, "glimpses") {
			var all []session.Glimpse
			now, news := map[string]string{}, false
			for i := range rapid.IntRange(0, 5).Draw(t, "panes") {
				g := draw(i)
				all = append(all, g)
				now[g.Pane] = meaning(l.kinds, g.Title)
				if g.Dead {
					now[g.Pane] = "dead"
				}
				news = news || now[g.Pane] != was[g.Pane]
			}
			if why := l.news(all, 0); (why != "") != news {
				t.Fatalf("%+v after %v is %q, want news: %v", all, was, why, news)
			}
			if why := l.news(slices.Clone(all), 0); why != "" {
				t.Fatalf("the same again is %q", why)
			}
			was = now
		}
	})
}

// Turning spinners cost next to nothing.
func BenchmarkSpinners200(b *testing.B) {
	l := newLooks(kinds(b))
	frames := make([][]session.Glimpse, 8)
	for f := range frames {
		for i := range 200 {
			frames[f] = append(frames[f], session.Glimpse{Pane: fmt.Sprint("%", i), Title: string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧")[(f+i)%8]) + " Fixing the flaky test"})
		}
	}
	l.news(frames[0], 0)
	for i := 0; b.Loop(); i++ {
		if why := l.news(frames[i%8], 0); why != "" {
			b.Fatal(why)
		}
	}
}

// What is remembered of titles has an end.
func TestTitlesAreForgotten(t *testing.T) {
	l := newLooks(kinds(t))
	for i := range 3 * readMost / 2 {
		l.news(one(fmt.Sprint("⠂ ", i)), 0)
	}
	if len(l.read) > readMost || l.news(one("✳ x"), 0) == "" {
		t.Errorf("%d titles are remembered", len(l.read))
	}
}
