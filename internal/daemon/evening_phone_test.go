package daemon_test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/terminal"
	"custos/internal/web/chromiumtest"
)

// evening is a stranger's first one: setup, a daemon, two agents, one of which waits for a
// permission, and the page on a phone.
func (s *student) evening() {
	s.Helper()
	s.must(`mkdir shop; git -C shop init --quiet --initial-branch main; git -C shop -c user.name=you -c user.email=you@example.org commit --quiet --allow-empty --message start; custos setup --yes
printf "context 34\ndialog date > prices.md\n" > .fakeagent/builder.script`)
	s.up()
	s.must(`custos spawn builder --kind claude --worktree --repo "$HOME/shop"; custos spawn tester --kind claude --dir "$HOME/shop"
custos wait builder --for idle --timeout 1m; custos wait tester --for idle --timeout 1m
custos nudge builder "Write the price list"; custos wait builder --for waiting --timeout 1m`)
}

// opens opens the page as a person does, by the address that custos web prints.
func (s *student) opens(b *chromiumtest.Browser) *chromiumtest.Tab {
	s.Helper()
	out, err := s.sh(s.Context(), "custos web")
	address, _, _ := strings.Cut(out, "\n")
	if err != nil {
		s.Fatalf("web: %v: %s", err, out)
	}
	c := b.Tab(s.T)
	c.Goes(address)
	c.Awaits("h1", "What needs you")
	return c
}

// TestFirstEveningByPhone is the path of scripts/first-evening after its build, with the
// question answered on a page of 390 by 844 pixels: in under ten minutes.
func TestFirstEveningByPhone(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	s := newStudent(t)
	began := time.Now()
	s.evening()
	c := s.opens(b)
	c.Resize(390, 844)
	c.Clicks(`#needs a.button[href="/agents/builder"]`)
	c.Awaits("#dialog-title", "It asks")
	if bottom := chromiumtest.Evaluate[int64](c, `Math.round(document.querySelector('#dialog button[value="yes"]').getBoundingClientRect().bottom + scrollY)`); bottom > 844 {
		t.Errorf("to answer takes scrolling: the button ends at %d", bottom)
	}
	c.Clicks(`#dialog button[value="yes"]`)
	c.Awaits("#outcome", "answer: done")
	s.must(`custos wait builder --for idle --timeout 1m`)
	if took := time.Since(began); took > 10*time.Minute {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("from setup to the answer: %v", took.Round(100*time.Millisecond))
	}
	if said := c.Complaints(); said != "" {
		t.Errorf("the browser complains of\n%s", said)
	}
}

// TestPictures makes the pictures of README.md, in the folder that CUSTOS_SHOTS names:
// scripts/pictures does it.
func TestPictures(t *testing.T) {
	if os.Getenv("CUSTOS_PICTURES") == "" {
		t.Skip("scripts/pictures makes the pictures of README.md")
	}
	b := chromiumtest.Start(t, chromiumtest.Options{})
	s := newStudent(t)
	s.calm()
	s.evening()
	s.must(`printf "context 12\nwork 10m\n" > .fakeagent/docs.script
custos spawn docs --kind claude --dir "$HOME/shop" --prompt "Describe the shop"; custos wait docs --for working --timeout 1m
tmux -f /dev/null new-session -d -x 100 -y 24 "custos top"`)
	s.shows("1 needs you", "1 working", "12%", "34%", "Do you want to proceed?")
	text, err := s.sh(t.Context(), "tmux capture-pane -e -p")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "top.html")
	if err := os.WriteFile(file, []byte(screenPage(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := b.Tab(t)
	c.Resize(867, 417)
	c.Goes("file://" + file)
	c.Screen("top")
	c = s.opens(b)
	c.Resize(1100, 640)
	c.Awaits("#needs", "builder")
	c.Screen("page")
	c.Resize(390, 844)
	c.Clicks(`#needs a.button[href="/agents/builder"]`)
	c.Awaits("#dialog-title", "It asks")
	c.Screen("phone")
}

// TestThePicturesOfTheReadme: each is there, and small.
func TestThePicturesOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"top", "page", "phone"} {
		file := "docs/pictures/" + name + ".png"
		if !strings.Contains(string(text), `src="`+file+`"`) {
			t.Errorf("README.md does not show %s", file)
		}
		if info, err := os.Stat("../../" + file); err != nil || info.Size() == 0 || info.Size() > 100_000 {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
}

// screenPage is a page that shows what a terminal shows, in its colours.
func screenPage(text string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "<!doctype html><meta charset=utf-8><style>%s body{margin:0} pre{margin:0;padding:12px;font:14px/1.17 'DejaVu Sans Mono',monospace}</style><pre class=\"terminal\">", terminal.Sheet())
	for _, line := range terminal.Read(text) {
		for _, span := range line {
			fmt.Fprintf(&out, "<span class=%q>%s</span>", span[1], html.EscapeString(span[0]))
		}
		out.WriteString("\n")
	}
	return out.String() + "</pre>"
}
