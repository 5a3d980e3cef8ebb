package daemon_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/sys/gittest"
)

// inside runs a command of the town in a folder.
func (w *town) inside(dir string, args ...string) (string, int) {
	w.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "custos"), append([]string{"--config", filepath.Join(w.dir, "custos.toml")}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+w.dir, "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return strings.ReplaceAll(string(out), " --config "+filepath.Join(w.dir, "custos.toml"), ""), cmd.ProcessState.ExitCode()
}

// What a person is told of merge queues, with no daemon up: what is added waits for one.
func TestMergeInWords(t *testing.T) {
	w := foundTown(t, "")
	r := gittest.New(t)
	step := func(dir string, code int, says string, args ...string) string {
		t.Helper()
		out, got := w.inside(dir, append([]string{"merge"}, args...)...)
		if got != code || !strings.Contains(out, says) {
			t.Errorf("custos merge %s ended with %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, says, out)
		}
		return out
	}
	const none = "there is no merge queue: custos.toml has no [merge.NAME]"
	step(r.Top, 0, "", "list")
	step(r.Top, 2, none, "add")
	step(r.Top, 2, "", "show", "mq1")
	step(r.Top, 2, "", "hold", "shop")
	step(r.Top, 2, none, "list", "--queue", "shop")
	f, err := os.OpenFile(filepath.Join(w.dir, "custos.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("[merge.shop]\nrepo = \"" + r.Top + "\"\ntarget = \"main\"\n[[merge.shop.gate]]\nname = \"check\"\nrun = [\"true\"]\n")
		_ = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	retry := r.Worktree("retry")
	r.Commit(retry, "b", "b\n")
	r.Git(r.Top, "branch", "other", "retry")
	step(r.Top, 0, "shop: main of origin  0 waiting", "list")
	step(retry, 0, "mq1: retry at "+r.Git(retry, "rev-parse", "HEAD")[:12]+" into shop: waiting", "add")
	step(retry, 0, "mq1: retry at ", "add") // the same again is the same
	step(w.dir, 0, "mq2: other at ", "add", "other", "--needs", "mq1", "--priority", "P1", "--title", "the other one")
	for says, args := range map[string][]string{
		`there is no branch "gone" in `:                              {"add", "gone"},
		"it is what is merged into":                                  {"add", "main"},
		`cannot find merge queue "shpo", did you mean "shop"`:        {"add", "retry", "--queue", "shpo"},
		"it is no name of a branch":                                  {"add", "a b"},
		"there is no work w9":                                        {"add", "retry", "--work", "w9"},
		"there is no item mq9 to wait for":                           {"add", "retry", "--needs", "mq9"},
		"P9":                                                         {"add", "retry", "--priority", "P9"},
		"mq1 would wait for itself, by way of mq2":                   {"add", "retry", "--needs", "mq2"},
		`cannot find item of a merge queue "mq3", did you mean "mq`:  {"show", "mq3"},
		`cannot find item of a merge queue "mq33"`:                   {"why", "mq33"},
		"cannot withdraw merge queue shop: it is held and released,": {"withdraw", "shop"},
		"say which branch: none is checked out here":                 {"add", "--queue", "shop"},
	} {
		step(w.dir, 2, says, args...)
	}
	step(w.dir, 0, "Why: ", "show", "mq1")
	step(w.dir, 0, "mq2: other at ", "why", "mq2")
	step(w.dir, 0, "held by ", "hold", "mq1", "--why", "not yet\x1b[2J")
	if out := step(w.dir, 0, "held", "list"); strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
	step(retry, 2, "mq1 is held", "add")
	step(w.dir, 0, "mq1: retry at ", "release", "mq1")
	step(w.dir, 0, "shop: held by ", "hold", "shop", "--why", "release day")
	step(w.dir, 0, "custos merge release shop", "list")
	step(w.dir, 0, "shop: 2 waiting", "release", "shop")
	step(w.dir, 0, "withdrawn", "withdraw", "mq2", "--why", "not wanted")
	step(w.dir, 2, "mq2", "release", "mq2")
	if out := step(w.dir, 0, "mq1", "list"); strings.Contains(out, "mq2") {
		t.Errorf("what is over is listed: %s", out)
	}
	step(w.dir, 0, "mq2", "list", "--all")
	var list api.MergeList
	if err := json.Unmarshal([]byte(step(w.dir, 0, "", "list", "--json")), &list); err != nil || len(list.Merges) != 1 || len(list.Queues) != 1 || list.Queues[0].Name != "shop" {
		t.Errorf("%+v, %v", list, err)
	}
	var m api.Merge
	if err := json.Unmarshal([]byte(step(w.dir, 0, "", "show", "mq1", "--json")), &m); err != nil || m.Source != "retry" || m.State != "waiting" {
		t.Errorf("%+v, %v", m, err)
	}
	if got := r.Git(r.Top, "status", "--porcelain") + r.Git(r.Top, "for-each-ref", "refs/custos"); got != "" {
		t.Errorf("something was changed: %s", got)
	}
}

// Only branches are added: no tag that is called like one, and no moment of one.
func TestOnlyBranchesAreAddedToAMergeQueue(t *testing.T) {
	w := foundTown(t, "")
	r := gittest.New(t)
	text := "mode = \"auto\"\nstate_dir = \"" + w.dir + "/s\"\n[merge.shop]\nrepo = \"" + r.Top + "\"\ntarget = \"main\"\n[[merge.shop.gate]]\nname = \"check\"\nrun = [\"true\"]\n"
	if err := os.WriteFile(filepath.Join(w.dir, "custos.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Git(r.Top, "branch", "retry")
	r.Git(r.Top, "tag", "v1", "main")
	r.Git(r.Top, "update-ref", "refs/tags/refs/heads/v2", "main")
	for _, name := range []string{"v1", "v2", "retry@{0}", "refs/heads/retry"} {
		if out, code := w.inside(r.Top, "merge", "add", name); code != 2 || !strings.Contains(out, "there is no branch") && !strings.Contains(out, "no name of a branch") {
			t.Errorf("custos merge add %s ended with %d: %s", name, code, out)
		}
	}
}
