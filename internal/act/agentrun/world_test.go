package agentrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/act/checkpoint"
	"custos/internal/act/nudge"
	"custos/internal/act/recover"
	"custos/internal/act/spawn"
	"custos/internal/act/stopagent"
	"custos/internal/agent"
	"custos/internal/agent/agenttest"
	"custos/internal/fleet"
	"custos/internal/hookwire"
	"custos/internal/session"
	"custos/internal/session/process"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
	"custos/internal/sys/host"
	"custos/internal/sys/shim"
)

// ground is a whole small world: both providers, the fake agent as claude with
// its hooks, and a ledger of a map.
type ground struct {
	t        *testing.T
	world    agentrun.World
	launcher *agentrun.Launcher
	home     string
	run      string
	ledger   map[string]fleet.Registration
	count    int
	foretold []fleet.Registration // while actions went on
	arrived  *fleet.Arrival       // of the last action
}

func newGround(t *testing.T) *ground {
	t.Helper()
	shimBinary := filepath.Join(binaries, "custos-shim")
	server := sessiontest.NewTmux(t)
	server.New(t, "keeper", "sleep", "1000") // a server without sessions answers otherwise
	g := &ground{t: t, home: agenttest.Home(t), run: t.TempDir(), ledger: map[string]fleet.Registration{}}
	shims := filepath.Join(t.TempDir(), "agents")
	t.Cleanup(func() { endAll(t, shims) })
	inPanes, err := tmux.NewProvider(tmux.ProviderOptions{Socket: server.Socket, Shim: shimBinary, Deadline: "5s", Start: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	without, err := process.New(process.Options{Root: shims, Shim: shimBinary, Start: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	clock, err := host.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	g.world = agentrun.World{
		Providers: map[fleet.Where]session.Provider{fleet.WhereTmux: inPanes, fleet.WhereHeadless: without}, Kinds: kinds, Shims: shims,
		Registered: func(_ context.Context, name string) (fleet.Registration, bool, error) {
			r, ok := g.ledger[name]
			return r, ok, nil
		},
		Hooks: g.hooks,
		Now: func() fleet.Instant {
			m := clock.Now()
			return fleet.Instant{Wall: m.Wall, Up: fleet.Duration(m.Up), Boot: m.Boot}
		},
	}
	g.launcher, err = agentrun.NewLauncher(agentrun.LauncherOptions{World: g.world, Run: g.run, Hook: filepath.Join(binaries, "custos-hook"), Environ: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "LANG=C.UTF-8", "SECRET=never", "NAMED=yes", "CLAUDECODE=1", "TMUX=/x,1,0"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.world = g.launcher.World
	return g
}

// binaries is where TestMain has built what agents run under.
var binaries string

func TestMain(m *testing.M) { os.Exit(build(m)) }

// binariesVar names a folder with them, where this very test binary was started by one that has built them.
const binariesVar = "CUSTOS_TEST_BINARIES"

func build(m *testing.M) int {
	if binaries = os.Getenv(binariesVar); binaries != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "custos-agentrun-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "custos/cmd/custos-shim", "custos/cmd/custos-hook")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build shim and hook: %v: %s\n", err, out)
		return 1
	}
	binaries = dir
	return m.Run()
}

func endAll(t *testing.T, shims string) {
	all, _ := shim.List(shims)
	for _, r := range all {
		sessiontest.End(t, r.Dir)
	}
}

// hooks reads what nobody acknowledged: nobody listens here, so all is spooled.
func (g *ground) hooks(_ context.Context, key string, since fleet.Instant) ([]fleet.HookEvent, error) {
	spool := hookwire.Spool{Dir: hookwire.SpoolDir(g.run)}
	names, err := spool.List()
	if err != nil {
		return nil, nil // no hook has run yet
	}
	var out []fleet.HookEvent
	for _, name := range names {
		p, err := spool.Get(name)
		if err != nil {
			return nil, err
		}
		e, err := g.world.Kinds.ParseHook(p.Kind, p.Event, p.Payload)
		if err != nil {
			continue
		}
		e.Instance, e.At = p.Instance, fleet.Instant{Wall: time.Unix(0, p.Wall).UTC(), Up: fleet.Duration(p.UpNanos), Boot: p.Boot}
		if e.Key() == key && !e.At.Before(since) {
			out = append(out, e)
		}
	}
	return out, nil
}

// register writes a new agent into the ledger.
func (g *ground) register(r fleet.Registration) fleet.Registration {
	if r.Kind == "" {
		r.Kind, r.Argv = "claude", append([]string{agenttest.Build(g.t)}, r.Argv...)
	}
	if r.Where == "" {
		r.Where = fleet.WhereTmux
	}
	if r.Dir == "" && r.Repo == "" {
		r.Dir = fleet.Path(g.t.TempDir())
	}
	r.Owner, r.Desired = fleet.OwnerCustos, fleet.DesiredRunning
	g.ledger[r.Name] = r
	return r
}

// perform does what the core does: it takes the action through JSON, prepares,
// does, verifies, and lets the ledger learn.
func (g *ground) perform(action act.Action, a fleet.Action) (effect string, err error) {
	g.t.Helper()
	if a.ID == "" {
		g.count++
		a.ID = strings.Repeat("x", g.count)
	}
	a.Do = action.Ability().Do
	b, err := json.Marshal(a)
	if err != nil {
		g.t.Fatal(err)
	}
	a = fleet.Action{}
	if err := json.Unmarshal(b, &a); err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*time.Minute)
	defer cancel()
	if len(action.Commands(a)) == 0 {
		g.t.Errorf("%s would run nothing", a.Do)
	}
	run, err := action.Prepare(ctx, a)
	if err != nil {
		return "", err
	}
	defer run.Close()
	if f, ok := run.(act.Foreteller); ok {
		f.Foretell(func(r fleet.Registration) { g.foretold = append(g.foretold, r) })
	}
	err = run.Do(ctx)
	if err == nil {
		effect, err = run.Verify(ctx)
	}
	if a, ok := run.(interface{ Arrived() *fleet.Arrival }); ok {
		g.arrived = a.Arrived()
	}
	if l, ok := run.(interface{ Learned() *fleet.Registration }); ok {
		if is := l.Learned(); is != nil {
			g.ledger[is.Name] = g.ledger[is.Name].Learn(*is)
		}
	}
	return effect, err
}

func (g *ground) must(effect string, err error) string {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	return effect
}

func (g *ground) spawn(o spawn.Options, name string) (string, error) {
	g.t.Helper()
	o.Launcher = g.launcher
	x, err := spawn.New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	r := g.ledger[name]
	return g.perform(x, fleet.Action{Target: fleet.Target{Registration: &r}})
}

// seen is the agent as a probe would show it.
func (g *ground) seen(name string, state fleet.AgentState) *fleet.Agent {
	r := g.ledger[name]
	a := &fleet.Agent{Name: name, Kind: r.Kind, Owner: r.Owner, State: state, Process: r.Process, Instance: r.Instance, Where: r.Where, Registered: true, SessionID: r.SessionID, Progress: fleet.ProgressNone}
	p, pane, err := g.world.Find(g.t.Context(), a)
	if err == nil && p == g.world.Providers[fleet.WhereTmux] {
		a.Pane = &pane
	}
	return a
}

func (g *ground) screen(name string) string {
	a := g.seen(name, "")
	if a.Pane == nil {
		return ""
	}
	text, _ := g.world.Providers[fleet.WhereTmux].Screen(g.t.Context(), a.Pane.ID, 60)
	return text
}

// await waits for the real world.
func (g *ground) await(what string, is func() bool) {
	g.t.Helper()
	if err := agentrun.Wait(g.t.Context(), agenttest.Deadline, func(context.Context) bool { return is() }); err != nil {
		g.t.Fatalf("waited for %s: %v", what, err)
	}
}

// ready starts an agent and waits until it is idle.
func (g *ground) ready(name string, argv ...string) {
	g.t.Helper()
	g.register(fleet.Registration{Name: name, Argv: argv})
	g.must(g.spawn(spawn.Options{}, name))
	g.awaitReady(name)
}

func (g *ground) awaitReady(name string) {
	g.t.Helper()
	k, _ := g.world.Kinds.Get("claude")
	g.await(name+" to be ready", func() bool {
		a := g.seen(name, "")
		if a.Pane == nil {
			return false
		}
		ok, known := agent.Ready(k, g.screen(name), a.Pane.Title).Get()
		return ok && known
	})
}

func (g *ground) noted(what string) (out []string) {
	b, _ := os.ReadFile(filepath.Join(g.home, ".fakeagent/log.jsonl"))
	for line := range strings.Lines(string(b)) {
		var r agenttest.Record
		if json.Unmarshal([]byte(line), &r) == nil && r.What == what {
			out = append(out, r.Text)
		}
	}
	return out
}

// askedBy is who asked for the end of an agent, as it lies beside its shim's record.
func (g *ground) askedBy(name string) string {
	g.t.Helper()
	r, err := g.world.Registration(g.t.Context(), name, nil)
	if err != nil || r == nil {
		g.t.Fatal(r, err)
	}
	return shim.AskedBy(shim.Dir(g.world.Shims, r.Instance), time.Now())
}

func (g *ground) kill(name string) {
	g.t.Helper()
	r := g.ledger[name]
	if err := syscall.Kill(r.Process.PID, syscall.SIGKILL); err != nil {
		g.t.Fatal(err)
	}
	sessiontest.AwaitExit(g.t, shim.Dir(g.world.Shims, r.Instance))
}

func (g *ground) nudge(name, text string, o nudge.Options) (string, error) {
	g.t.Helper()
	o.World = g.world
	x, err := nudge.New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.perform(x, fleet.Action{Target: fleet.Target{Agent: g.seen(name, fleet.StateIdle)}, Text: text, By: "eve"})
}

func (g *ground) recover(name string) (string, error) {
	g.t.Helper()
	return g.recoverWith(name, recover.Options{})
}

func (g *ground) recoverWith(name string, o recover.Options) (string, error) {
	g.t.Helper()
	return g.recoverBy("", name, o)
}

func (g *ground) recoverBy(by, name string, o recover.Options) (string, error) {
	g.t.Helper()
	o.Launcher, o.Home, o.Settle, o.Boot = g.launcher, g.home, "1s", "20s"
	x, err := recover.New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	r := g.ledger[name]
	a := g.seen(name, fleet.StateCrashed)
	a.Process = fleet.ProcessID{}
	return g.perform(x, fleet.Action{Target: fleet.Target{Agent: a, Registration: &r}, By: by})
}

func (g *ground) stop(name, by string, state fleet.AgentState) (string, error) {
	g.t.Helper()
	x, err := stopagent.New(stopagent.Options{World: g.world, AskWait: "3s", InterruptWait: "1s", TermWait: "1s", Watch: "300ms"})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.perform(x, fleet.Action{Target: fleet.Target{Agent: g.seen(name, state)}, By: by})
}

func (g *ground) checkpoint(name string) (string, error) {
	g.t.Helper()
	x, err := checkpoint.New(checkpoint.Options{World: g.world})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.perform(x, fleet.Action{Target: fleet.Target{Agent: g.seen(name, fleet.StateIdle)}})
}

func wantRefused(t *testing.T, err error, words string) {
	t.Helper()
	if !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), words) {
		t.Errorf("want it refused with %q, got %v", words, err)
	}
}

func wantNever(t *testing.T, err error, words string) {
	t.Helper()
	if wantRefused(t, err, words); !errors.Is(err, act.ErrLasting) {
		t.Errorf("%v is to be tried again", err)
	}
}

func envOf(t *testing.T, pid int) []string {
	t.Helper()
	for until := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		b, err := os.ReadFile("/proc/" + itoa(pid) + "/environ")
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 || time.Now().After(until) { // between fork and exec it has none
			return strings.Split(string(b), "\x00")
		}
	}
}

func has(list []string, want string) bool { return slices.Contains(list, want) }

func (g *ground) nudgeAs(a *fleet.Agent) (string, error) {
	g.t.Helper()
	x, err := nudge.New(nudge.Options{World: g.world})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.perform(x, fleet.Action{Target: fleet.Target{Agent: a}, Text: "hello", By: "eve"})
}

func newLauncher(g *ground, room string) (*agentrun.Launcher, error) {
	return agentrun.NewLauncher(agentrun.LauncherOptions{World: g.world, Run: g.run, MinFree: room})
}
