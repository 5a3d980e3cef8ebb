package locks

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

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/proc"
)

func put(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func look(t *testing.T, p *Probe) ([]fleet.Lock, error) {
	t.Helper()
	fill, err := p.Look(context.Background())
	if fill == nil {
		return nil, err
	}
	var s fleet.Snapshot
	fill(&s)
	return s.Locks.Value, err
}

// one looks at a folder with one lock.
func one(t *testing.T, path string, o Options) fleet.Lock {
	t.Helper()
	o.Globs = []string{filepath.Dir(path) + "/*.lock"}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	locks, err := look(t, p)
	if err != nil || len(locks) != 1 {
		t.Fatalf("%v, %v", locks, err)
	}
	return locks[0]
}

// corpse returns the pid of a process of ours that is a zombie until the test ends.
func corpse(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for range 1000 {
		if _, err := proc.Holder(cmd.Process.Pid); errors.Is(err, proc.ErrGone) {
			return cmd.Process.Pid
		}
		time.Sleep(time.Millisecond) // until the real world catches up
	}
	t.Fatal("true does not end")
	return 0
}

func TestHolders(t *testing.T) {
	mine := fmt.Sprint(os.Getpid())
	for name, c := range map[string]struct {
		content string
		back    time.Duration // how long ago it was written
		want    fleet.Holder
	}{
		"alive":                      {mine, 0, fleet.HolderAlive},
		"alive, in JSON":             {`{"pid":` + mine + `}`, 0, fleet.HolderAlive},
		"younger than lock":          {mine, 24 * time.Hour, fleet.HolderReused},
		"zombie":                     {fmt.Sprint(corpse(t)), 0, fleet.HolderDead},
		"a zombie, written long ago": {fmt.Sprint(corpse(t)), 24 * time.Hour, fleet.HolderDead},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, t.TempDir()+"/x.lock", c.content)
			when := time.Now().Add(-c.back)
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
			lock := one(t, path, Options{})
			if got, ok := lock.Holder.Get(); !ok || got != c.want {
				t.Errorf("holder %v (%s), want %s", got, lock.Holder.Why(), c.want)
			}
			if lock.Owner != fleet.OwnerConfigured || lock.File.MTime != when.UnixNano() || lock.File.Inode == 0 {
				t.Errorf("lock %+v", lock)
			}
			if age, ok := lock.Age.Get(); !ok || time.Duration(age) < c.back || time.Duration(age) > c.back+time.Minute {
				t.Errorf("age %v", age)
			}
			if (lock.Name == "") != (c.want == fleet.HolderDead) {
				t.Errorf("name %q of a %s holder", lock.Name, c.want)
			}
		})
	}
}

// What cannot be told is unknown, with the reason; never dead.
func TestUnknownHolders(t *testing.T) {
	mine := fmt.Sprint(os.Getpid())
	for name, c := range map[string]struct {
		content string
		o       Options
		why     string
	}{
		"garbage":           {"\x1b[31mhello\xff", Options{}, "no number"},
		"empty":             {"", Options{}, "empty"},
		"a time":            {"1732094000", Options{}, "none"},
		"secret":            {"token=abcdefghijkl", Options{}, "no number"},
		"foreign namespace": {mine, Options{ForeignNamespace: new(true)}, "namespace"},
		"inner namespace":   {"4194303", Options{Elsewhere: func() func(int) string { return func(int) string { return "it is one of another pid namespace" } }}, "namespace"},
		"another host":      {mine + " elsewhere.example", Options{}, "host"},
		"another's, gone":   {"4194303\nelsewhere.example", Options{}, "host"},
		"cannot look":       {mine, Options{Holder: func(int) (proc.Holding, error) { return proc.Holding{}, errors.New("hidden") }}, "hidden"},
	} {
		t.Run(name, func(t *testing.T) {
			lock := one(t, put(t, t.TempDir()+"/x.lock", c.content), c.o)
			if lock.Holder.IsKnown() || !strings.Contains(lock.Holder.Why(), c.why) || strings.ContainsAny(lock.Holder.Why(), "\x1b\xff") {
				t.Errorf("holder %v: %q, want unknown: %s", lock.Holder, lock.Holder.Why(), c.why)
			}
			if strings.Contains(lock.PID.Why()+lock.Holder.Why(), "abcdefghijkl") {
				t.Errorf("a secret is shown: %q", lock.PID.Why())
			}
		})
	}
}

// Once the clock has been set, a lock from before cannot be held against the
// start of a process.
func TestAClockThatWasSetIsNoReuse(t *testing.T) {
	path := put(t, t.TempDir()+"/x.lock", fmt.Sprint(os.Getpid()))
	when := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
	offset := time.Duration(0)
	p, err := New(Options{Globs: []string{path}, Offset: func() (time.Duration, error) { return offset, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		offset time.Duration
		known  bool
	}{{0, true}, {500 * time.Millisecond, true}, {24 * time.Hour, false}, {24 * time.Hour, false}} {
		offset = step.offset
		locks, err := look(t, p)
		if err != nil {
			t.Fatal(err)
		}
		if locks[0].Holder.IsKnown() != step.known {
			t.Errorf("offset %v: holder %v (%s)", step.offset, locks[0].Holder, locks[0].Holder.Why())
		}
	}
}

func TestFutureAndWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir+"/dev-agent-\xff.lock", "1")
	when := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
	lock := one(t, path, Options{WaitedFor: []string{"dev-agent-*.lock"}})
	if lock.Age.IsKnown() || !lock.WaitedFor || lock.Path != dir+`/dev-agent-\xff.lock` {
		t.Errorf("lock %+v", lock)
	}
	if one(t, path, Options{WaitedFor: []string{"run.lock"}}).WaitedFor {
		t.Error("waited for, and nobody said so")
	}
}

func TestTooMany(t *testing.T) {
	dir := t.TempDir()
	for i := range most + 1 {
		put(t, fmt.Sprintf("%s/%d.lock", dir, i), "1")
	}
	p, err := New(Options{ForeignNamespace: new(false), Globs: []string{"~/*.lock"}, Home: dir, Holder: func(int) (proc.Holding, error) { return proc.Holding{}, proc.ErrGone }})
	if err != nil {
		t.Fatal(err)
	}
	locks, err := look(t, p)
	if len(locks) != most || err == nil || !strings.Contains(err.Error(), "2001 match") || !strings.Contains(err.Error(), "~/*.lock") {
		t.Errorf("%d locks, %v", len(locks), err)
	}
}

// A glob with too many files hides no lock of the next.
func TestGlobsDoNotStarveEachOther(t *testing.T) {
	dir := t.TempDir()
	for i := range 5000 {
		put(t, fmt.Sprintf("%s/%d.lock", dir, i), "1")
	}
	path := put(t, dir+"/z.pid", "1")
	p, err := New(Options{ForeignNamespace: new(false), Globs: []string{dir + "/*.lock", dir + "/z.pid"}, Holder: func(int) (proc.Holding, error) { return proc.Holding{}, proc.ErrGone }})
	if err != nil {
		t.Fatal(err)
	}
	locks, err := look(t, p)
	if err == nil || !strings.Contains(err.Error(), `/*.lock" 5000 match`) || strings.Contains(err.Error(), "z.pid") {
		t.Errorf("error %v", err)
	}
	if last := locks[len(locks)-1]; len(locks) != most+1 || last.Path != path || last.Holder.Or("") != fleet.HolderDead {
		t.Errorf("%d locks, the last %+v", len(locks), last)
	}
}

func TestNoGlobsIsAbsent(t *testing.T) {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(context.Background()); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("Look = %v, want ErrAbsent", err)
	}
}

func TestCancelled(t *testing.T) {
	p, err := New(Options{Globs: []string{put(t, t.TempDir()+"/x.lock", "1")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Look(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Look = %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Options{Globs: []string{"relative", "~/x"}, WaitedFor: []string{"[x"}, Every: "soon"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"relative"`, `"~/x"`, `"[x"`, `"soon"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
}

// Whatever a lock holds, what is not the pid of a process seen to be gone is not dead.
func FuzzLock(f *testing.F) {
	for _, s := range []string{"1", "pid=3", `{"pid":7}`, "", "\xff\x1b]0;x\x07", "token=hunter2hunter2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := put(t, t.TempDir()+"/x.lock", string(content))
		lock := one(t, path, Options{Holder: func(pid int) (proc.Holding, error) { return proc.Holding{Name: "x"}, nil }})
		if h, known := lock.Holder.Get(); known != lock.PID.IsKnown() || known && h != fleet.HolderAlive {
			t.Errorf("%q: pid %v, holder %v", content, lock.PID, lock.Holder)
		}
		if why := lock.PID.Why(); fleet.Line(why, 200) != why {
			t.Errorf("%q: unsafe text %q", content, why)
		}
	})
}
