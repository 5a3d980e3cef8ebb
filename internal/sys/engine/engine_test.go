package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/engine"
	"custos/internal/sys/enginetest"
)

func reader(t *testing.T, f *enginetest.Fake) *engine.Reader {
	t.Helper()
	r, err := engine.NewReader(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/var/run/docker.sock", "unix:///var/run/docker.sock"},
		{"unix:///run/user/1000//podman.sock", "unix:///run/user/1000/podman.sock"},
		{"tcp://10.0.0.1:2375", ""}, {"docker.sock", ""}, {"", ""}, {"unix://x", ""}, {"/a\nb", ""},
	} {
		got, err := engine.Address(c.in)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("Address(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestInspect(t *testing.T) {
	f := enginetest.New(t)
	began := time.Date(2026, 11, 20, 9, 0, 0, 123456789, time.UTC)
	f.Set(enginetest.Container{ID: "abc", Name: "web", Image: "web:1", State: "running", Started: began, Created: began.Add(-time.Hour),
		Health: "unhealthy", Said: "no answer", Restarts: 4, Policy: "on-failure", Retries: 5, Limit: 1 << 20, OOM: true,
		Labels: map[string]string{"a": "b"}})
	got, err := reader(t, f).Inspect(t.Context(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Detail{Image: "web:1", State: "running",
		Run: "2026-11-20T09:00:00.123456789Z", Started: began, Created: began.Add(-time.Hour), OOM: true, Health: "unhealthy",
		Said: "no answer", Restarts: 4, Policy: "on-failure", Retries: 5, Limit: 1 << 20}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("saw\n%+v, want\n%+v", got, want)
	}
	if _, err := reader(t, f).Inspect(t.Context(), "nobody"); !errors.Is(err, engine.ErrGone) {
		t.Errorf("nobody is %v, want ErrGone", err)
	}
}

// The time is the engine's own, not ours.
func TestClock(t *testing.T) {
	f := enginetest.New(t)
	f.Behind(10 * time.Minute)
	r := reader(t, f)
	if _, told := r.Now(); told {
		t.Error("it knows the time before anybody told it")
	}
	if _, err := r.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, told := r.Now()
	if off := time.Since(now) - 10*time.Minute; !told || off.Abs() > 30*time.Second {
		t.Errorf("it is %s (told: %t), want ten minutes ago", now, told)
	}
}

func TestUsageAndImages(t *testing.T) {
	f := enginetest.New(t)
	f.Set(enginetest.Container{ID: "abc", Name: "web", State: "running", Memory: 400, CPU: 3 * time.Second, ImageID: "sha256:used"})
	u, err := reader(t, f).Usage(t.Context(), "abc")
	if err != nil || u.Memory != 300 || u.CPU != 3*time.Second || u.At.IsZero() {
		t.Errorf("usage is %+v, %v", u, err)
	}
	f.SetImages(enginetest.Image{ID: "sha256:old", Size: 1000, Shared: -1}, enginetest.Image{ID: "sha256:older", Size: 1000, Shared: 600},
		enginetest.Image{ID: "sha256:used", Size: 5000})
	images, err := reader(t, f).Dangling(t.Context(), map[string]bool{"sha256:used": true})
	if err != nil || images != (engine.Images{Count: 2, Bytes: 1400}) {
		t.Errorf("images are %+v, %v", images, err)
	}
	w, err := engine.NewWriter(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	freed, err := w.Prune(t.Context())
	if err != nil || freed != 1400 {
		t.Errorf("freed %d, %v", freed, err)
	}
}

// Whatever an engine answers, there is an error and no wrong fact.
func TestBrokenAnswers(t *testing.T) {
	f := enginetest.New(t)
	f.Set(enginetest.Container{ID: "abc", Name: "web", State: "running"})
	for name, fault := range map[string]func(http.ResponseWriter){
		"500":            func(w http.ResponseWriter) { http.Error(w, "out of order", http.StatusInternalServerError) },
		"half an answer": func(w http.ResponseWriter) { fmt.Fprint(w, `[{"Id":"abc","Names":["/we`) },
		"another form":   func(w http.ResponseWriter) { fmt.Fprint(w, `{"Id": 7}`) },
		"a web page":     func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") },
		"nothing":        func(http.ResponseWriter) {},
		"hung up":        func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"redirect":       func(w http.ResponseWriter) { w.Header().Set("Location", "http://elsewhere/"); w.WriteHeader(302) },
	} {
		t.Run(name, func(t *testing.T) {
			f.Break(func(w http.ResponseWriter, r *http.Request) bool { fault(w); return true })
			r := reader(t, f)
			if list, err := r.List(t.Context()); err == nil {
				t.Errorf("the list is %+v", list)
			}
			if d, err := r.Inspect(t.Context(), "abc"); err == nil {
				t.Errorf("the container is %+v", d)
			}
			if u, err := r.Usage(t.Context(), "abc"); err == nil {
				t.Errorf("the usage is %+v", u)
			}
			if i, err := r.Dangling(t.Context(), nil); err == nil {
				t.Errorf("the images are %+v", i)
			}
			f.Break(nil)
			if list, err := r.List(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("after it was mended the list is %+v, %v", list, err)
			}
		})
	}
}

// An answer that never ends is not read to its end.
func TestEndlessAnswer(t *testing.T) {
	f := enginetest.New(t)
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/containers/json") {
			return false
		}
		row := []byte(strings.Repeat(`{"Id":"a","Names":["/b"]},`, 4096))
		_, err := w.Write([]byte("["))
		for err == nil {
			_, err = w.Write(row)
		}
		return true
	})
	if _, err := reader(t, f).List(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("an endless answer gave %v", err)
	}
}

func TestSlowAnswer(t *testing.T) {
	f := enginetest.New(t)
	f.Break(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := reader(t, f).List(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a slow engine gave %v", err)
	}
}

// An engine that went away says so, and can be listened to again when it is back.
func TestListen(t *testing.T) {
	f := enginetest.New(t)
	heard := make(chan struct{}, 100)
	ended := make(chan error, 1)
	r := reader(t, f)
	go func() { ended <- r.Listen(t.Context(), func() { heard <- struct{}{} }) }()
	wait(t, heard) // it listens
	f.Tell("die", "abc")
	wait(t, heard)
	f.Stop()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the engine went away, and nothing was said")
		}
	case <-time.After(enginetest.Patience):
		t.Fatal("the engine went away, and it is still listened to")
	}
	if err := r.Listen(t.Context(), func() { t.Error("heard of an engine that is gone") }); err == nil {
		t.Error("an engine that is gone was listened to")
	}
	f.Start(t)
	go func() { ended <- r.Listen(t.Context(), func() { heard <- struct{}{} }) }()
	wait(t, heard)
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(enginetest.Patience):
		t.Fatal("nothing was heard")
	}
}

// The client of a real engine: the same questions, and true answers.
func TestReal(t *testing.T) {
	e := enginetest.Real(t)
	w, err := engine.NewWriter(e.Socket)
	if err != nil {
		t.Fatal(err)
	}
	id := e.Run(t, enginetest.Run{Name: "web", Command: []string{"/inside", "run"}, Policy: "unless-stopped", Memory: 64 << 20})
	list, err := w.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Name != "web" || list[0].State != "running" {
		t.Fatalf("the list is %+v, %v", list, err)
	}
	d, err := w.Inspect(t.Context(), id)
	if err != nil || d.State != "running" || d.Health != "none" || d.Policy != "unless-stopped" || d.Limit != 64<<20 || d.Started.IsZero() {
		t.Errorf("the container is %+v, %v", d, err)
	}
	now, told := w.Now()
	if age := now.Sub(d.Started); !told || age < -2*time.Second || age > enginetest.Patience {
		t.Errorf("it runs for %s by the engine's clock (told: %t)", age, told)
	}
	if u, err := w.Usage(t.Context(), id); err != nil || u.Memory <= 0 || u.CPU <= 0 {
		t.Errorf("it uses %+v, %v", u, err)
	}
	if i, err := w.Info(t.Context()); err != nil || i.Version == "" || !strings.HasPrefix(i.Root, "/") {
		t.Errorf("the engine is %+v, %v", i, err)
	}
	if err := w.Restart(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if again, err := w.Inspect(t.Context(), id); err != nil || again.State != "running" || again.Run == d.Run {
		t.Errorf("after its restart the container is %+v, %v", again, err)
	}
}
