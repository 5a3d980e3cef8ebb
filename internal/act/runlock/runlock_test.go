package runlock_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/runlock"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// former is the pid of a Custos that has ended, and dead that of a job that has.
const former, dead = 4_000_001, 4_000_002

func options() runlock.Options {
	return runlock.Options{Holders: proc.Holders{Elsewhere: func(int) string { return "" }, Holder: func(pid int) (proc.Holding, error) {
		if pid == former || pid == dead {
			return proc.Holding{}, proc.ErrGone
		}
		return proc.Holder(pid)
	}}}
}

// asked is what a plan asks for: the run's folder is not made yet.
func asked(t *testing.T, do string) fleet.Action {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "factory"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := fleet.Run{ID: "nightly-1", Formula: "nightly", Dir: fleet.Path(filepath.Join(dir, "run")), Work: fleet.Path(filepath.Join(dir, "factory")), Lock: "poll.lock"}
	return fleet.Action{ID: "a", Do: do, Target: fleet.Target{Step: &fleet.StepTarget{Run: r}}}
}

func lock(a fleet.Action) files.PIDLock {
	r := a.Target.Step.Run
	return files.PIDLock{Path: r.LockPath(), Mark: r.File(fleet.RunLockFile)}
}

// placed has a lock of this run there, with a pid.
func placed(t *testing.T, a fleet.Action, pid int) {
	t.Helper()
	must(t, os.MkdirAll(fleet.RawPath(a.Target.Step.Run.Dir), 0o700))
	must(t, lock(a).Place(pid))
}

// theirs has somebody else's lock there, with a pid.
func theirs(t *testing.T, a fleet.Action, pid int) {
	t.Helper()
	_ = os.Remove(lock(a).Path) // where one is
	must(t, os.WriteFile(lock(a).Path, []byte(strconv.Itoa(pid)+"\n"), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T, a fleet.Action) string {
	return acttest.Tree(t, filepath.Dir(fleet.RawPath(a.Target.Step.Run.Dir)))
}

func TestHold(t *testing.T) {
	x := runlock.NewHold(options())
	changed := map[string]func(*testing.T, fleet.Action){
		"a living one took it": func(t *testing.T, a fleet.Action) { theirs(t, a, os.Getppid()) },
		"it names nobody":      func(t *testing.T, a fleet.Action) { must(t, os.WriteFile(lock(a).Path, []byte("?"), 0o644)) },
		"a link":               func(t *testing.T, a fleet.Action) { must(t, os.Symlink("/etc/passwd", lock(a).Path)) },
	}
	for name, before := range map[string]func(*testing.T, fleet.Action){
		"free":                       func(*testing.T, fleet.Action) {},
		"left by the dead":           func(t *testing.T, a fleet.Action) { theirs(t, a, dead) },
		"left by us before":          func(t *testing.T, a fleet.Action) { placed(t, a, former) },
		"a crash while it was taken": func(t *testing.T, a fleet.Action) { placed(t, a, former); must(t, os.Remove(lock(a).Path)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := acttest.Case{Action: x, Fingerprint: tree, Gone: func(t *testing.T, a fleet.Action) { acttest.Do(t, x, a) },
				Setup: func(t *testing.T) fleet.Action { a := asked(t, runlock.DoHold); before(t, a); return a }}
			if name == "free" {
				c.Changed = changed
			}
			acttest.Test(t, c)
		})
	}
}

func TestRelease(t *testing.T) {
	x := runlock.NewRelease(options())
	for _, pid := range []int{os.Getpid(), former} {
		acttest.Test(t, acttest.Case{Action: x, Fingerprint: tree,
			Setup: func(t *testing.T) fleet.Action { a := asked(t, runlock.DoRelease); placed(t, a, pid); return a },
			Gone:  func(t *testing.T, a fleet.Action) { acttest.Do(t, x, a) }})
	}
}

// What is not the very file that was placed is never removed, whatever pid it names.
func TestReleaseOfAnothersLock(t *testing.T) {
	x := runlock.NewRelease(options())
	for name, other := range map[string]func(*testing.T, fleet.Action){
		"a job's":                 func(t *testing.T, a fleet.Action) { theirs(t, a, os.Getppid()) },
		"one that names us":       func(t *testing.T, a fleet.Action) { theirs(t, a, os.Getpid()) },
		"the same, written again": func(t *testing.T, a fleet.Action) { must(t, os.WriteFile(lock(a).Path, []byte("1 \n"), 0o644)) },
		"a mark that is lost":     func(t *testing.T, a fleet.Action) { must(t, os.Remove(lock(a).Mark)) },
	} {
		t.Run(name, func(t *testing.T) {
			a := asked(t, runlock.DoRelease)
			placed(t, a, os.Getpid())
			other(t, a)
			was, err := os.ReadFile(lock(a).Path)
			must(t, err)
			if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrUnneeded) {
				t.Errorf("got %v", err)
			}
			if is, err := os.ReadFile(lock(a).Path); err != nil || string(is) != string(was) {
				t.Errorf("%q, %v", is, err)
			}
		})
	}
}

// Between the look and the act the lock became another's: it stays.
func TestTheLockChangesHandsAtTheLastMoment(t *testing.T) {
	for name, c := range map[string]struct {
		x      act.Action
		before func(*testing.T, fleet.Action)
	}{
		"hold":         {runlock.NewHold(options()), func(*testing.T, fleet.Action) {}},
		"hold, stale":  {runlock.NewHold(options()), func(t *testing.T, a fleet.Action) { theirs(t, a, dead) }},
		"release":      {runlock.NewRelease(options()), func(t *testing.T, a fleet.Action) { placed(t, a, os.Getpid()) }},
		"release late": {runlock.NewRelease(options()), func(t *testing.T, a fleet.Action) { placed(t, a, former) }},
	} {
		t.Run(name, func(t *testing.T) {
			a := asked(t, c.x.Ability().Do)
			c.before(t, a)
			run, err := c.x.Prepare(t.Context(), a)
			must(t, err)
			defer run.Close()
			theirs(t, a, os.Getppid())
			if err := run.Do(t.Context()); !errors.Is(err, act.ErrRefused) && !errors.Is(err, act.ErrUnneeded) {
				t.Errorf("got %v", err)
			}
			if is, err := os.ReadFile(lock(a).Path); err != nil || string(is) != fmt.Sprintln(os.Getppid()) {
				t.Errorf("the other's lock says %q, %v", is, err)
			}
		})
	}
}

// A pid that may be one of another namespace is not taken for dead, unless it is our own
// of before.
func TestHolderElsewhere(t *testing.T) {
	o := options()
	o.Elsewhere = func(int) string { return "it may live in a container" }
	x := runlock.NewHold(o)
	a := asked(t, runlock.DoHold)
	theirs(t, a, dead)
	if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), "container") {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(lock(a).Path))
	placed(t, a, former)
	acttest.Do(t, x, a)
	if pid, err := lock(a).Ours(); err != nil || pid != os.Getpid() {
		t.Errorf("%d, %v", pid, err)
	}
	o.ForeignNamespace = new(true)
	if runlock.NewHold(o).Ability().Cannot == "" || runlock.NewRelease(o).Ability().Cannot == "" {
		t.Error("where pids say nothing no lock is taken")
	}
}

// A pid that belongs to a process younger than its lock is nobody's.
func TestHolderReused(t *testing.T) {
	a := asked(t, runlock.DoHold)
	theirs(t, a, os.Getppid())
	past := time.Now().Add(-1000 * time.Hour)
	must(t, os.Chtimes(lock(a).Path, past, past))
	acttest.Do(t, runlock.NewHold(options()), a)
}

// The seed's own shell reads our lock as it reads its own.
func TestAShellSeesWhoHoldsIt(t *testing.T) {
	a := asked(t, runlock.DoHold)
	acttest.Do(t, runlock.NewHold(options()), a)
	out, err := exec.Command("sh", "-c", `pid=$(cat "$1" 2>/dev/null || true); [ -n "$pid" ] && kill -0 "$pid" && echo "held by $pid"`, "sh", lock(a).Path).CombinedOutput()
	if err != nil || string(out) != fmt.Sprintf("held by %d\n", os.Getpid()) {
		t.Errorf("%q, %v", out, err)
	}
}
