package daemon_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// goGate is a queue whose gate is go test itself, which names what failed.
const goGate = `[merge.shop]
repo = "DIR/shop/repo"
target = "main"
batch = 1
wait = "0s"
[[merge.shop.gate]]
name = "test"
run = ["go", "test", "-json", "./..."]
env = ["GOCACHE", "HOME"]
report = "-"
`

// goTest is a file with one test in it.
func goTest(name, body string) string {
	return "package shop\n\nimport \"testing\"\n\nfunc " + name + "(t *testing.T) { " + body + " }\n"
}

// mailAbout is the mail about an item.
func (w *mergeTown) mailAbout(id string) (found api.Mail) {
	w.Helper()
	list, err := w.client().Mails(w.Context(), "overseer", true)
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range list.Mail {
		if m.About == id {
			found = m
		}
	}
	return found
}

// The tests that fail are named to who added a branch; and where the target fails, those that do
// there are told apart from those that the branch brings, which alone blame it.
func TestMergeNamesTheTestsThatFail(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	w := foundMergeTown(t, goGate, "go.mod", "module example.com/shop\n\ngo 1.24\n", "a_test.go", goTest("TestGood", ""))
	w.branch("bad", "bad_test.go", goTest("TestBad", `t.Run("deep", func(t *testing.T) { t.Error("no") })`))
	bad := w.add("bad").ID
	if m := w.awaitOver()["bad"]; m.State != "failed" || !strings.HasSuffix(m.Why, ": example.com/shop TestBad/deep") || !strings.Contains(m.Why, "the gates pass on main without it") {
		t.Errorf("%s: %q", m.State, m.Why)
	}
	if text := w.mailAbout(bad).Body; !strings.Contains(text, "\nTests that fail with it:\n- test: example.com/shop TestBad/deep\n") {
		t.Errorf("%s", text)
	}
	if out, code := w.inside(w.dir, "merge", "show", bad); code != 0 || !strings.Contains(out, "FAILED TEST") || strings.Count(out, "example.com/shop TestBad/deep") < 2 {
		t.Errorf("%d: %s", code, out)
	}

	other := filepath.Join(w.repo.Dir, "other")
	w.repo.Git(w.repo.Dir, "clone", "-q", "origin.git", "other")
	w.repo.Commit(other, "old_test.go", goTest("TestOld", `t.Error("for long")`))
	w.repo.Git(other, "push", "-q", "origin", "main")
	w.branch("worse", "worse_test.go", goTest("TestWorse", `t.Error("mine")`))
	w.branch("innocent", "innocent_test.go", goTest("TestInnocent", ""))
	worse := w.add("worse").ID
	w.add("innocent")
	var all map[string]api.Merge
	await(w.T, func() string { return all["worse"].Why + "\n" + all["innocent"].Why + "\n" + w.said.String() }, func() bool {
		all, _ = w.items()
		return all["worse"].State == "failed" && strings.HasSuffix(all["innocent"].Why, ": example.com/shop TestOld")
	})
	if why := all["worse"].Why; !strings.HasSuffix(why, ": on main itself fails example.com/shop TestOld; what fails besides: example.com/shop TestWorse") {
		t.Errorf("%q", why)
	}
	if m := all["innocent"]; m.State != "waiting" {
		t.Errorf("%s: %q", m.State, m.Why)
	}
	text := w.mailAbout(worse).Body
	if !strings.Contains(text, "Tests that fail with it:\n- test: example.com/shop TestWorse\n") || !strings.Contains(text, "These fail on main without it, too, and are none of its faults:\n- test: example.com/shop TestOld\n") {
		t.Errorf("%s", text)
	}
}
