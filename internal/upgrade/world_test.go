package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/sys/presence"
	"custos/internal/sys/systemdtest"
)

// watched is a machine whose daemon is this process: it answers what a test says.
type watched struct {
	*machine
	status api.Status
	health api.Health
	asked  []string
	bars   string // why who asks may not have it go on as another one; "" for nothing
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{machine: newMachine(t), health: api.Health{State: api.HealthWell}}
	if err := os.MkdirAll(w.Config.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	is, err := presence.Claim(w.Config.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = is.Release() })
	started := time.Now()
	w.status = api.Status{Daemon: true, Version: old, PID: os.Getpid(), Program: fleet.Path(w.Own), Started: &started}
	listener, dial := socket(t)
	answer := func(what func() any) http.HandlerFunc {
		return func(out http.ResponseWriter, req *http.Request) {
			w.asked = append(w.asked, req.URL.Path)
			_ = json.NewEncoder(out).Encode(what())
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/status", answer(func() any { return w.status }))
	mux.Handle("GET /v1/health", answer(func() any { return w.health }))
	mux.HandleFunc("POST /v1/become", func(out http.ResponseWriter, req *http.Request) {
		var order api.BecomeOrder
		if err := json.NewDecoder(req.Body).Decode(&order); err != nil || !order.Try {
			t.Errorf("it is told to go on as %+v, %v", order, err)
		}
		if w.bars != "" {
			e := &api.Error{Kind: api.Forbidden, Message: w.bars}
			out.WriteHeader(e.HTTPStatus())
			_ = json.NewEncoder(out).Encode(e)
			return
		}
		_, _ = out.Write([]byte("{}"))
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	w.Runs, w.Dial = func() bool { return true }, dial
	return w
}

// socket is one at which a test listens, and the way there.
func socket(t *testing.T) (net.Listener, func(context.Context) (*api.Client, error)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, func(ctx context.Context) (*api.Client, error) { return api.Dial(ctx, filepath.Join(dir, "s")) }
}

// A daemon of which it could not be proved that the new one watches is not exchanged, and --check
// says so, too.
func TestADaemonThatIsNotExchanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *watched)
		says   string
	}{
		"of another version":               {func(w *watched) { w.status.Version = "0.0.9" }, "the daemon is 0.0.9, and this program 0.1.0"},
		"of another place":                 {func(w *watched) { w.status.Program = "/opt/custos/custos" }, "the daemon is /opt/custos/custos, and this program "},
		"of a container":                   {func(w *watched) { w.status.PID = 1 }, "start one of a newer image"},
		"that is not well":                 {func(w *watched) { w.health = api.Health{State: api.HealthBlind, Why: "git hangs"} }, "not well"},
		"that may not be told by who asks": {func(w *watched) { w.bars = "it cannot be shown to be no agent" }, "it cannot be shown to be no agent"},
		"without a process":                {func(w *watched) { w.Config.StateDir = t.TempDir() }, "its process is not known"},
		"that nobody can reach": {func(w *watched) {
			w.Dial = func(context.Context) (*api.Client, error) { return nil, errors.New("no way") }
		}, "no way"},
	} {
		t.Run(name, func(t *testing.T) {
			w, o := newWatched(t), made(t, 1)
			t.Setenv("PATH", t.TempDir())
			c.change(w)
			for _, o.Check = range []bool{true, false} {
				if r, err := w.do(o); err == nil || !strings.Contains(err.Error(), c.says) || r.Done || w.version() != old {
					t.Errorf("%+v, %v", r, err)
				}
			}
			if _, err := w.do(Order{}); err != nil {
				t.Errorf("how it stands: %v", err)
			}
		})
	}
	w, o := newWatched(t), made(t, 1)
	o.Check, w.status.Socket = true, "/run/s"
	r, err := w.do(o)
	if err != nil || !slices.ContainsFunc(r.Plan, func(s Stage) bool { return strings.HasPrefix(s.Commands[0], "curl --fail --unix-socket /run/s ") }) {
		t.Errorf("a daemon that is well: %+v, %v", r, err)
	}
}

// A daemon that hangs is asked for as long as one that lives may take to answer, and no longer:
// it is put back by its end.
func TestADaemonThatHangsIsNotWaitedFor(t *testing.T) {
	w := newMachine(t)
	_, w.Dial = socket(t) // who listens there accepts nothing
	w.Answers = 100 * time.Millisecond
	d := &watcher{World: w.World}
	if err := d.become(context.WithoutCancel(t.Context())); !api.IsUnreachable(err) {
		t.Error(err)
	}
	if _, err := d.well(context.WithoutCancel(t.Context())); !api.IsUnreachable(err) {
		t.Error(err)
	}
}

// Whose daemon a unit starts is that unit's to start anew; what cannot be told is refused.
func TestTheUnitOfADaemon(t *testing.T) {
	user := fmt.Sprintf("0::/user.slice/user-%d.slice/user@%d.service/app.slice/custos.service\n", os.Getuid(), os.Getuid())
	const text = "[Service]\nType=notify\nKillMode=process\nExecStart=/a/custos up\n"
	for name, c := range map[string]struct {
		cgroup, loaded, active, refuses string
		absent                          bool
		unit, says                      string
	}{
		"its own":              {user, text, "77", "", false, "custos.service", ""},
		"by hand":              {"0::/user.slice/session-3.scope\n", text, "77", "", false, "", ""},
		"out of another one":   {strings.Replace(user, "custos.service", "editor.service", 1), text, "12", "", false, "", ""},
		"no systemd":           {user, text, "77", "", true, "", ""},
		"no bus":               {user, text, "77", "Failed to connect to bus", false, "", "cannot tell whether custos.service is to start the daemon"},
		"one that ends agents": {user, strings.Replace(text, "process", "control-group", 1), "77", "", false, "", "every agent would end"},
	} {
		m := systemdtest.New(t, t.TempDir())
		m.Put("user/loaded", c.loaded)
		m.Put("user/active", c.active)
		if c.refuses != "" {
			m.Put("user/refuses", c.refuses)
		}
		d := &watcher{World: World{Root: m.Root, Getenv: os.Getenv}, pid: 77}
		if c.absent {
			d.Root = t.TempDir()
		}
		err := d.findUnit(t.Context(), c.cgroup)
		if d.unit != c.unit || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: unit %q, %v", name, d.unit, err)
		}
	}
}

// A daemon is begun anew as its unit does, and from there on that process is looked after.
func TestAUnitBeginsAnew(t *testing.T) {
	w := newWatched(t) // this process is the daemon that the unit begins
	m := systemdtest.New(t, t.TempDir())
	m.Put("user/loaded", "[Service]\nKillMode=process\n")
	m.Put("user/active", fmt.Sprint(os.Getpid()))
	w.Root, w.Getenv = m.Root, os.Getenv
	d := &watcher{World: w.World, pid: os.Getpid()}
	if err := d.findUnit(t.Context(), fmt.Sprintf("0::/user@%d.service/app.slice/custos.service\n", os.Getuid())); err != nil || d.unit == "" {
		t.Fatalf("%q, %v", d.unit, err)
	}
	d.pid, d.Runs = 0, func() bool { return false }
	if err := d.renew(t.Context()); err != nil || d.pid != os.Getpid() {
		t.Errorf("it looks after %d, %v", d.pid, err)
	}
	if diff := strings.Join(m.Asked(), "; "); diff != "systemctl --user reset-failed custos.service; systemctl --user --no-block start custos.service" {
		t.Error(diff)
	}
}

// How a daemon is begun by hand: with the custos.toml that it had, by whatever path that was named.
func TestADaemonByHand(t *testing.T) {
	toml := config.Config{File: "/home/me/custos.toml", Found: true}
	if got := argv("/b/custos", toml, []string{"custos", "--config", "custos.toml", "--json", "up"}); !slices.Equal(got, []string{"/b/custos", "--config", "/home/me/custos.toml", "--json", "up"}) {
		t.Errorf("%q", got)
	}
	if got := argv("/b/custos", config.Config{File: "/none"}, []string{"custos", "up"}); !slices.Equal(got, []string{"/b/custos", "up"}) {
		t.Errorf("%q", got)
	}
}

// More daemons of the same programs, as of other users, are named.
func TestOtherDaemons(t *testing.T) {
	w, o := newMachine(t), made(t, 1)
	tail, err := exec.LookPath("tail")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(tail)
	if err == nil {
		err = os.Rename(w.Own, w.Own+".kept")
	}
	if err = errors.Join(err, os.WriteFile(w.Own, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(w.Own, "-f", "/dev/null", "up")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = other.Process.Kill(), other.Wait() })
	if err := os.Rename(w.Own+".kept", w.Own); err != nil {
		t.Fatal(err)
	}
	r, err := w.do(o)
	if says := strings.Join(r.Lines(), "\n"); err != nil || !r.Done || !strings.Contains(says, fmt.Sprintf("Process %d, another daemon of these programs, goes on as it is", other.Process.Pid)) {
		t.Errorf("%s, %v", says, err)
	}
}

// One that ends while it is asked is not waited for, though the client would try again.
func TestAnEndedDaemonIsNotWaitedFor(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &watcher{World: World{Answers: time.Minute, Dial: func(ctx context.Context) (*api.Client, error) {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		<-ctx.Done()
		return nil, ctx.Err()
	}}}
	if !d.follow(cmd.Process.Pid) {
		t.Fatal("it does not live")
	}
	if _, err := d.status(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("said: %v", err)
	}
}
