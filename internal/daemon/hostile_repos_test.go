package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/sys/gittest"
)

// TestCommandsRunNothingOfRepositories: whoever looks, plans, asks the doctor or
// patrols with the program itself runs nothing that a repository names, whatever the
// ways of it are that are known.
func TestCommandsRunNothingOfRepositories(t *testing.T) {
	home, corpus := t.TempDir(), gittest.HostileRepos()
	var repos, tops []string
	var untouched []func(when string)
	for _, h := range corpus {
		r, top, check := h.Run(t)
		repos, tops, untouched = append(repos, fmt.Sprintf("%q", r.Top)), append(tops, top), append(untouched, check)
	}
	file := filepath.Join(home, "custos.toml")
	text := fmt.Sprintf("state_dir = %q\n[git]\nrepos = [%s]\nforeign_namespace = false\n", home+"/s", strings.Join(repos, ", "))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(program string, args ...string) string {
		c := exec.Command(program, args...)
		c.Env = append(os.Environ(), "HOME="+home, "CUSTOS_AS_COMMAND=1")
		out, err := c.CombinedOutput()
		if c.ProcessState == nil {
			t.Fatalf("%s %v: %v", program, args, err)
		}
		return string(out)
	}
	for _, args := range [][]string{{}, {"plan"}, {"doctor"}, {"preflight"}, {"patrol", "--apply"}, {"plan"}} {
		out := run(self, append([]string{"--config", file}, args...)...)
		for _, check := range untouched {
			check(fmt.Sprintf("custos %v", args))
		}
		if seen := strings.Count(out, "/repo: on main"); slices.Equal(args, []string{"preflight"}) && seen != len(corpus) {
			t.Errorf("it looks at %d of %d:\n%s", seen, len(corpus), out)
		}
	}
	// And the corpus does run, where git is used as a person would use it.
	run("git", "-C", tops[0], "add", "-A")
	if _, err := os.Stat(filepath.Join(filepath.Dir(strings.Trim(repos[0], `"`)), "canary")); err != nil {
		t.Errorf("git itself runs nothing of %q: %v", corpus[0].Name, err)
	}
}
