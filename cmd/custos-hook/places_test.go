package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/policy"
	"custos/internal/policy/source"
)

// What was made since the start is known: the worktree of another agent, and the branch that is checked out.
func TestWhatIsNewSinceTheStartIsKnown(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(dir, "app")
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@x"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main", top)
	git("-C", top, "commit", "-q", "--allow-empty", "-m", "x")
	all, _, err := source.Policies(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := policy.Compiled{Agent: "bob", Instance: "i1", Policy: all["default"], Places: policy.Places{Worktree: top, GitDir: top + "/.git", Common: top + "/.git", Home: "/home/dev"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	is := func(command, rule string) {
		t.Helper()
		b, _ := json.Marshal(map[string]any{"tool_name": "Bash", "cwd": top, "tool_input": map[string]string{"command": command}})
		said := answered(t, file, "claude", "PreToolUse", string(b))
		if (rule == "") != (said == "") || !strings.Contains(said, rule) {
			t.Errorf("%s: %q, want %q", command, said, rule)
		}
	}
	is("git push -f", "push-default")
	is("git push origin +HEAD", "push-default")
	git("-C", top, "checkout", "-q", "-b", "mine")
	is("git push -f", "")
	git("-C", top, "worktree", "add", "-q", "-b", "later", filepath.Join(dir, "later"))
	is("rm -rf ../later", "delete-outside")
	is("git worktree remove --force later", "delete-outside")
	is("echo x > ../later/f", "other-worktree")
}

// A policy that is another agent's, or no plain file, denies, and at once.
func TestAPolicyThatIsNotItsOwnDenies(t *testing.T) {
	for what, put := range map[string]func(file string) error{
		"a pipe":   func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a folder": func(file string) error { return os.Mkdir(file, 0o700) },
		"another's": func(file string) error {
			text, err := policy.Compiled{Agent: "eve", Instance: "i1", Policy: policy.Policy{Name: "p"}}.Encode()
			if err != nil {
				return err
			}
			return os.WriteFile(file, text, 0o600)
		},
	} {
		file := filepath.Join(t.TempDir(), "policy.json")
		if err := put(file); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if said := answered(t, file, "claude", "PreToolUse", payloadOf(t, "Bash", "ls")); !strings.Contains(said, `"permissionDecision":"deny"`) || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %q after %s", what, said, time.Since(began))
		}
	}
}

// A command as long as one call may have is judged long before its CLI stops waiting (2 s): of a core, for on a busy
// machine time says nothing.
func TestALongCommandIsJudgedInTime(t *testing.T) {
	file := compiled(t)
	for name, command := range map[string]string{"many files": "rm -rf" + strings.Repeat(" x", 60_000) + " ~", "many places": "rm -rf" + strings.Repeat(" /tmp/x", 17_000) + " ~"} {
		c := hook(t, "claude", "PreToolUse", "--run", runDir(t))
		c.Env = append(c.Env, policyVar+"="+file)
		c.Stdin = strings.NewReader(payloadOf(t, "Bash", command))
		said, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		t.Logf("%s: %d bytes in %s of a core", name, len(command), took)
		if !strings.Contains(string(said), "delete-root") || took > 2*time.Second {
			t.Errorf("%s: %.200q after %s of a core", name, said, took)
		}
	}
}
