package daemon_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/store"
)

// codeProject is a project in a repository, with one formula.
type codeProject struct {
	*testing.T
	dir string
}

// allWords are all that the formula says in these tests.
var allWords = []string{"first", "evil", "mended", "later"}

func newCodeProject(t *testing.T) codeProject {
	t.Helper()
	p := codeProject{t, t.TempDir()}
	p.git("init", "-q", "-b", "main")
	p.has("first")
	return p
}

func (p codeProject) git(args ...string) {
	p.Helper()
	out, err := exec.Command("git", append([]string{"-C", p.dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

const codeFile = "formulas/x.toml"

// has commits a formula that says a word.
func (p codeProject) has(word string) {
	p.Helper()
	path := filepath.Join(p.dir, ".custos", codeFile)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(formulaOf(word)), 0o644)
	}
	if err != nil {
		p.Fatal(err)
	}
	p.git("add", ".")
	p.git("commit", "-q", "-m", word)
}

func formulaOf(word string) string {
	return "formula = \"x\"\n[[steps]]\nid = \"s\"\nrun = [\"echo\", \"" + word + "\"]\n"
}

// settings name the project.
func (p codeProject) settings() string {
	return fmt.Sprintf("[formulas]\nprojects = { app = %q }\n[plugins]\nprojects = [\"app\"]\n", p.dir)
}

// trusts is the word of the formula that may be run, by the database; "" when none may.
func (w *town) trusts(words ...string) string {
	w.Helper()
	st, err := store.OpenReadOnly(w.Context(), store.Options{Path: filepath.Join(w.cfg.StateDir, "custos.db")})
	if err != nil {
		w.Fatal(err)
	}
	defer st.Close()
	pins, err := st.Pins(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range pins {
		for _, f := range p.Files {
			for _, word := range words {
				if f.Path == codeFile && f.Digest == fmt.Sprintf("%x", sha256.Sum256([]byte(formulaOf(word)))) {
					return word
				}
			}
			w.Errorf("something else is trusted: %+v", f)
		}
	}
	return ""
}

// TestApprovalOfCodeIsOfWhatWasShown: a number alone says nothing of what lies there by
// now. In a room, what was asked is trusted, and when it has changed it is asked anew; at
// the keyboard, what has the digest that the person was shown.
func TestApprovalOfCodeIsOfWhatWasShown(t *testing.T) {
	p := newCodeProject(t)
	w := newChatTown(t, "[rule.code-untrusted]\npriority = \"P2\"\ncooldown = \"1s\"\n", p.settings())
	asked := func(after int) (number, digest string) {
		t.Helper()
		m := w.heard(after, `#(\d+): approve \d+ has this done.*?--digest ([0-9a-f]{12})`)
		return m[1], m[2]
	}
	n, first := asked(0)
	w.heard(0, `#`+n+`: approve.*\+run = \["echo", "first"\]`) // the difference is shown
	said := len(w.bodies())
	p.has("evil")
	w.says(ann, "approve "+n, `Not acted on your reply: approve|it is not what was shown`)
	_, evil := asked(said)
	if got := w.trusts(allWords...); got != "" || evil == first {
		t.Fatalf("%q is trusted; asked for %s, then %s", got, first, evil)
	}
	for _, args := range [][]string{{"approve", n}, {"approve", n, "--digest", first}, {"approve", n, "--digest", evil[:4]}} {
		if out, code := w.town.says(args...); code == 0 || !strings.Contains(out, "digest") || w.trusts(allWords...) != "" {
			t.Fatalf("%v: %d, and %q is trusted: %s", args, code, w.trusts(allWords...), out)
		}
	}
	said = len(w.bodies())
	p.has("mended")
	w.town.says("approve", n, "--digest", evil) // begun at most: it is not what lies there
	_, mended := asked(said)
	if got := w.trusts(allWords...); got != "" {
		t.Fatalf("%q is trusted", got)
	}
	if out, code := w.town.says("approve", n, "--digest", mended); code != 0 {
		t.Fatalf("approve: %d %s", code, out)
	}
	await(t, w.said.String, func() bool { return w.trusts(allWords...) == "mended" })
	said = len(w.bodies())
	p.has("later")
	n, _ = asked(said)
	if got := w.trusts(allWords...); got != "mended" {
		t.Errorf("%q is trusted", got)
	}
	w.says(ann, "approve "+n, `Acted on your reply: approve `+n+`: begun: trust-code`)
	await(t, w.said.String, func() bool { return w.trusts(allWords...) == "later" })
}
