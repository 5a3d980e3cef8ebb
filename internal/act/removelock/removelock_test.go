package removelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// corpse is the pid of a process that has ended and is held as a zombie, so that
// its pid cannot be given to anyone while the test runs.
func corpse(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for range 5000 {
		if _, err := proc.Holder(cmd.Process.Pid); errors.Is(err, proc.ErrGone) {
			return cmd.Process.Pid
		}
		time.Sleep(time.Millisecond) // until the real world catches up
	}
	t.Fatal("true does not end")
	return 0
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wish asks for the removal of the lock as it is now.
func wish(t *testing.T, path string, pid int, h fleet.Holder) fleet.Action {
	t.Helper()
	info, err := files.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	lock := fleet.Lock{
		Path: fleet.Path(path), Owner: fleet.OwnerConfigured, File: fleet.FileID(info.Identity),
		PID: fleet.Known(pid), Holder: fleet.Known(h),
	}
	return fleet.Action{ID: "1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindLock, Name: lock.Path}, Target: fleet.Target{Lock: &lock}}
}

func setup(t *testing.T) fleet.Action {
	t.Helper()
	pid := corpse(t)
	path := filepath.Join(t.TempDir(), "dev \xff.lock")
	put(t, path, fmt.Sprintln(pid))
	return wish(t, path, pid, fleet.HolderDead)
}

func raw(a fleet.Action) string { return fleet.RawPath(a.Target.Lock.Path) }

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: New(Options{}), Setup: setup,
		Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, filepath.Dir(raw(a))) },
		Gone:        func(t *testing.T, a fleet.Action) { remove(t, raw(a)) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"the holder is new":  func(t *testing.T, a fleet.Action) { put(t, raw(a), fmt.Sprint(os.Getpid())) },
			"rewritten the same": func(t *testing.T, a fleet.Action) { put(t, raw(a), fmt.Sprintln(a.Target.Lock.PID.Or(0))) },
			"another file": func(t *testing.T, a fleet.Action) {
				remove(t, raw(a))
				put(t, raw(a), fmt.Sprintln(a.Target.Lock.PID.Or(0)))
			},
			"a link": func(t *testing.T, a fleet.Action) {
				remove(t, raw(a))
				if err := os.Symlink("/etc/passwd", raw(a)); err != nil {
					t.Fatal(err)
				}
			},
			"held by flock": func(t *testing.T, a fleet.Action) {
				f, err := os.Open(raw(a))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
				if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
					t.Fatal(err)
				}
			},
			"foreign":       func(_ *testing.T, a fleet.Action) { a.Target.Lock.Owner = fleet.OwnerForeign },
			"pid not known": func(_ *testing.T, a fleet.Action) { a.Target.Lock.PID.Blind("x") },
		},
	})
}

// A lock whose pid lives is removed only when it was seen to be reused, and still is.
func TestTheLiving(t *testing.T) {
	for name, c := range map[string]struct {
		seen fleet.Leaf[fleet.Holder]
		back time.Duration
		ok   bool
	}{
		"reused":               {fleet.Known(fleet.HolderReused), 24 * time.Hour, true},
		"seen reused, and not": {fleet.Known(fleet.HolderReused), 0, false},
		"seen dead":            {fleet.Known(fleet.HolderDead), 24 * time.Hour, false},
		"seen alive":           {fleet.Known(fleet.HolderAlive), 24 * time.Hour, false},
		"unknown":              {fleet.Unknown[fleet.Holder]("x"), 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/x.lock"
			put(t, path, fmt.Sprint(os.Getpid()))
			when := time.Now().Add(-c.back)
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
			a := wish(t, path, os.Getpid(), fleet.HolderReused)
			a.Target.Lock.Holder = c.seen
			run, err := New(Options{}).Prepare(context.Background(), a)
			if err == nil {
				run.Close()
			}
			if (err == nil) != c.ok || !c.ok && !errors.Is(err, act.ErrRefused) {
				t.Errorf("Prepare = %v", err)
			}
		})
	}
}

func TestAnUnknownHolderIsRefused(t *testing.T) {
	x := New(Options{Holders: proc.Holders{Holder: func(int) (proc.Holding, error) { return proc.Holding{}, errors.New("hidden") }}})
	if _, err := x.Prepare(context.Background(), setup(t)); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), "hidden") {
		t.Errorf("Prepare = %v", err)
	}
}

// A lock that names another host says nothing of a process here, though one look took it
// for one of ours.
func TestALockOfAnotherHostIsRefused(t *testing.T) {
	pid, path := corpse(t), filepath.Join(t.TempDir(), "dev.lock")
	for content, refused := range map[string]bool{"%d\n": false, "%d elsewhere.example\n": true, "%d\nelsewhere.example\n": true, "pid=%d host=elsewhere.example\n": true} {
		put(t, path, fmt.Sprintf(content, pid))
		r, err := New(Options{}).Prepare(t.Context(), wish(t, path, pid, fleet.HolderDead))
		if errors.Is(err, act.ErrRefused) != refused {
			t.Errorf("%q: Prepare = %v", content, err)
		}
		if r != nil {
			r.Close()
		}
	}
}

// A worker that takes the lock between Prepare and Do keeps it, and what is
// moved is the content that was checked.
func TestALockTakenAfterPrepareIsKept(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, path string){
		"in place": func(t *testing.T, path string) { put(t, path, fmt.Sprint(os.Getpid())) },
		"anew":     func(t *testing.T, path string) { remove(t, path); put(t, path, fmt.Sprint(os.Getpid())) },
	} {
		t.Run(name, func(t *testing.T) {
			a := setup(t)
			run, err := New(Options{}).Prepare(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			take(t, raw(a))
			if err := run.Do(context.Background()); err == nil {
				t.Error("Do succeeded")
			}
			if got, err := os.ReadFile(raw(a)); err != nil || string(got) != fmt.Sprint(os.Getpid()) {
				t.Errorf("the lock is %q, %v", got, err)
			}
		})
	}
}

func TestNothingIsDeleted(t *testing.T) {
	a := setup(t)
	want, err := os.ReadFile(raw(a))
	if err != nil {
		t.Fatal(err)
	}
	effect := acttest.Do(t, New(Options{}), a)
	aside, err := filepath.Glob(filepath.Dir(raw(a)) + "/.custos-removed-*")
	if err != nil || len(aside) != 1 {
		t.Fatalf("%v, %v", aside, err)
	}
	if got, err := os.ReadFile(aside[0]); err != nil || string(got) != string(want) {
		t.Errorf("set aside %q, %v", got, err)
	}
	if !strings.Contains(effect, fleet.Path(aside[0])) || !strings.Contains(effect, "has ended") {
		t.Errorf("effect %q", effect)
	}
}

// A pid that nobody has here may be somebody's in another pid namespace.
func TestALiveHolderElsewhereIsRefused(t *testing.T) {
	a := setup(t)
	x := New(Options{Holders: proc.Holders{Elsewhere: func(int) string { return "it is one of another pid namespace" }}})
	if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("%v, want it refused", err)
	}
	told := New(Options{Holders: proc.Holders{ForeignNamespace: new(false), Elsewhere: func(int) string { return "it is one of another pid namespace" }}})
	r, err := told.Prepare(t.Context(), a)
	if err != nil {
		t.Fatalf("%v, though a person says that all pids are ours", err)
	}
	r.Close()
}

func TestForeignNamespaceCannot(t *testing.T) {
	if New(Options{Holders: proc.Holders{ForeignNamespace: new(true)}}).Ability().Cannot == "" {
		t.Error("it can")
	}
}
