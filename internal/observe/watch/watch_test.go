package watch_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe/watch"
	"custos/internal/sys/procstat"
)

var began = time.Now()

func now() fleet.Instant {
	return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(time.Hour + time.Since(began)), Boot: "b"}
}

// child is a shell that ends as it is told.
type child struct {
	*exec.Cmd
	in    io.WriteCloser
	agent fleet.Agent
	told  time.Time // when it was told to end
	want  string
}

func start(t testing.TB, name string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command("/bin/sh", "-c", "read x; exit $x")}
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	c.agent = fleet.Agent{Name: name, Process: fleet.ProcessID{PID: c.Process.Pid, Start: startOf(t, c.Process.Pid), Boot: "b"}}
	return c
}

func startOf(t testing.TB, pid int) (start uint64) {
	t.Helper()
	s, err := procstat.Read("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	return s.Start
}

// end ends the child by signal 9, or with an exit status.
func (c *child) end(how int) {
	c.told = time.Now()
	if how < 0 {
		c.want = "signal 9"
		_ = c.Process.Kill()
		return
	}
	c.want = fmt.Sprintf("status %d", how)
	fmt.Fprintln(c.in, how)
}

func says(x fleet.Exit) string {
	if s, ok := x.Signal.Get(); ok {
		return fmt.Sprintf("signal %d", s)
	}
	if s, ok := x.Status.Get(); ok {
		return fmt.Sprintf("status %d", s)
	}
	return "unknown"
}

// book collects deaths.
type book struct {
	mu     sync.Mutex
	deaths []watch.Death
	at     map[string]time.Time
	news   chan struct{}
}

func newBook() *book { return &book{at: map[string]time.Time{}, news: make(chan struct{}, 10000)} }

func (b *book) died(d watch.Death) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaths = append(b.deaths, d)
	b.at[d.Agent] = time.Now()
	b.news <- struct{}{}
}

func (b *book) all() []watch.Death {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.deaths)
}

func (b *book) wait(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for range n {
		select {
		case <-b.news:
		case <-deadline:
			t.Fatalf("%d deaths were told, want %d", len(b.all()), n)
		}
	}
}

func watcher(t testing.TB, b *book, change func(*watch.Options)) *watch.Watcher {
	t.Helper()
	o := watch.Options{Died: b.died, Now: now}
	if change != nil {
		change(&o)
	}
	w, err := watch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// leakless fails when the test leaves goroutines or descriptors behind.
func leakless(t *testing.T) {
	t.Helper()
	count := func() (int, int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(fds)
	}
	goroutines, fds := count()
	t.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
		for {
			g, f := count()
			if g <= goroutines && f <= fds {
				return
			}
			if time.Now().After(deadline) {
				b := make([]byte, 1<<16)
				t.Fatalf("%d goroutines and %d descriptors, began with %d and %d\n%s", g, f, goroutines, fds, b[:runtime.Stack(b, true)])
			}
			runtime.Gosched()
		}
	})
}

// Of 200 children that are killed or end at random times, collected at once or
// not at all, every death is told once and with the right cause.
func TestEveryDeathIsToldOnceWithItsCause(t *testing.T) {
	leakless(t)
	const n = 200
	b := newBook()
	w := watcher(t, b, nil)
	children, agents := make([]*child, n), make([]fleet.Agent, n)
	for i := range children {
		children[i] = start(t, fmt.Sprint(i))
		agents[i] = children[i].agent
	}
	w.Follow(agents)
	if followed := w.Followed(); followed != n {
		t.Fatalf("%d followed", followed)
	}
	var wg sync.WaitGroup
	for i, c := range children {
		how := []int{-1, 3, 0}[rand.IntN(3)]
		after := time.Duration(rand.Int64N(int64(time.Second)))
		wg.Go(func() {
			time.Sleep(after) // a random time, waited for by nobody
			c.end(how)
			if i%2 == 0 {
				_ = c.Wait() // a parent that collects at once
			}
		})
		if i%20 == 0 {
			w.Follow(agents)
		}
	}
	wg.Wait()
	b.wait(t, n)
	w.Follow(agents) // still listed: told already
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	deaths := b.all()
	if len(deaths) != n {
		t.Fatalf("%d deaths were told, want %d", len(deaths), n)
	}
	var took []time.Duration
	sources := map[string]int{}
	for _, d := range deaths {
		var i int
		fmt.Sscan(d.Agent, &i)
		c := children[i]
		if got := says(d.Exit); got != c.want || d.Exit.Process != c.agent.Process || d.Exit.At.IsZero() {
			t.Errorf("%s: %s by %s of %v, want %s", d.Agent, got, d.Exit.Source, d.Exit.Process, c.want)
		}
		sources[d.Exit.Source]++
		took = append(took, b.at[d.Agent].Sub(c.told))
	}
	slices.Sort(took)
	t.Logf("told after: median %s, p95 %s, worst %s; sources %v", took[n/2], took[n*95/100], took[n-1], sources)
	if took[n/2] > 50*time.Millisecond {
		t.Errorf("median %s, want at most 50ms", took[n/2])
	}
}

// A process that ended before it could be followed is told of, once, and never
// taken for another one that has its pid.
func TestGoneBeforeItIsFollowed(t *testing.T) {
	leakless(t)
	b := newBook()
	w := watcher(t, b, nil)
	gone, zombie, alive := start(t, "gone"), start(t, "zombie"), start(t, "reused")
	gone.end(0)
	_ = gone.Wait()
	zombie.end(3)
	awaitZombie(t, zombie.Process.Pid)
	other := alive.agent
	other.Process.Start-- // a process that had the pid before
	agents := []fleet.Agent{gone.agent, zombie.agent, other, {Name: "none"}}
	w.Follow(agents)
	b.wait(t, 3)
	w.Follow(agents)
	want := map[string]string{"gone": "unknown", "zombie": "status 3", "reused": "unknown"}
	for _, d := range b.all() {
		if says(d.Exit) != want[d.Agent] {
			t.Errorf("%s: %s by %s, want %s", d.Agent, says(d.Exit), d.Exit.Source, want[d.Agent])
		}
	}
	alive.end(0)
	w.Follow([]fleet.Agent{alive.agent})
	b.wait(t, 1)
	if n := len(b.all()); n != 4 {
		t.Errorf("%d deaths were told, want 4", n)
	}
}

func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		s, err := procstat.Read("/proc", pid)
		if s.State == 'Z' {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no zombie: %+v %v", s, err)
		}
		runtime.Gosched()
	}
}

// When neither the zombie nor the kernel tells, the shim's file does, even when
// it comes a little later; and nothing is made up when it does not come.
func TestShimTellsWhatIsLost(t *testing.T) {
	leakless(t)
	b := newBook()
	var mu sync.Mutex
	asked := 0
	w := watcher(t, b, func(o *watch.Options) {
		o.Exits = func(instance string) *fleet.Exit {
			mu.Lock()
			defer mu.Unlock()
			if asked++; instance != "i1" || asked < 5 {
				return nil
			}
			return &fleet.Exit{Status: fleet.Unknown[int]("signal"), Signal: fleet.Known(9), OOM: true, Source: "shim", At: now()}
		}
	})
	told, silent := start(t, "told"), start(t, "silent")
	for _, c := range []*child{told, silent} {
		c.end(0)
		_ = c.Wait()
	}
	told.agent.Instance, silent.agent.Instance = "i1", "i2"
	w.Follow([]fleet.Agent{told.agent, silent.agent})
	b.wait(t, 2)
	for _, d := range b.all() {
		switch {
		case d.Agent == "told" && (says(d.Exit) != "signal 9" || !d.Exit.OOM || d.Exit.Instance != "i1" || d.Exit.Source != "shim"):
			t.Errorf("told: %+v", d)
		case d.Agent == "silent" && (says(d.Exit) != "unknown" || d.Exit.Instance != "i2"):
			t.Errorf("silent: %+v", d)
		}
	}
}

// An end with status 0 is its own only while its shim is there to say so, or says it a
// little later: what is ended with its shim did not end by itself.
func TestAGoodEndIsConfirmedByItsShim(t *testing.T) {
	b := newBook()
	var asked atomic.Int32
	w := watcher(t, b, func(o *watch.Options) {
		o.ShimGone = func(instance string) bool { return instance == "gone" }
		o.Exits = func(instance string) *fleet.Exit {
			if instance != "late" || asked.Add(1) < 5 {
				return nil
			}
			return &fleet.Exit{Status: fleet.Known(0), Source: "shim", Hangup: true, At: now()}
		}
	})
	for _, name := range []string{"gone", "late", "there", "unshimmed"} {
		c := start(t, name)
		if name != "unshimmed" {
			c.agent.Instance = name
		}
		w.Follow([]fleet.Agent{c.agent})
		c.end(0)
	}
	b.wait(t, 4)
	for _, d := range b.all() {
		if says(d.Exit) != "status 0" || d.Exit.ShimGone != (d.Agent == "gone") || d.Exit.Hangup != (d.Agent == "late") {
			t.Errorf("%+v", d)
		}
	}
}

// Who asked for an end is told with it, wherever it is known from how it ended: the
// word lies beside the shim's record before anybody is ended.
func TestDeathTellsWhoAsked(t *testing.T) {
	b := newBook()
	w := watcher(t, b, func(o *watch.Options) {
		o.Asked = func(instance string, _ fleet.Instant) string { return map[string]string{"i1": "eve"}[instance] }
		o.Exits = func(instance string) *fleet.Exit {
			if instance != "i3" {
				return nil
			}
			return &fleet.Exit{Status: fleet.Known(0), Source: "shim", At: now(), Asked: "ann"}
		}
	})
	asked, unasked, known := start(t, "asked"), start(t, "unasked"), start(t, "known")
	asked.agent.Instance, unasked.agent.Instance, known.agent.Instance = "i1", "i2", "i3"
	known.end(0)
	_ = known.Wait()
	w.Follow([]fleet.Agent{asked.agent, unasked.agent, known.agent})
	asked.end(3)
	unasked.end(3)
	b.wait(t, 3)
	want := map[string]string{"asked": "eve", "unasked": "", "known": "ann"}
	for _, d := range b.all() {
		if d.Exit.Asked != want[d.Agent] {
			t.Errorf("the end of %s was asked for by %q, want %q", d.Agent, d.Exit.Asked, want[d.Agent])
		}
	}
}

// A death that nobody can explain at once does not keep others waiting.
func TestSlowCauseKeepsNobodyWaiting(t *testing.T) {
	b := newBook()
	w := watcher(t, b, func(o *watch.Options) { o.Exits = func(string) *fleet.Exit { return nil } })
	var agents []fleet.Agent
	for i := range 50 {
		c := start(t, fmt.Sprint("lost", i))
		c.end(0)
		_ = c.Wait()
		c.agent.Instance = "x"
		agents = append(agents, c.agent)
	}
	quick := start(t, "quick")
	w.Follow(append(agents, quick.agent))
	quick.end(3)
	b.wait(t, 51)
	if at := b.at["quick"].Sub(quick.told); at > time.Second {
		t.Errorf("the quick one was told after %s", at)
	}
	if last := slices.MaxFunc(agents, func(x, y fleet.Agent) int { return b.at[x.Name].Compare(b.at[y.Name]) }); b.at[last.Name].Sub(quick.told) > 2*time.Second {
		t.Errorf("fifty lost ones took %s, one after the other", b.at[last.Name].Sub(quick.told))
	}
}

func TestRoomIsBounded(t *testing.T) {
	b := newBook()
	w := watcher(t, b, func(o *watch.Options) { o.Max = 2 })
	one, two, three := start(t, "1"), start(t, "2"), start(t, "3")
	agents := []fleet.Agent{one.agent, two.agent, three.agent}
	w.Follow(agents)
	if followed := w.Followed(); followed != 2 {
		t.Errorf("%d followed", followed)
	}
	one.end(0)
	b.wait(t, 1)
	w.Follow(agents)
	if followed := w.Followed(); followed != 2 {
		t.Errorf("after a death: %d followed", followed)
	}
	three.end(3)
	b.wait(t, 1)
}

// A process stays followed when a list misses it, and its new name counts.
func TestFollowKeepsAndRenames(t *testing.T) {
	b := newBook()
	w := watcher(t, b, nil)
	c := start(t, "old")
	w.Follow([]fleet.Agent{c.agent})
	c.agent.Name, c.agent.Instance = "new", "i1"
	w.Follow([]fleet.Agent{c.agent})
	w.Follow(nil)
	c.end(-1)
	b.wait(t, 1)
	if d := b.all()[0]; d.Agent != "new" || d.Exit.Instance != "i1" || says(d.Exit) != "signal 9" {
		t.Errorf("%+v", d)
	}
}

func TestNothingIsToldAfterClose(t *testing.T) {
	leakless(t)
	b := newBook()
	w := watcher(t, b, nil)
	c := start(t, "c")
	w.Follow([]fleet.Agent{c.agent})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.end(0)
	_ = c.Wait()
	w.Follow([]fleet.Agent{c.agent})
	if err := w.Close(); err != nil || len(b.all()) != 0 {
		t.Errorf("closed, and %v was told (%v)", b.all(), err)
	}
	if _, err := watch.New(watch.Options{}); err == nil {
		t.Error("a watcher without anybody to tell")
	}
}

// A process with threads, stopped and killed: as agents are.
func TestStoppedProcessIsNotDead(t *testing.T) {
	b := newBook()
	w := watcher(t, b, nil)
	c := start(t, "c")
	w.Follow([]fleet.Agent{c.agent})
	_ = c.Process.Signal(syscall.SIGSTOP)
	_ = c.Process.Signal(syscall.SIGCONT)
	c.end(7)
	b.wait(t, 1)
	if d := b.all(); len(d) != 1 || says(d[0].Exit) != "status 7" {
		t.Errorf("%+v", d)
	}
}

// BenchmarkFollow is one pass over 200 agents that are followed already.
func BenchmarkFollow(b *testing.B) {
	w := watcher(b, newBook(), nil)
	var agents []fleet.Agent
	for i := range 200 {
		agents = append(agents, start(b, fmt.Sprint(i)).agent)
	}
	for b.Loop() {
		w.Follow(agents)
	}
}
