package containers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/containers"
	"custos/internal/observe/observetest"
	"custos/internal/sys/engine"
	"custos/internal/sys/engineproxy"
	"custos/internal/sys/enginetest"
)

// web is a container that has been well for an hour.
func web(f *enginetest.Fake) enginetest.Container {
	return enginetest.Container{Name: "web", Image: "web:1", ImageID: "sha256:web", State: "running", Started: f.Clock().Add(-time.Hour),
		Created: f.Clock().Add(-2 * time.Hour), Health: "healthy", Said: "all is well", Policy: "always", Memory: 4 << 20, Limit: 64 << 20,
		Labels: map[string]string{"com.docker.compose.project": "shop", "com.docker.compose.service": "front"}}
}

// box is a fake engine, a clock and a probe.
type box struct {
	*enginetest.Fake
	probe *containers.Probe
	now   time.Time
}

func newBox(t *testing.T, o containers.Options) *box {
	t.Helper()
	b := &box{Fake: enginetest.New(t), now: time.Now()}
	o.Socket, o.Now = b.Socket, func() time.Time { return b.now }
	b.probe = probe(t, o)
	return b
}

func probe(t *testing.T, o containers.Options) *containers.Probe {
	t.Helper()
	p, err := containers.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// look returns what the probe saw of the engine, and the error.
func look(t *testing.T, p *containers.Probe) (fleet.Engine, error) {
	t.Helper()
	put, err := p.Look(t.Context())
	var s fleet.Snapshot
	if put != nil {
		put(&s)
	}
	return s.Engine.Value, err
}

// see is look, of one container, without an error.
func (b *box) see(t *testing.T, name string) fleet.Container {
	t.Helper()
	e, err := look(t, b.probe)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range e.Containers {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no %s in %+v", name, e.Containers)
	return fleet.Container{}
}

func TestSuite(t *testing.T) {
	observetest.Test(t, func() observe.Probe {
		b := newBox(t, containers.Options{Ours: []string{"web"}, Wanted: []string{"queue"}})
		b.Set(web(b.Fake), enginetest.Container{Name: "old", State: "exited", Finished: b.Clock().Add(-time.Hour), Exit: 1, Policy: "no"})
		b.SetImages(enginetest.Image{ID: "sha256:x", Size: 500})
		return b.probe
	})
}

func TestFacts(t *testing.T) {
	b := newBox(t, containers.Options{Ours: []string{"w*"}, Wanted: []string{"queue"}})
	b.Set(web(b.Fake))
	b.SetImages(enginetest.Image{ID: "sha256:x", Size: 500, Shared: 200}, enginetest.Image{ID: "sha256:web", Size: 5000})
	b.SetCache(enginetest.Record{ID: "old", Size: 70, Used: b.Clock().Add(-25 * time.Hour)}, enginetest.Record{ID: "warm", Size: 700, Used: b.Clock().Add(-time.Hour)})
	e, err := look(t, b.probe)
	if err != nil || e.Version != "fake" || e.Root != "/var/lib/docker" || e.Dangling.Or(-1) != 300 || e.BuildCache.Or(-1) != 70 || e.Address != "unix://"+b.Socket {
		t.Fatalf("the engine is %+v, %v", e, err)
	}
	c := b.see(t, "web")
	since, _ := c.Since.Get()
	if d := time.Duration(since) - time.Hour; d < -time.Minute || d > time.Minute {
		t.Errorf("it runs for %s, want an hour", since)
	}
	c.Since, c.ID, c.Run = fleet.Leaf[fleet.Duration]{}, "", ""
	got, _ := json.Marshal(c)
	const want = `{"id":"","name":"web","image":"web:1","owner":"configured","project":"shop","service":"front","wanted":true,"run":"",` +
		`"state":"running","since":{"unknown":"not looked at"},"health":"healthy","said":"","exit":0,"oom":false,"restarts":0,"lately":0,` +
		`"memory":3145728,"limit":67108864,"cpu":0}`
	if string(got) != want {
		t.Errorf("saw\n%s, want\n%s", got, want)
	}
	b.Change("web", func(c *enginetest.Container) {
		c.State, c.Finished, c.Health, c.Said = "exited", c.Started, "unhealthy", "no answer"
	})
	if c := b.see(t, "web"); c.Health.Or("") != "none" || c.Said != "" {
		t.Errorf("a container that does not run is %v: %q", c.Health, c.Said)
	}
	if q := b.see(t, "queue"); q.State.Or("") != "missing" || !q.Wanted || q.ID != "" || q.Owner != fleet.OwnerForeign {
		t.Errorf("a wanted container that there is none of is %+v", q)
	}
}

// The engine itself is exposed to a Custos in a container, and not what the proxy shows of it.
func TestExposed(t *testing.T) {
	f := enginetest.New(t)
	proxied := filepath.Join(filepath.Dir(f.Socket), "p.sock")
	l, err := engineproxy.Listen(proxied)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- engineproxy.New(engineproxy.Options{Socket: f.Socket, Log: slog.New(slog.DiscardHandler)}).Serve(ctx, l)
	}()
	t.Cleanup(func() { stop(); <-ended })
	for _, c := range []struct {
		o    containers.Options
		want fleet.Leaf[bool]
	}{
		{containers.Options{Socket: f.Socket, Inside: true}, fleet.Known(true)},
		{containers.Options{Socket: f.Socket}, fleet.Known(false)},
		{containers.Options{Socket: proxied, Inside: true}, fleet.Known(false)},
	} {
		if e, err := look(t, probe(t, c.o)); err != nil || e.Exposed != c.want {
			t.Errorf("%+v: exposed is %v (%v), want %v", c.o, e.Exposed, err, c.want)
		}
	}
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/info") {
			return false
		}
		http.Error(w, "no", http.StatusInternalServerError)
		return true
	})
	if e, err := look(t, probe(t, containers.Options{Socket: proxied, Inside: true})); err != nil || e.Exposed.IsKnown() {
		t.Errorf("who answers is not known, and exposed is %v (%v)", e.Exposed, err)
	}
}

// What is wanted follows from the restart policy, but what somebody stopped is not.
func TestWanted(t *testing.T) {
	b := newBox(t, containers.Options{Wanted: []string{"named"}})
	for i, c := range []struct {
		in   enginetest.Container
		want bool
	}{
		{enginetest.Container{State: "running", Policy: "no"}, false},
		{enginetest.Container{State: "running", Policy: ""}, false},
		{enginetest.Container{State: "running", Policy: "always"}, true},
		{enginetest.Container{State: "restarting", Policy: "unless-stopped"}, true},
		{enginetest.Container{State: "exited", Policy: "unless-stopped", Exit: 137}, false}, // somebody stopped it
		{enginetest.Container{State: "exited", Policy: "always", Error: "no such file"}, true},
		{enginetest.Container{State: "created", Policy: "always"}, false},
		{enginetest.Container{State: "created", Policy: "always", Error: "no such file"}, true},
		{enginetest.Container{State: "exited", Policy: "on-failure", Exit: 1, Retries: 3, Restarts: 3}, true}, // given up
		{enginetest.Container{State: "exited", Policy: "on-failure", Exit: 137, Retries: 3, Restarts: 1}, false},
		{enginetest.Container{State: "exited", Policy: "on-failure", Exit: 0, Retries: 3, Restarts: 3}, false},
		{enginetest.Container{State: "exited", Policy: "on-failure", Exit: 1}, false},
		{enginetest.Container{State: "running", Policy: "on-failure"}, true},
	} {
		c.in.Name = "c"
		b.Set(c.in)
		if got := b.see(t, "c"); got.Wanted != c.want {
			t.Errorf("%d: %+v is wanted: %t, want %t", i, c.in, got.Wanted, c.want)
		}
	}
	b.Set(enginetest.Container{Name: "named", State: "exited", Policy: "no"})
	if !b.see(t, "named").Wanted {
		t.Error("what custos.toml names is not wanted")
	}
}

// The engine's clock tells ages, though it is ten minutes off.
func TestClockSkew(t *testing.T) {
	for _, skew := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		b := newBox(t, containers.Options{})
		b.Behind(skew)
		b.Set(web(b.Fake))
		since, ok := b.see(t, "web").Since.Get()
		if d := time.Duration(since) - time.Hour; !ok || d.Abs() > time.Minute {
			t.Errorf("skew %s: it runs for %s (known: %t), want an hour", skew, since, ok)
		}
		b.Change("web", func(c *enginetest.Container) { c.Started = b.Clock().Add(time.Hour) })
		if since := b.see(t, "web").Since; since.IsKnown() {
			t.Errorf("skew %s: what began in the future runs for %v", skew, since)
		}
	}
}

func TestHealthWords(t *testing.T) {
	b := newBox(t, containers.Options{})
	c := web(b.Fake)
	c.Health, c.Said = "unhealthy", "\x1b[31mqueue is stuck\x1b[0m\n\x00password=hunter2secret "+strings.Repeat("x ", 1<<19)
	c.Error = "token=abcdef12345 refused"
	b.Set(c)
	got := b.see(t, "web")
	if !strings.HasPrefix(got.Said, "queue is stuck password=*** x x") || len(got.Said) > 1000 || strings.ContainsRune(got.Said, '\x1b') {
		t.Errorf("it said %.300q", got.Said)
	}
	if strings.Contains(got.Said+got.Error, "hunter2") || strings.Contains(got.Error, "abcdef") {
		t.Errorf("a secret was let through: %q, %q", got.Said, got.Error)
	}
	b.Change("web", func(c *enginetest.Container) { c.State, c.Health = "levitating", "splendid" })
	if got := b.see(t, "web"); got.State.IsKnown() || got.Health.IsKnown() {
		t.Errorf("words that nobody knows became %v, %v", got.State, got.Health)
	}
}

// Restarts are counted over the last ten minutes, and where that was not watched
// nothing is said.
func TestLately(t *testing.T) {
	b := newBox(t, containers.Options{})
	c := web(b.Fake)
	c.Restarts, c.Started = 50, b.Clock().Add(-time.Minute)
	b.Set(c)
	step := func(after time.Duration, change func(*enginetest.Container), want string) {
		t.Helper()
		b.now = b.now.Add(after)
		if change != nil {
			b.Change("web", change)
		}
		got := "unknown"
		if n, ok := b.see(t, "web").Lately.Get(); ok {
			got = fmt.Sprint(n)
		}
		if got != want {
			t.Errorf("restarts lately: %s, want %s", got, want)
		}
	}
	more := func(n int) func(*enginetest.Container) { return func(c *enginetest.Container) { c.Restarts += n } }
	step(0, nil, "unknown")
	step(5*time.Minute, more(50), "unknown")
	step(5*time.Minute, more(2), "52")
	step(4*time.Minute, nil, "52")
	step(2*time.Minute, nil, "2")
	step(5*time.Minute, nil, "0")
	step(time.Minute, more(4), "4")
	step(time.Minute, func(c *enginetest.Container) { c.Restarts = 0 }, "0") // somebody started it: the engine counts anew
	step(time.Minute, more(3), "7")
	step(time.Minute, func(c *enginetest.Container) { c.Restarts = 2 }, "9")                               // again, and it ended twice since
	step(time.Minute, func(c *enginetest.Container) { c.Started = b.Clock().Add(-20 * time.Minute) }, "0") // this run is older
	young := c
	young.Name, young.ID, young.Created = "young", "1234", b.Clock().Add(-time.Minute)
	b.Set(young)
	if n, ok := b.see(t, "young").Lately.Get(); !ok || n != 50 {
		t.Errorf("a container of a minute restarted %d times lately (known: %t), want 50", n, ok)
	}
}

func TestCPU(t *testing.T) {
	b := newBox(t, containers.Options{})
	b.Set(web(b.Fake))
	if c := b.see(t, "web").CPU; c.IsKnown() {
		t.Errorf("one measure gave %v", c)
	}
	b.Change("web", func(c *enginetest.Container) { c.CPU += time.Second })
	if c, ok := b.see(t, "web").CPU.Get(); !ok || c <= 0 {
		t.Errorf("two measures gave %v (known: %t)", c, ok)
	}
	b.Change("web", func(c *enginetest.Container) { c.Started, c.CPU = b.Clock(), time.Minute })
	if c := b.see(t, "web").CPU; c.IsKnown() {
		t.Errorf("measures of two runs gave %v", c)
	}
}

// One container that cannot be inspected blinds nothing but itself; one that
// went away meanwhile is left out.
func TestHalfAnAnswer(t *testing.T) {
	b := newBox(t, containers.Options{})
	other := web(b.Fake)
	other.Name, other.ID = "other", "beef"
	gone := other
	gone.Name, gone.ID = "gone", "dead"
	b.Set(web(b.Fake), other, gone)
	b.Break(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/beef/json"):
			http.Error(w, "out of order, token=abcdefgh1", http.StatusInternalServerError)
		case strings.HasSuffix(r.URL.Path, "/dead/json"):
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, "/images/json"), strings.HasSuffix(r.URL.Path, "/info"), strings.HasSuffix(r.URL.Path, "/stats"), strings.HasSuffix(r.URL.Path, "/system/df"):
			http.Error(w, "out of order", http.StatusInternalServerError)
		default:
			return false
		}
		return true
	})
	e, err := look(t, b.probe)
	if err != nil || len(e.Containers) != 2 || e.Dangling.IsKnown() || e.BuildCache.IsKnown() {
		t.Fatalf("saw %+v, %v", e, err)
	}
	bad, good := e.Containers[0], e.Containers[1]
	if bad.Name != "other" || bad.State.Or("") != "running" || bad.Health.IsKnown() || bad.OOM.IsKnown() || bad.Lately.IsKnown() || bad.Exit.IsKnown() {
		t.Errorf("what could not be inspected is %+v", bad)
	}
	if !strings.Contains(bad.Health.Why(), "out of order") || strings.Contains(bad.Health.Why(), "abcdefgh1") {
		t.Errorf("the reason is %q", bad.Health.Why())
	}
	if good.Health.Or("") != "healthy" || good.Memory.IsKnown() || good.CPU.IsKnown() {
		t.Errorf("the other one is %+v", good)
	}
}

// A look ends in time, and says what it did not see.
func TestSlowEngine(t *testing.T) {
	b := newBox(t, containers.Options{})
	b.Set(web(b.Fake))
	b.Break(func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/json") || strings.HasSuffix(r.URL.Path, "/containers/json") {
			return false
		}
		<-r.Context().Done()
		return true
	})
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	put, err := b.probe.Look(ctx)
	if put == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a slow engine gave %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	if c := s.Engine.Value.Containers; len(c) != 1 || c[0].Health.IsKnown() {
		t.Errorf("saw %+v", c)
	}
}

func TestTooMany(t *testing.T) {
	b := newBox(t, containers.Options{Ours: []string{"zz"}, Wanted: []string{"nobody"}})
	for i := range 510 {
		b.Set(enginetest.Container{Name: fmt.Sprintf("c%03d", i), ID: fmt.Sprintf("%064x", i+1), State: "exited"})
	}
	b.Set(enginetest.Container{Name: "zz", ID: "ffff", State: "exited"}, enginetest.Container{Name: "c600", ID: "eeee", ImageID: "sha256:late", State: "exited"})
	b.SetImages(enginetest.Image{ID: "sha256:late", Size: 5000})
	e, err := look(t, b.probe)
	var cut observe.Cut
	if !errors.As(err, &cut) || len(e.Containers) != 501 || e.Containers[500].Name != "zz" {
		t.Errorf("saw %d containers, the last %+v, %v", len(e.Containers), e.Containers[len(e.Containers)-1], err)
	}
	// All are listed, so who is not is missing, and what they are made from is in use.
	if c := e.Containers[499]; c.Name != "nobody" || c.State.Or("") != "missing" {
		t.Errorf("a wanted container that there is none of: %+v", c)
	}
	if n := e.Dangling.Or(-1); n != 0 {
		t.Errorf("%d bytes of images are not in use, but all are", n)
	}
}

// An engine that custos.toml does not count on is absent; one that it does, or
// that was there before, is not seen.
func TestAbsent(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none.sock")
	r, err := engine.NewReader(nowhere)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := look(t, probe(t, containers.Options{Socket: containers.None})); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("socket none gave %v", err)
	}
	if _, err := look(t, probe(t, containers.Options{Socket: nowhere})); err == nil || errors.Is(err, observe.ErrAbsent) {
		t.Errorf("a configured engine that is not there gave %v", err)
	}
	if _, err := look(t, probe(t, containers.Options{Wanted: []string{"web"}, Engine: r})); err == nil || errors.Is(err, observe.ErrAbsent) {
		t.Errorf("no engine where a container is wanted gave %v", err)
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]containers.Options{
		"socket": {Socket: "tcp://10.0.0.1:2375"}, "ours": {Ours: []string{"[a"}}, "wanted": {Wanted: []string{"web-*"}},
		"every": {Every: "often"}, "none": {Socket: "none", Wanted: []string{"web"}},
	} {
		if _, err := containers.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gave %v", o, err)
		}
	}
	if a, err := (containers.Options{Socket: "~/e.sock", Home: "/home/me"}).Address(); err != nil || a != "unix:///home/me/e.sock" {
		t.Errorf("~/ became %q, %v", a, err)
	}
}
