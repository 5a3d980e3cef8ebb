package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type gitSection struct {
	Repos   []string `toml:"repos"`
	Primary string   `toml:"primary"`
	Hidden  func()   `toml:"-"`
	Sub     struct {
		Deep int `toml:"deep"`
	} `toml:"sub"`
}

type probeSection struct {
	Run   []string `toml:"run"`
	Every string   `toml:"every"`
}

func load(t *testing.T, text string, env ...string) (Config, error) {
	t.Helper()
	vars := map[string]string{"HOME": "/home/me"}
	for i := 0; i < len(env); i += 2 {
		vars[env[i]] = env[i+1]
	}
	return Load(Options{
		Getenv:   func(k string) string { return vars[k] },
		ReadFile: func(string) ([]byte, error) { return []byte(text), nil },
		Sections: []string{"git", "locks", "probe"},
	})
}

func TestDefaultsNeedNoFile(t *testing.T) {
	c, err := Load(Options{
		Getenv: func(k string) string {
			return map[string]string{"HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "relative"}[k]
		},
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.File, c.Found, c.Mode, c.StateDir, c.RuntimeDir, c.JournalDir, c.PatrolEvery, c.Grace, c.Budget, c.Blast, c.FailOn}
	want := []any{"/home/me/.config/custos/custos.toml", false, "observe", "/home/me/.local/state/custos",
		"/home/me/.local/state/custos/run", "/home/me/.local/state/custos/journal",
		20 * time.Minute, 2 * time.Minute, Budget{20, time.Hour}, 10, "never"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := c.Section("git", &gitSection{}); err == nil {
		t.Error("a section nobody declared was read")
	}
}

func TestNoHomeNoNamedFile(t *testing.T) {
	nothing := func(string) string { return "" }
	nobody := func() (string, error) { return "", errors.New("nobody") }
	if _, err := Load(Options{Getenv: nothing, Passwd: nobody}); err == nil || !strings.Contains(err.Error(), "HOME is not set") || !strings.Contains(err.Error(), "set it, like") {
		t.Errorf("without HOME: %v", err)
	}
	c, err := Load(Options{Getenv: nothing, Passwd: func() (string, error) { return "/home/pw", nil }})
	if err != nil || c.Home != "/home/pw" || c.StateDir != "/home/pw/.local/state/custos" {
		t.Errorf("with the home of the password file: %+v, %v", c, err)
	}
	if _, err := Load(Options{Getenv: func(string) string { return "relative" }}); err == nil {
		t.Error("a relative HOME was taken")
	}
	if home, err := Home(nothing, nil); err == nil && !filepath.IsAbs(home) {
		t.Errorf("the machine's own home is %q", home)
	}
	_, err = Load(Options{File: "/nowhere/x.toml", Getenv: func(string) string { return "/h" }})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nowhere/x.toml") {
		t.Errorf("a named file that is missing: %v", err)
	}
}

func TestEveryKey(t *testing.T) {
	c, err := load(t, `
mode = "ask"
state_dir = "~/s"
journal_dir = "/var/j"
log_dir = "~/l"
active = "/opt/state/.supervisor-active"
patrol_every = "1d"
grace = "0s"
budget = "5 in 7d12h"
blast = 0
workers = 8
fail_on = "P1"
[git]
repos = ["a"]
sub.deep = 3
[rule.x]
anything = "goes"
[kind.y]
`, "XDG_CONFIG_HOME", "/cfg")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.File, c.Found, c.Mode, c.StateDir, c.RuntimeDir, c.JournalDir, c.LogDir, c.Active, c.PatrolEvery, c.Grace, c.Budget, c.Blast, c.Workers, c.FailOn}
	want := []any{"/cfg/custos/custos.toml", true, "ask", "/home/me/s", "/home/me/s/run", "/var/j", "/home/me/l", "/opt/state/.supervisor-active",
		24 * time.Hour, time.Duration(0), Budget{5, 180 * time.Hour}, 0, 8, "P1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var g gitSection
	g.Primary = "main"
	if err := c.Section("git", &g); err != nil || g.Repos[0] != "a" || g.Sub.Deep != 3 || g.Primary != "main" {
		t.Errorf("section git = %+v, %v", g, err)
	}
	var none gitSection
	if err := c.Section("locks", &none); err != nil || none.Repos != nil {
		t.Errorf("a missing section: %+v, %v", none, err)
	}
}

func TestAllMistakesTogether(t *testing.T) {
	_, err := load(t, `mode = "obsrve"
patrol_evry = "20m"
grace = 5

blast = "many"
budget = "20 per hour"
state_dir = "here"
git = 3
workers = 0
fail_on = true
patrol_every = "1s"
[lokcs]
globs = []
[zzzzzzzz]
`)
	want := `cannot read F:1: mode: "obsrve" is none of observe, ask, auto, did you mean "observe"?
cannot read F:2: unknown key "patrol_evry", did you mean "patrol_every"?
cannot read F:3: grace: want a text in quotes, not a number
cannot read F:5: blast: want a whole number, not a text
cannot read F:6: budget: "20 per hour" is no budget: write it like "20 in 1h"
cannot read F:7: state_dir: path "here" is relative: begin it with / or ~/
cannot read F:8: "git" is a section: write it as [git]
cannot read F:9: workers: 0 is not between 1 and 64
cannot read F:10: fail_on: want a text in quotes, not true or false
cannot read F:11: patrol_every: 1s is too short: the least is 10s
cannot read F:12: unknown section [lokcs], did you mean "locks"?
cannot read F:14: unknown section [zzzzzzzz]`
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.ReplaceAll(err.Error(), "/home/me/.config/custos/custos.toml", "F")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Another number is not guessed: the list is told.
func TestAPriorityIsNotGuessed(t *testing.T) {
	_, err := load(t, "fail_on = \"P5\"\n")
	if err == nil || !strings.HasSuffix(err.Error(), `:1: fail_on: "P5" is none of P0, P1, P2, P3, P4, never`) {
		t.Errorf("got %v", err)
	}
}

func TestBrokenTOML(t *testing.T) {
	_, err := load(t, "mode = \"ask\"\nblast = = 3\n")
	if err == nil || !strings.Contains(err.Error(), "custos.toml:2: ") {
		t.Errorf("got %v", err)
	}
}

func TestSectionMistakes(t *testing.T) {
	c, err := load(t, `[git]
rpeos = ["a"]
primary = "main"
colour = "red"
sub.depe = 1
[locks]
anything = 1
[probe.queue]
run = ["x"]
evry = "1m"
`)
	if err != nil {
		t.Fatal(err)
	}
	g := gitSection{Primary: "kept"}
	err = c.Section("git", &g)
	want := `cannot read F:2: unknown key "rpeos" in [git], did you mean "repos"?
cannot read F:4: unknown key "colour" in [git]
cannot read F:5: unknown key "depe" in [git.sub], did you mean "deep"?`
	if got := strings.ReplaceAll(err.Error(), c.File, "F"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if g.Primary != "kept" {
		t.Errorf("half a section was kept: %+v", g)
	}
	var probes map[string]probeSection
	err = c.Section("probe", &probes)
	if err == nil || !strings.Contains(err.Error(), `:10: unknown key "evry" in [probe.queue], did you mean "every"?`) {
		t.Errorf("got %v", err)
	}
	c, _ = load(t, "[git]\nrepos = 3\n")
	if err = c.Section("git", &g); err == nil || !strings.Contains(err.Error(), "custos.toml:2: [git] repos: want a list in brackets, not a number") {
		t.Errorf("a wrong type: %v", err)
	}
	if err = c.Section("git", g); err == nil {
		t.Error("a section was read into a value")
	}
	c, _ = load(t, "[probe.a]\nrun=['x']\nevery='1m'\n[probe.b]\nrun=['y']\n")
	if err = c.Section("probe", &probes); err != nil || len(probes) != 2 || probes["a"].Every != "1m" {
		t.Errorf("probes = %v, %v", probes, err)
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"20m": 20 * time.Minute, "1d": 24 * time.Hour, "1d6h": 30 * time.Hour, "0s": 0} {
		if got, err := Duration(in); err != nil || got != want {
			t.Errorf("Duration(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "20", "-1m", "1d-1h", "d", "1 d", "+3m", "999999d"} {
		if got, err := Duration(in); err == nil {
			t.Errorf("Duration(%q) = %v, want an error", in, got)
		}
	}
}

func TestLayoutsAreGoodConfigs(t *testing.T) {
	sections := []string{"git", "locks", "phases", "logs", "agents", "plugins", "tmux", "containers", "journal", "forge", "formulas"}
	if d := cmp.Diff([]string{"bare", "disinto", "edge", "gastown", "legio"}, Layouts()); d != "" {
		t.Error(d)
	}
	for _, name := range Layouts() {
		text, err := Layout(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Load(Options{
			Getenv:   func(string) string { return "/h" },
			ReadFile: func(string) ([]byte, error) { return text, nil },
			Sections: sections,
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Layout("gastwn"); err == nil || !strings.Contains(err.Error(), `did you mean "gastown"?`) {
		t.Errorf("got %v", err)
	}
	if _, err := Layout("../config"); err == nil {
		t.Error("a layout was read from outside")
	}
}

// The layout of a Gas Town names the folder that a town keeps its plugins in.
func TestTheLayoutOfGasTownHasItsPlugins(t *testing.T) {
	text, err := Layout("gastown")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{Getenv: func(string) string { return "/h" }, ReadFile: func(string) ([]byte, error) { return text, nil },
		Sections: []string{"git", "locks", "phases", "logs", "agents", "plugins", "tmux"}})
	if err != nil {
		t.Fatal(err)
	}
	var plugins struct {
		Dirs []string `toml:"dirs"`
	}
	if err := c.Section("plugins", &plugins); err != nil || !slices.Equal(plugins.Dirs, []string{"~/gt/plugins"}) {
		t.Errorf("%v, %v", plugins.Dirs, err)
	}
}

// Every key of the top of the file has its heading in docs/config.md, and every
// heading there is a key or a section.
func TestEveryKeyIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := keysOf((&Config{}).settings())
	for _, key := range keys {
		if !strings.Contains(string(doc), "\n### `"+key+"`\n") {
			t.Errorf("docs/config.md has no heading for %q", key)
		}
	}
	for _, line := range strings.Split(string(doc), "\n") {
		if key, ok := strings.CutPrefix(line, "### `"); ok {
			key = strings.TrimSuffix(key, "`")
			if !strings.HasPrefix(key, "[") && !slices.Contains(keys, key) {
				t.Errorf("docs/config.md documents %q, which is no key", key)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "mode='ask'", "[git]\nrepos=['x']", "a.b.c=1\n[[x]]\n", "# c\n'q.r'=2", "\"\\u0000\"=1", "x={a=1}\n\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(t, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "cannot read ") {
				t.Errorf("unclear: %v", err)
			}
			return
		}
		var g gitSection
		_ = c.Section("git", &g)
	})
}

// What never ends or never begins is refused, not waited for.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/f", []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{dir + "/f": "", dir + "/fifo": "no regular file", "/dev/zero": "no regular file", dir: "no regular file", dir + "/none": "no such file"} {
		b, err := ReadFile(file, 5)
		if want == "" && (err != nil || string(b) != "12345") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %q", file, b, err, want)
		}
	}
	if _, err := ReadFile(dir+"/f", 4); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("five bytes where four may be: %v", err)
	}
}
