package runs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/observe/runs"
	"custos/internal/sys/host"
	"custos/internal/sys/proc"
)

// world is what a probe looks at: records, and a folder.
type world struct {
	t     testing.TB
	dir   string
	now   func() fleet.Instant
	all   []fleet.Run
	regs  []fleet.Registration
	asked int
}

func newWorld(t testing.TB) *world {
	clock, err := host.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, dir: t.TempDir(), now: func() fleet.Instant {
		m := clock.Now()
		return fleet.Instant{Wall: m.Wall, Up: fleet.Duration(m.Up), Boot: m.Boot}
	}}
}

func (w *world) add(r fleet.Run) fleet.Run {
	r.Dir = fleet.Path(filepath.Join(w.dir, r.ID))
	if r.State == "" {
		r.State = fleet.RunOpen
	}
	if r.At.IsZero() {
		r.At = w.now()
	}
	if err := os.MkdirAll(r.StepsDir(), 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.all = append(w.all, r)
	return r
}

func (w *world) probe(change ...func(*runs.Options)) *runs.Probe {
	o := runs.Options{Now: w.now, Runs: func(context.Context) ([]fleet.Run, error) { w.asked++; return w.all, nil },
		Registered: func(context.Context) ([]fleet.Registration, error) { return w.regs, nil }}
	for _, c := range change {
		c(&o)
	}
	p, err := runs.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) look(p *runs.Probe) []fleet.RunFacts {
	put, err := p.Look(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Runs.Value
}

func write(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	w := newWorld(t)
	at := w.now()
	r := w.add(fleet.Run{ID: "r-1", Formula: "f", At: at, Session: &fleet.RunSession{Agent: "a", Reply: fleet.Path(filepath.Join(w.dir, "reply"))},
		Steps: []fleet.RunStep{{ID: "one", Do: fleet.StepRun, State: fleet.StepRunning, Attempt: 1}, {ID: "two", Do: fleet.StepRun, State: fleet.StepPerson, Attempt: 2}}})
	write(t, r.File(fleet.RunPhaseFile), "PHASE:failed \x1b[31mno way out\n")
	write(t, filepath.Join(r.StepDir("one", 1), fleet.RunNotStarted), "cannot start \x1b]0;x\x07it\n")
	w.add(fleet.Run{ID: "r-2", Formula: "f", State: fleet.RunFailed, EndedAt: at})
	observetest.Test(t, func() observe.Probe { return w.probe() })
}

func TestNoRuns(t *testing.T) {
	w := newWorld(t)
	if got := w.look(w.probe()); len(got) != 0 || w.asked != 1 {
		t.Errorf("%+v, asked %d times", got, w.asked)
	}
	p := w.probe(func(o *runs.Options) {
		o.Runs = func(context.Context) ([]fleet.Run, error) { return nil, errors.New("locked") }
	})
	if put, err := p.Look(t.Context()); put != nil || err == nil {
		t.Error("a ledger that does not answer has no runs")
	}
	if _, err := runs.New(runs.Options{}); err == nil {
		t.Error("no ledger was taken")
	}
}

func TestPhase(t *testing.T) {
	w := newWorld(t)
	r := w.add(fleet.Run{ID: "r-1"})
	p, path := w.probe(), r.File(fleet.RunPhaseFile)
	phase := func() fleet.Leaf[fleet.Phrase] { return w.look(p)[0].Phase }
	if got, known := phase().Get(); !known || got != (fleet.Phrase{}) {
		t.Errorf("without a file: %+v", got)
	}
	for text, want := range map[string]string{
		"": "", "\n": "", "PHASE:done\n": "done", "PHASE:awaiting_ci": "awaiting_ci", "PHASE:escalate\nReason: which one?\n": "escalate",
		"done\n": `"done"`, "PHASE:\n": `"PHASE:"`, "PHASE:lgtm\n": "lgtm", "\x1b[31mPHASE:done\n": `"PHASE:done"`, strings.Repeat("x", 1<<20): `"` + strings.Repeat("x", 39) + `…"`,
	} {
		write(t, path, text)
		got, known := phase().Get()
		if !known || got.Word != want || want != "" && got.At.IsZero() || want == "escalate" && got.Reason != "which one?" {
			t.Errorf("%.20q: %+v, %v", text, got, known)
		}
	}
	write(t, path, "PHASE:done\n")
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, before, before); err != nil {
		t.Fatal(err)
	}
	if got, known := phase().Get(); !known || got.Word != "" {
		t.Errorf("one of before the run: %+v", got)
	}
	for what, plant := range map[string]func() error{
		"link": func() error { return os.Symlink("/etc/hostname", path) }, "folder": func() error { return os.Mkdir(path, 0o700) },
		"pipe": func() error { return exec.Command("mkfifo", path).Run() },
	} {
		if err := errors.Join(os.RemoveAll(path), plant()); err != nil {
			t.Fatal(err)
		}
		if phase().IsKnown() {
			t.Errorf("a %s is a phase", what)
		}
	}
}

// Whatever was done to the wall clock since the run began, what its agent writes
// counts.
func TestPhaseUnderAClockThatIsSet(t *testing.T) {
	w := newWorld(t)
	real := w.now
	for _, by := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		at := real() // the run began by another clock
		at.Wall = at.Wall.Add(-by)
		w.all = nil
		r := w.add(fleet.Run{ID: "r" + fmt.Sprint(int(by.Hours())), At: at})
		write(t, r.File(fleet.RunPhaseFile), "PHASE:done\n")
		if got, _ := w.look(w.probe())[0].Phase.Get(); got.Word != "done" {
			t.Errorf("clock set by %s: %+v", by, got)
		}
	}
}

func TestLock(t *testing.T) {
	w := newWorld(t)
	lock := filepath.Join(w.dir, "factory.lock")
	w.add(fleet.Run{ID: "r-1", Lock: fleet.Path(lock)})
	locked := func(change ...func(*runs.Options)) fleet.Leaf[string] { return w.look(w.probe(change...))[0].Locked }
	if got, known := locked().Get(); !known || got != "" {
		t.Errorf("without a file: %q", got)
	}
	write(t, lock, fmt.Sprint(os.Getpid()))
	if got, _ := locked().Get(); !strings.Contains(got, fmt.Sprint(os.Getpid())) {
		t.Errorf("held by us: %q", got)
	}
	if locked(func(o *runs.Options) { o.ForeignNamespace = new(true) }).IsKnown() {
		t.Error("a pid of another namespace says something")
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	write(t, lock, fmt.Sprint(cmd.Process.Pid))
	if got, known := locked().Get(); !known || got != "" {
		t.Errorf("its holder is dead: %q", got)
	}
	write(t, lock, fmt.Sprint(os.Getpid()))
	past := time.Now().Add(-240 * time.Hour)
	if err := os.Chtimes(lock, past, past); err != nil {
		t.Fatal(err)
	}
	if got, known := locked().Get(); !known || got != "" {
		t.Errorf("its pid was reused: %q", got)
	}
	write(t, lock, "nonsense")
	if locked().IsKnown() {
		t.Error("nonsense is no holder")
	}
	blind := func(o *runs.Options) {
		o.Holder = func(int) (proc.Holding, error) { return proc.Holding{}, errors.New("no right") }
	}
	write(t, lock, "123")
	if locked(blind).IsKnown() {
		t.Error("who cannot be seen is nobody")
	}
}

func TestRecords(t *testing.T) {
	w := newWorld(t)
	now := w.now()
	reply := filepath.Join(w.dir, "reply")
	ago := func(d time.Duration) fleet.Instant { return now.Add(-d) }
	w.add(fleet.Run{ID: "old", Formula: "f", State: fleet.RunFailed, At: ago(50 * time.Hour), EndedAt: ago(49 * time.Hour)})
	w.add(fleet.Run{ID: "failed", Formula: "f", State: fleet.RunFailed, At: ago(3 * time.Hour), EndedAt: ago(2 * time.Hour),
		Session: &fleet.RunSession{Agent: "a", Worktree: "/w", Keep: "its agent died"}})
	w.add(fleet.Run{ID: "other", Formula: "f", Project: "p", State: fleet.RunDone, At: ago(time.Hour), EndedAt: ago(time.Minute)})
	w.add(fleet.Run{ID: "open", Formula: "f", At: ago(time.Hour), Session: &fleet.RunSession{Agent: "a", Reply: fleet.Path(reply), End: "phase", AsksAt: ago(time.Minute)},
		Steps: []fleet.RunStep{{ID: "x", Do: fleet.StepProse, State: fleet.StepPerson}, {ID: "y", Do: fleet.StepRun, State: fleet.StepReady, Attempt: 1}}})
	self, err := proc.NewReader(proc.TableOptions{}).Stat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	w.regs = []fleet.Registration{{Name: "a", Run: "failed", Process: fleet.ProcessID{PID: self.ID.PID, Start: self.ID.Start, Boot: now.Boot}}}
	write(t, reply, "do it")
	change(t, reply, ago(2*time.Second))
	got := w.look(w.probe())
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	failed, other, open := got[0], got[1], got[2]
	if lives, known := failed.Lives.Get(); failed.Kept != "/w: its agent died" || failed.Later != fleet.RunOpen || !known || !lives || failed.Ended < fleet.Duration(2*time.Hour) {
		t.Errorf("%+v", failed)
	}
	if lives, _ := other.Lives.Get(); other.Later != "" || lives {
		t.Errorf("%+v", other)
	}
	if lives, known := open.Lives.Get(); !known || lives || open.Waits != "x" || open.Ended != 0 || !open.Reply.Or(false) || open.Ready {
		t.Errorf("%+v", open)
	}
	if len(open.Steps) != 2 || open.Steps[0].Attempt != 1 || open.Steps[1].Attempt != 2 || open.Steps[1].State != fleet.ProcNone {
		t.Errorf("%+v", open.Steps)
	}
}

func change(t testing.TB, path string, at fleet.Instant) {
	t.Helper()
	if err := os.Chtimes(path, at.Wall, at.Wall); err != nil {
		t.Fatal(err)
	}
}

// A reply is there when only our user can have written it, after the question and
// not just now; what is not taken is said, with the reason.
func TestReplies(t *testing.T) {
	w := newWorld(t)
	ago := func(d time.Duration) fleet.Instant { return w.now().Add(-d) }
	spool := filepath.Join(w.dir, "replies")
	waits := func(id string, change ...func(*fleet.RunSession)) fleet.Run {
		s := fleet.RunSession{Agent: id, Reply: fleet.Path(filepath.Join(spool, fleet.ReplyFile("f"))), End: "phase", AsksAt: ago(time.Minute)}
		for _, c := range change {
			c(&s)
		}
		return w.add(fleet.Run{ID: id, Formula: "f", At: ago(time.Hour), Session: &s, Steps: []fleet.RunStep{{ID: "x", Do: fleet.StepProse, State: fleet.StepPerson}}})
	}
	for name, c := range map[string]struct {
		file  int // of ReplyFiles
		does  func(string) error
		other bool // another run of the formula waits, too
		goes  bool // no session of it has ended
		want  fleet.Leaf[bool]
	}{
		"under the run's name":             {want: fleet.Known(true)},
		"under the formula's name":         {file: 1, want: fleet.Known(true)},
		"for which of two runs":            {file: 1, other: true, want: fleet.Unknown[bool]("another run of f")},
		"under the run's name, of two":     {other: true, want: fleet.Known(true)},
		"older than the question":          {does: func(f string) error { return os.Chtimes(f, ago(time.Hour).Wall, ago(time.Hour).Wall) }, want: fleet.Unknown[bool]("older than the question")},
		"written just now":                 {does: func(f string) error { return os.Chtimes(f, w.now().Wall, w.now().Wall) }, want: fleet.Known(false)},
		"empty":                            {does: func(f string) error { return os.Truncate(f, 0) }, want: fleet.Known(false)},
		"others may write to it":           {does: func(f string) error { return os.Chmod(f, 0o666) }, want: fleet.Unknown[bool]("others may write")},
		"a folder":                         {does: func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, want: fleet.Unknown[bool]("not a regular file")},
		"not there":                        {does: os.Remove, want: fleet.Known(false)},
		"its first session is at work yet": {goes: true, want: fleet.Known(false)},
	} {
		w.all = nil
		r := waits("r-1", func(s *fleet.RunSession) {
			if c.goes {
				s.End = ""
			}
		})
		if c.other {
			waits("r-2")
		}
		if err := os.RemoveAll(spool); err != nil {
			t.Fatal(err)
		}
		file := r.ReplyFiles()[c.file]
		write(t, file, "take main")
		change(t, file, ago(5*time.Second))
		if c.does != nil {
			if err := c.does(file); err != nil {
				t.Fatal(err)
			}
		}
		got := w.look(w.probe())[0].Reply
		is, known := got.Get()
		if want, sure := c.want.Get(); is != want || known != sure || !sure && !strings.Contains(got.Why(), c.want.Why()) {
			t.Errorf("%s: %v %v %s", name, is, known, got.Why())
		}
	}
}

// A change in a run's folder is told at once, and looking tells nothing.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	r := w.add(fleet.Run{ID: "r-1", Steps: []fleet.RunStep{{ID: "one", Do: fleet.StepRun, State: fleet.StepRunning, Attempt: 1}}})
	if err := os.MkdirAll(r.StepDir("one", 1), 0o700); err != nil {
		t.Fatal(err)
	}
	p, ctx, cancel := w.probe(), t.Context(), func() {}
	ctx, cancel = context.WithCancel(ctx)
	news, ended := make(chan struct{}, 100), make(chan error, 1)
	var count atomic.Int64
	go func() { ended <- p.Watch(ctx, func() { count.Add(1); news <- struct{}{} }) }()
	<-news // it has begun
	w.look(p)
	for _, path := range []string{r.File(fleet.RunPhaseFile), filepath.Join(r.StepDir("one", 1), "exit.json")} {
		before := time.Now()
		write(t, path, "x")
		select {
		case <-news:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not told of", path)
		}
		t.Logf("told after %s", time.Since(before))
		for len(news) > 0 {
			<-news
		}
	}
	log, err := os.Create(filepath.Join(r.StepDir("one", 1), "stdout.log"))
	if err != nil {
		t.Fatal(err)
	}
	<-news
	told := count.Load()
	for range 100 {
		fmt.Fprintln(log, "noise")
		w.look(p)
	}
	if more := count.Load() - told; more > 2 {
		t.Errorf("told %d times of output", more)
	}
	log.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.look(p) // nobody watches any more
}

// Whatever lies in the folder of an attempt, the look ends, and only what a shim
// wrote is taken for an end.
func TestNothingIsMadeUp(t *testing.T) {
	w := newWorld(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w.all = nil
		r := w.add(fleet.Run{ID: fmt.Sprintf("r-%d", n), Steps: []fleet.RunStep{{ID: "s", Do: fleet.StepRun, State: fleet.StepRunning, Attempt: 1}}})
		for _, name := range []string{"claim", "started.json", "exit.json", "failed.json", "left.json"} {
			if rapid.Bool().Draw(rt, name) {
				write(t, filepath.Join(r.StepDir("s", 1), name), rapid.SampledFrom([]string{"", "{}", "null", `{"v":1}`, `{"v":1,"key":"s.1"}`, "\x00"}).Draw(rt, "text"))
			}
		}
		f := w.look(w.probe())[0].Steps[0]
		if f.State == fleet.ProcEnded || f.State == fleet.ProcRunning || f.State == "" || f.Status.IsKnown() || f.Signal.IsKnown() {
			rt.Fatalf("%+v", f)
		}
	})
}
