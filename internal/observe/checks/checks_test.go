package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/sys/proc"
)

// The test binary is the command too: with a first argument of "as" it plays the
// part named by the second.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as" {
		play(os.Args[2], os.Args[3:])
		syscall.Exit(0) // not os.Exit, which takes a second under -race
	}
	os.Exit(m.Run())
}

func play(part string, args []string) {
	switch part {
	case "exit":
		status, _ := strconv.Atoi(args[0])
		syscall.Exit(status)
	case "signal":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	case "environ":
		if os.Getenv("SECRET_TOKEN") != "" || os.Getenv("PATH") == "" {
			syscall.Exit(1)
		}
	case "flood": // a gigabyte
		line := strings.Repeat("x", 1<<20)
		for range 1 << 10 {
			_, _ = os.Stdout.WriteString(line)
		}
	case "fork": // three, each of which begins one more, and all hang
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { begin(args[0], fmt.Sprint(i), "fork-again") })
		}
		wg.Wait()
		time.Sleep(time.Hour)
	case "fork-again":
		begin(args[0], args[1]+"x", "sleep")
		time.Sleep(time.Hour)
	case "sleep":
		time.Sleep(time.Hour)
	case "count":
		f, _ := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		_, _ = f.WriteString("x")
		syscall.Exit(1)
	}
}

// begin begins a process that holds the standard streams, and writes its pid down.
func begin(dir, name, part string) {
	child, err := os.StartProcess(os.Args[0], []string{os.Args[0], "as", part, dir, name}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err == nil {
		_ = os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(child.Pid)+"\n"), 0o600)
	}
}

type clock struct{ now time.Duration }

func (c *clock) at() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC).Add(c.now), Up: fleet.Duration(c.now), Boot: "b"}
}

// gate is one whose command plays a part, and may take a second.
func gate(id string, args ...string) fleet.Gate {
	return fleet.Gate{Head: fleet.Head{ID: id}, Type: fleet.GateCondition, Check: append([]string{os.Args[0], "as"}, args...), Timeout: fleet.Duration(20 * time.Second),
		At: (&clock{}).at()}
}

func probe(t *testing.T, c *clock, gates ...fleet.Gate) *Probe {
	t.Helper()
	p, err := New(Options{Now: c.at, Gates: func(context.Context) ([]fleet.Gate, error) { return gates, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func see(t *testing.T, p *Probe) map[string]fleet.GateCheck {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	out := map[string]fleet.GateCheck{}
	for _, c := range s.Checks.Value {
		out[c.Gate] = c
	}
	return out
}

func TestSuite(t *testing.T) {
	observetest.Test(t, func() observe.Probe { return probe(t, &clock{}, gate("g1", "exit", "0")) })
}

func TestAnswers(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	missing := gate("gone")
	missing.Check = []string{"/nonexistent/prog"}
	got := see(t, probe(t, &clock{}, gate("yes", "exit", "0"), gate("no", "exit", "3"), gate("killed", "signal"), gate("environ", "environ"), gate("flood", "flood"), missing))
	for id, want := range map[string]string{"yes": "true", "no": "false", "environ": "true", "killed": "unknown", "gone": "unknown", "flood": "unknown"} {
		holds, known := got[id].Holds.Get()
		is := fmt.Sprint(holds)
		if !known {
			is = "unknown"
		}
		if is != want || got[id].At.IsZero() {
			t.Errorf("%s: %s (%s), want %s", id, is, got[id].Holds.Why(), want)
		}
	}
	if why := got["flood"].Holds.Why(); !strings.Contains(why, "printed more") {
		t.Errorf("the flood: %s", why)
	}
}

// TestForks: a command that forks and hangs is ended with all that it began, and
// says nothing.
func TestForks(t *testing.T) {
	dir := t.TempDir()
	g := gate("g1", "fork", dir)
	ctx, cancel := context.WithCancel(t.Context())
	p := probe(t, &clock{}, g)
	done := make(chan error, 1)
	go func() { _, err := p.Look(ctx); done <- err }()
	pids := all(t, dir, 6)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if l := p.last["g1"]; l.holds.IsKnown() {
		t.Errorf("it says %+v", l.holds)
	}
	gone(t, pids)
}

// TestHangs: one that hangs is ended at its own limit, and the others have answered.
func TestHangs(t *testing.T) {
	slow := gate("slow", "sleep")
	slow.Timeout = fleet.Duration(300 * time.Millisecond)
	got := see(t, probe(t, &clock{}, slow, gate("quick", "exit", "0")))
	if got["slow"].Holds.IsKnown() || !strings.Contains(got["slow"].Holds.Why(), "longer than 300ms") || !got["quick"].Holds.Or(false) {
		t.Errorf("got %+v", got)
	}
}

// all waits until so many processes have been written down.
func all(t *testing.T, dir string, n int) (pids []int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(pids) < n; {
		pids = nil
		files, _ := filepath.Glob(dir + "/*")
		for _, f := range files {
			text, _ := os.ReadFile(f)
			if pid, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n")); err == nil && strings.HasSuffix(string(text), "\n") {
				pids = append(pids, pid)
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d processes", len(pids), n)
		}
	}
	return pids
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	reader, end := proc.NewReader(proc.TableOptions{}), time.Now().Add(10*time.Second)
	for _, pid := range pids {
		for s, err := reader.Stat(pid); err == nil && s.State != "Z"; s, err = reader.Stat(pid) {
			if time.Now().After(end) {
				t.Fatalf("process %d (%s) lives on", pid, s.Comm)
			}
		}
	}
}

// TestPace: a command is run each half minute at first, more seldom for an old gate,
// and ever more seldom when it says nothing.
func TestPace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	c := &clock{}
	p := probe(t, c, gate("g1", "count", file))
	count := func() int { b, _ := os.ReadFile(file); return len(b) }
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{0, 1}, {29 * time.Second, 1}, {30 * time.Second, 2}, {time.Hour, 3}, {time.Hour + 59*time.Second, 3}, {time.Hour + time.Minute, 4}, {24 * time.Hour, 5}, {24*time.Hour + 4*time.Minute, 5}, {24*time.Hour + 5*time.Minute, 6}} {
		c.now = step.at
		if got := see(t, p); count() != step.want || !got["g1"].Holds.IsKnown() {
			t.Fatalf("after %s it ran %d times, want %d: %+v", step.at, count(), step.want, got)
		}
	}
	var pauses []time.Duration
	for range 7 {
		p.note(gate("g2"), fleet.Unknown[bool]("it hangs"))
		pauses = append(pauses, p.last["g2"].pause)
	}
	if want := "[30s 1m0s 2m0s 4m0s 8m0s 10m0s 10m0s]"; fmt.Sprint(pauses) != want {
		t.Errorf("pauses %v, want %s", pauses, want)
	}
}

// TestClosed: what is known of a gate that is closed is forgotten; without a gate
// there is nothing to see.
func TestClosed(t *testing.T) {
	gates := []fleet.Gate{gate("g1", "exit", "0")}
	p, err := New(Options{Now: (&clock{}).at, Gates: func(context.Context) ([]fleet.Gate, error) { return gates, nil }})
	if err != nil {
		t.Fatal(err)
	}
	see(t, p)
	gates = nil
	if _, err := p.Look(t.Context()); !errors.Is(err, observe.ErrAbsent) || len(p.last) > 0 {
		t.Errorf("%v, %+v", err, p.last)
	}
	p.o.Gates = func(context.Context) ([]fleet.Gate, error) { return nil, errors.New("the ledger is locked") }
	if _, err := p.Look(t.Context()); err == nil || errors.Is(err, observe.ErrAbsent) {
		t.Error(err)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no clock")
	}
}

// TestNoTime: a command that could not have its whole time in this look is left to
// the next one, and nothing is said of it.
func TestNoTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	p := probe(t, &clock{}, gate("g1", "count", file))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	put, err := p.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	if _, err := os.Stat(file); err == nil || len(s.Checks.Value) > 0 {
		t.Errorf("it ran: %+v", s.Checks.Value)
	}
}
