package git_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
	"custos/internal/sys/proc"
)

// holding runs a program until the test ends, and returns its pid once it says that it is ready.
func holding(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot start %s: %v", name, err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Skipf("%s was not ready: %v", name, err)
	}
	return cmd.Process.Pid
}

func holders(t *testing.T) *git.Holders {
	t.Helper()
	open, err := proc.OpenFiles(t.Context(), func(s proc.Stat) bool { return s.ID.PID == os.Getpid() })
	if err != nil {
		t.Fatal(err)
	}
	var list []git.Held
	for _, o := range open {
		list = append(list, git.Held{PID: o.PID, Path: o.Path})
	}
	return git.NewHolders(list)
}

// Who has a file open in a worktree, runs a program of it, or maps one, is inside,
// wherever he stands.
func TestAnOpenFileIsOccupation(t *testing.T) {
	r := gittest.New(t)
	open, quiet := r.Worktree("open"), r.Worktree("quiet")
	mapped := filepath.Join(r.Dir, "mapped dir")
	r.Git(r.Top, "worktree", "add", "-q", "-b", "mapped", mapped)
	program, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mapped, "cat"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	opener := holding(t, "sh", "-c", "exec 5<'"+open+"/README'; echo ready; read x")
	runner := holding(t, "sh", "-c", "echo ready; exec '"+mapped+"/cat' >/dev/null")
	for deadline := time.Now().Add(30 * time.Second); ; {
		h := holders(t)
		if got := h.In(open); !slices.Equal(got, []int{opener}) {
			t.Fatalf("in %q: %v, want %d", open, got, opener)
		}
		if got := h.In(quiet); len(got) != 0 {
			t.Fatalf("in %q: %v, want nobody", quiet, got)
		}
		if slices.Equal(h.In(mapped), []int{runner}) { // once the shell has become the program
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("who runs a program of the worktree is not inside")
		}
	}
}

// In another mount namespace the worktree goes by another name.
func TestAnOpenFileOfAnotherNamespaceIsOccupation(t *testing.T) {
	r := gittest.New(t)
	top, quiet := r.Worktree("open"), r.Worktree("quiet")
	there := filepath.Join(r.Dir, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	pid := holding(t, "unshare", "-rmpf", "--kill-child", "sh", "-c",
		"mount --bind '"+top+"' '"+there+"' && exec 5<'"+there+"/README' && echo ready && read x")
	h := holders(t)
	if got := h.In(top); len(got) == 0 || slices.Contains(got, pid) && len(got) > 2 {
		t.Errorf("in %q: %v, want the child of %d", top, got, pid)
	}
	if got := h.In(quiet); len(got) != 0 {
		t.Errorf("in %q: %v, want nobody", quiet, got)
	}
}

func TestShared(t *testing.T) {
	const info = "22 1 0:20 / / rw - overlay overlay rw\n23 22 8:1 /srv /srv/my\\040work rw shared:1 - ext4 /dev/sda1 rw\n24 22 0:3 / /proc rw - proc proc rw\n"
	for folder, want := range map[string]bool{"/tmp/wt": false, "/srv/my work/wt": true, "/srv/my workshop": false} {
		if got := git.Shared(info, folder); got != want {
			t.Errorf("Shared(%q) = %v, want %v", folder, got, want)
		}
	}
	if !git.Shared("", "/tmp") {
		t.Error("what cannot be told is taken for private")
	}
}
