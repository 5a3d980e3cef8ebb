package agentrun_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/act/spawn"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// The test plays two users: it runs once more as one of them, with a copy of setpriv
// that becomes any user, as sudo does.
const (
	plainUser   = 65533
	anotherUser = 65534
	becomeVar   = "CUSTOS_TEST_BECOME"
)

// elevates is an agent that lets a process of another user go, has another as its child,
// and lets two of its own go. Each notes its pid, and lives until nothing
// holds the other end of its input. The last is a program of another user that its own user
// may end, as of any that is setuid.
const elevates = `run='echo $$ > "$0.part"; mv "$0.part" "$0"; exec "${1:-cat}" < "${0%/*}/input"'
setsid -f "$1" --reuid 65534 --clear-groups sh -c "$run" "$0/other"
setsid "$1" --reuid 65534 --clear-groups sh -c "$run" "$0/child" &
setsid -f sh -c "$run" "$0/own"
setsid -f sh -c "$run" "$0/setuid" "$1-cat"
wait; sleep 300`

// A person's stop ends what it may end, and says what of another user runs on; a rule's
// ends nothing.
func TestStopSparesWhatAnotherUserRuns(t *testing.T) {
	become := os.Getenv(becomeVar)
	if become == "" {
		asPlainUser(t)
		return
	}
	for _, where := range []fleet.Where{fleet.WhereHeadless, fleet.WhereTmux} {
		t.Run(string(where), func(t *testing.T) {
			g := newGround(t)
			pids := g.elevated("up", where, become)
			_, err := g.stop("up", "", fleet.StateStuck)
			wantRefused(t, err, "another user's")
			if !alive(g.ledger["up"].Process.PID) || !alive(pids["own"]) {
				t.Error("a rule's stop that was refused has ended something")
			}

			said, err := g.stop("up", "eve", fleet.StateWorking)
			if err != nil {
				t.Fatalf("a person's stop: %v", err)
			}
			wantGone(t, []int{g.ledger["up"].Process.PID, pids["own"], pids["setuid"]}, said)
			wantRunsOn(t, said, pids["other"], pids["child"])
			if x := g.ledger["up"].Exit; x == nil || x.Asked != "eve" {
				t.Errorf("the ledger learned of its end %+v", x)
			}

			said, err = g.stop("up", "eve", fleet.StateStopped)
			if err != nil && !errors.Is(err, act.ErrUnneeded) {
				t.Fatalf("a second stop: %v", err)
			}
			wantRunsOn(t, fmt.Sprint(said, err), pids["other"], pids["child"])

			s, _, err := shim.Read(shim.Dir(g.world.Shims, g.ledger["up"].Instance))
			if err != nil {
				t.Fatal(err)
			}
			on, err := agentrun.OthersRunOn(t.Context(), g.world.Shims, s)
			if err != nil {
				t.Errorf("who runs on: %v", err)
			}
			wantRunsOn(t, strings.Join(on, "; "), pids["other"], pids["child"])
		})
	}
	t.Run("the agent itself", func(t *testing.T) {
		g := newGround(t)
		script := `exec "$0" --reuid 65534 --clear-groups cat < "$1"`
		g.register(fleet.Registration{Name: "turned", Kind: agent.Generic, Where: fleet.WhereHeadless, Argv: []string{"bash", "-c", script, become, inputIn(t, openFolder(t))}})
		g.must(g.spawn(spawn.Options{}, "turned"))
		pid := g.ledger["turned"].Process.PID
		g.await("it to be another user's", func() bool { return userOf(t, pid) == anotherUser })
		_, err := g.stop("turned", "eve", fleet.StateWorking)
		wantRefused(t, err, fmt.Sprintf("process %d (cat) in it is another user's", pid))
	})
}

func userOf(t *testing.T, pid int) int {
	t.Helper()
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// inputIn makes an input that ends with the test, in a folder that every user may write to.
func inputIn(t *testing.T, dir string) string {
	t.Helper()
	input := filepath.Join(dir, "input")
	if err := errors.Join(syscall.Mkfifo(input, 0o644), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(input, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	return input
}

// elevated starts an agent with processes of another user, and returns their pids.
func (g *ground) elevated(name string, where fleet.Where, become string) map[string]int {
	g.t.Helper()
	notes := openFolder(g.t)
	inputIn(g.t, notes)
	g.register(fleet.Registration{Name: name, Kind: agent.Generic, Where: where, Argv: []string{"bash", "-c", elevates, notes, become}})
	g.must(g.spawn(spawn.Options{}, name))
	names, pids := []string{"other", "child", "own", "setuid"}, map[string]int{}
	g.await("what it starts", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			text, _ := os.ReadFile(filepath.Join(notes, name))
			pids[name], _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return pids[name] == 0
		})
	})
	return pids
}

// wantRunsOn: both live, are named with the command that ends them, and nobody says that
// nothing is left.
func wantRunsOn(t *testing.T, said string, pids ...int) {
	t.Helper()
	name := strconv.Itoa(anotherUser)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	for _, pid := range pids {
		want := fmt.Sprintf("process %d (cat) of user %s runs on: sudo kill %d", pid, name, pid)
		if !strings.Contains(said, want) {
			t.Errorf("stop says %q, want %q", said, want)
		}
		if !alive(pid) {
			t.Errorf("process %d of another user was ended", pid)
		}
	}
	if strings.Contains(said, "nothing is left") || strings.Contains(said, "left nothing") {
		t.Errorf("stop says %q", said)
	}
}

// asPlainUser runs this very test once more as a user who may not signal another's
// processes, and ends those.
func asPlainUser(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can play two users")
	}
	setpriv, none := exec.LookPath("setpriv")
	cat, err := exec.LookPath("cat")
	if err := errors.Join(none, err); err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := openFolder(t)
	become, home := place(t, setpriv, filepath.Join(dir, "become"), 0, 0o755|os.ModeSetuid), filepath.Join(dir, "home")
	place(t, cat, become+"-cat", anotherUser, 0o755|os.ModeSetuid)
	for _, name := range []string{"custos-shim", "custos-hook"} {
		place(t, filepath.Join(binaries, name), filepath.Join(dir, name), 0, 0o755)
	}
	if err := errors.Join(os.Mkdir(home, 0o755), os.Chown(home, plainUser, plainUser)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), place(t, exe, filepath.Join(dir, "test"), 0, 0o755), "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, becomeVar + "=" + become, binariesVar + "=" + dir}
	cmd.Dir, cmd.SysProcAttr = home, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as a plain user: %v\n%s", err, out)
	}
}

// openFolder is a folder of the test that every user reaches.
func openFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// place copies a program, for an owner.
func place(t *testing.T, from, to string, owner int, mode os.FileMode) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err := errors.Join(err, os.WriteFile(to, b, 0o700), os.Chown(to, owner, owner), os.Chmod(to, mode)); err != nil {
		t.Fatal(err)
	}
	return to
}
