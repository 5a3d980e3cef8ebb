package library

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/fleet"
)

// codeWorld is a project in a repository, and a ledger that is a list.
type codeWorld struct {
	*testing.T
	home    string
	pinned  []fleet.Pins
	book    *Formulas
	plugins *Plugins
	cfg     config.Config
}

const hostileSettings = `
[formulas]
projects = { app = "~/app" }
[plugins]
projects = ["app"]
`

// hostile is what an agent writes where it may.
const hostile = "---\nname: x\ngate: {type: cooldown, duration: 1s}\nenv: [FORGE_TOKEN]\n---\n"

func newCodeWorld(t *testing.T, more string, files map[string]string) *codeWorld {
	t.Helper()
	all := map[string]string{".config/custos/custos.toml": hostileSettings + more, "app/README.md": "x"}
	for name, text := range files {
		all[name] = text
	}
	w := &codeWorld{T: t}
	w.cfg, w.home = shelf(t, all)
	w.git("init", "-q", "-b", "main")
	w.commit("README.md")
	w.open()
	return w
}

// open reads the configuration and what was pinned, as a new process does.
func (w *codeWorld) open() {
	w.Helper()
	l, err := New(w.cfg, Options{Kinds: []string{"claude"}, Pins: func(context.Context) ([]fleet.Pins, error) { return w.pinned, nil }, Warn: func(string, ...any) {}})
	if err != nil {
		w.Fatal(err)
	}
	w.book, w.plugins = l.Formulas, l.Plugins
}

func (w *codeWorld) git(args ...string) {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.home + "/app", "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *codeWorld) commit(files ...string) {
	w.Helper()
	w.git(append([]string{"add", "--"}, files...)...)
	w.git("commit", "-q", "-m", "x")
}

func (w *codeWorld) write(file, text string, mode os.FileMode) {
	w.Helper()
	path := filepath.Join(w.home, "app", file)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// facts is what is told of the project's folder.
func (w *codeWorld) facts() fleet.CodeFacts {
	w.Helper()
	w.book.code.Again()
	w.plugins.checked = time.Time{}
	w.plugins.All(w.Context())
	all := w.book.code.All()
	if len(all) == 0 {
		return fleet.CodeFacts{}
	}
	return all[0]
}

// trust says yes to all that is offered.
func (w *codeWorld) trust() {
	w.Helper()
	f := w.facts()
	p, err := w.book.code.Offered(fleet.RawPath(f.Dir), f.Digest)
	if err != nil {
		w.Fatal(err)
	}
	w.pinned = []fleet.Pins{p}
	w.facts()
}

// runs says whether the plugin x may be run, and from where.
func (w *codeWorld) runs() (dir string) {
	w.Helper()
	w.plugins.checked = time.Time{}
	for _, x := range w.plugins.All(w.Context()) {
		if x.Name == "x" && x.Broken == "" {
			return x.Dir
		}
	}
	return ""
}

func (w *codeWorld) reads(name string) (description, source string) {
	r, err := w.book.Read(api.FormulaQuery{Name: name, Project: "app", Render: true})
	if err != nil || r.Refused() {
		return "", ""
	}
	return r.Formula.Description, r.Formula.File
}

// What lies in a project's working tree is never run, whatever its name is and
// whatever it asks for: nothing of it is pinned, and it is in no commit. Each try is
// told of.
func TestWhatAgentsWriteIsNotRun(t *testing.T) {
	w := newCodeWorld(t, "", map[string]string{".config/custos/formulas/mine.toml": oneStep("mine", `description = "a person's"`)})
	w.write(".custos/plugins/x/plugin.md", hostile, 0o644)
	w.write(".custos/plugins/x/run.sh", "#!/bin/sh\necho $FORGE_TOKEN\n", 0o755)
	for _, name := range []string{"patrol", "mine", "new"} {
		w.write(".custos/formulas/"+name+".toml", oneStep(name, `description = "evil"`), 0o644)
	}
	w.write(".custos/formulas/patrol.overlay.toml", "[vars]\nx = \"1\"\n", 0o644)
	if dir := w.runs(); dir != "" {
		t.Errorf("the plugin is run from %s", dir)
	}
	if said, file := w.reads("patrol"); file != "formulas/patrol.toml" {
		t.Errorf("patrol is %q of %s", said, file)
	}
	if said, _ := w.reads("mine"); said != "a person's" {
		t.Errorf("mine is %q", said)
	}
	if said, file := w.reads("new"); said != "" {
		t.Errorf("new is %q of %s", said, file)
	}
	loose := w.facts().Loose
	for _, want := range []string{"+ formulas/patrol.toml", "+ formulas/patrol.overlay.toml", "+ plugins/x/run.sh", "+ plugins/x/plugin.md"} {
		if !strings.Contains(loose, want) {
			t.Errorf("not told of %q: %q", want, loose)
		}
	}
	w.git("checkout", "-q", "-b", "agent") // a branch of its own is not the primary one
	w.commit(".custos")
	if f := w.facts(); w.runs() != "" || f.Trusted != 0 || f.Changes.Or("?") != "" {
		t.Errorf("%+v", f)
	}
}

// What is in the primary branch waits for a person, and runs as it was pinned and
// from a copy; what an agent does to it afterwards runs never, and is told.
func TestPinnedCodeIsRunAsItWasPinned(t *testing.T) {
	const free = "---\nname: x\ngate: {type: cooldown, duration: 1s}\n---\n"
	setup := func(t *testing.T) *codeWorld {
		w := newCodeWorld(t, "", nil)
		w.write(".custos/plugins/x/plugin.md", free, 0o644)
		w.write(".custos/plugins/x/run.sh", "#!/bin/sh\necho good\n", 0o755)
		w.write(".custos/plugins/x/lib.sh", "good", 0o644)
		w.write(".custos/formulas/new.toml", oneStep("new", `description = "good"`), 0o644)
		w.write(".custos/formulas/child.toml", oneStep("child", `extends = ["new"]`), 0o644)
		w.commit(".custos")
		f := w.facts()
		if said, _ := w.reads("new"); w.runs() != "" || said != "" || !strings.Contains(f.Changes.Or(""), "+ plugins/x/run.sh") || !strings.Contains(f.Diff, "+echo good") {
			t.Fatalf("it runs before anybody trusts it: %q, %+v", said, f)
		}
		w.trust()
		if said, _ := w.reads("child"); w.runs() == "" || said != "good" || w.facts().Changes.Or("?") != "" {
			t.Fatalf("it is not run though it is trusted: %q, %+v, %+v", said, w.facts(), w.plugins.list)
		}
		return w
	}
	script := func(w *codeWorld) string {
		text, _ := os.ReadFile(filepath.Join(w.runs(), "run.sh"))
		return string(text)
	}
	for name, c := range map[string]struct {
		do            func(*codeWorld)
		plugin, child bool   // still run
		told          string // in changes or loose
	}{
		"edited, not committed": {func(w *codeWorld) { w.write(".custos/plugins/x/run.sh", "evil", 0o755) }, true, true, "~ plugins/x/run.sh"},
		"formula edited": {func(w *codeWorld) {
			w.write(".custos/formulas/new.toml", oneStep("new", `description = "evil"`), 0o644)
		}, true, true, "~ formulas/new.toml"},
		"made executable": {func(w *codeWorld) { w.write(".custos/plugins/x/lib.sh", "good", 0o755) }, true, true, "~ plugins/x/lib.sh"},
		"a file beside":   {func(w *codeWorld) { w.write(".custos/plugins/x/evil.sh", "evil", 0o755) }, true, true, "+ plugins/x/evil.sh"},
		"a plugin beside": {func(w *codeWorld) { w.write(".custos/plugins/y/plugin.md", hostile, 0o755) }, true, true, "+ plugins/y/plugin.md"},
		"removed": {func(w *codeWorld) {
			w.git("rm", "-rq", "--cached", ".custos")
			_ = os.RemoveAll(w.home + "/app/.custos")
		}, true, true, "- formulas/new.toml"},
		"a link out of the tree": {func(w *codeWorld) { w.link(".custos/plugins/x/run.sh", "/bin/sh") }, true, true, "+ plugins/x/run.sh (no regular file)"},
		"the folder a link":      {func(w *codeWorld) { w.link(".custos", w.home+"/elsewhere") }, true, true, "no regular file"},
		"edited and committed": {func(w *codeWorld) {
			w.write(".custos/plugins/x/run.sh", "evil", 0o755)
			w.commit(".custos")
		}, false, true, "~ plugins/x/run.sh"},
		"mode committed": {func(w *codeWorld) {
			w.write(".custos/plugins/x/lib.sh", "good", 0o755)
			w.commit(".custos")
		}, false, true, "~ plugins/x/lib.sh"},
		"base of another committed": {func(w *codeWorld) {
			w.write(".custos/formulas/new.toml", oneStep("new", `description = "evil"`), 0o644)
			w.commit(".custos")
		}, true, false, "~ formulas/new.toml"},
		"renamed and committed":  {func(w *codeWorld) { w.git("mv", ".custos/plugins/x", ".custos/plugins/z"); w.commit(".custos") }, false, true, "+ plugins/z/run.sh"},
		"link committed":         {func(w *codeWorld) { w.link(".custos/plugins/x/run.sh", "/bin/sh"); w.commit(".custos") }, false, true, "+ plugins/x/run.sh (no regular file"},
		"no repository any more": {func(w *codeWorld) { _ = os.RemoveAll(w.home + "/app/.git") }, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := setup(t)
			c.do(w)
			f := w.facts()
			if !strings.Contains(f.Changes.Or("")+" "+f.Loose, c.told) || c.told == "" && f.Changes.IsKnown() {
				t.Errorf("not told of %q: %+v", c.told, f)
			}
			if said, _ := w.reads("child"); (w.runs() != "") != c.plugin || (said == "good") != c.child || said == "evil" {
				t.Errorf("plugin %q, formula %q", w.runs(), said)
			}
			if text := script(w); c.plugin && text != "#!/bin/sh\necho good\n" || w.runs() != "" && strings.HasPrefix(w.runs(), w.home+"/app") {
				t.Errorf("%q is run from %s", text, w.runs())
			}
		})
	}
}

func (w *codeWorld) link(file, to string) {
	w.Helper()
	path := filepath.Join(w.home, "app", file)
	if err := os.RemoveAll(path); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		w.Fatal(err)
	}
}

// Only what was shown is pinned, and nothing that leads elsewhere.
func TestTrustTakesWhatWasShown(t *testing.T) {
	w := newCodeWorld(t, "", nil)
	w.write(".custos/formulas/a.toml", oneStep("a", ""), 0o644)
	w.commit(".custos")
	shown := w.facts()
	w.write(".custos/formulas/a.toml", oneStep("a", `description = "evil"`), 0o644)
	w.commit(".custos")
	if _, err := w.book.code.Offered(fleet.RawPath(shown.Dir), shown.Digest); err == nil || !strings.Contains(err.Error(), "not what was shown") {
		t.Errorf("%v", err)
	}
	w.link(".custos/formulas/b.toml", "/etc/passwd")
	w.commit(".custos")
	if _, err := w.book.code.Offered(fleet.RawPath(shown.Dir), w.facts().Digest); err == nil || !strings.Contains(err.Error(), "b.toml is no regular file") {
		t.Errorf("%v", err)
	}
}

// A secret is given to whom custos.toml names, and never because a file asks for it;
// a name of a person's own or of a shipped formula is taken only where it says so.
func TestGrants(t *testing.T) {
	files := map[string]string{".config/custos/formulas/own.toml": "name = \"own\"\n[[steps]]\nid = \"a\"\nrun = [\"true\"]\nenv = [\"FORGE_TOKEN\"]\n"}
	asks := "name = \"asks\"\n[[steps]]\nid = \"a\"\nrun = [\"true\"]\nenv = [\"FORGE_TOKEN\"]\n"
	for _, c := range []struct {
		more          string
		asks, plugins bool
		patrol        string
	}{
		{"", false, false, "formulas/patrol.toml"},
		{"[grants]\n\"other/asks\" = [\"FORGE_TOKEN\"]\n\"asks\" = [\"FORGE_TOKEN\"]\n", false, false, "formulas/patrol.toml"},
		{"[grants]\n\"app/asks\" = [\"FORGE_TOKEN\"]\n", true, false, "formulas/patrol.toml"},
		{"[grants]\n\"app/plugin:x\" = [\"FORGE_TOKEN\"]\n", false, true, "formulas/patrol.toml"},
		{"[formulas.shadows]\napp = [\"patrol\"]\n", false, false, "app/.custos/formulas/patrol.toml"},
	} {
		w := newCodeWorld(t, c.more, files)
		w.write(".custos/formulas/asks.toml", asks, 0o644)
		w.write(".custos/formulas/patrol.toml", oneStep("patrol", ""), 0o644)
		w.write(".custos/plugins/x/plugin.md", hostile, 0o644)
		w.write(".custos/plugins/x/run.sh", "#!/bin/sh\n", 0o755)
		w.commit(".custos")
		w.trust()
		r, err := w.book.Read(api.FormulaQuery{Name: "asks", Project: "app", Render: true})
		if err != nil || r.Refused() == c.asks || !c.asks && !strings.Contains(r.Errors(), `[grants] "app/asks" = ["FORGE_TOKEN"]`) {
			t.Errorf("%q: %v, %v", c.more, err, r.Problems)
		}
		if (w.runs() != "") != c.plugins {
			t.Errorf("%q: the plugin: %+v", c.more, w.plugins.list)
		}
		if i := slices.IndexFunc(w.plugins.list, func(x Plugin) bool { return x.Name == "x" }); !c.plugins && (i < 0 || !strings.Contains(w.plugins.list[i].Broken, `[grants] "app/plugin:x" = ["FORGE_TOKEN"]`)) {
			t.Errorf("%q: it is not said what to add: %+v", c.more, w.plugins.list)
		}
		if _, file := w.reads("patrol"); strings.TrimPrefix(file, w.home+"/") != c.patrol {
			t.Errorf("%q: patrol is %s", c.more, file)
		}
		if r, err := w.book.Read(api.FormulaQuery{Name: "own", Render: true}); err != nil || r.Refused() {
			t.Errorf("a person's own: %v, %v", err, r.Problems)
		}
	}
}
