package daemon_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
	"custos/internal/fleet"
	"custos/internal/store"
)

// graveyard is a daemon of its own with many agents that will be killed.
type graveyard struct {
	*testing.B
	dir  string
	cfg  config.Config
	pid  int // of the daemon
	pids map[string]int
	book *store.Store // the ledger, as another process may read it
}

const graveyardToml = "mode = \"auto\"\ngrace = \"0s\"\nbudget = \"5000 in 1h\"\nblast = 0\n[rule.agent-crashed]\nmode = \"observe\"\n" +
	"[limits]\nmax_agents = 500\nstagger = \"0s\"\nspawn_memory = \"0\"\n"

// BenchmarkDeath is how long it takes from kill -9 of an agent until its alert is
// committed, where another process can read it: a real daemon, 200 real agents
// (CUSTOS_DEATHS: another number), half of them in tmux and half headless, each
// killed at a random moment.
func BenchmarkDeath(b *testing.B) {
	n := 200
	if text := os.Getenv("CUSTOS_DEATHS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
	}
	g := openGraveyard(b, graveyardToml)
	g.people(n, atWork)
	var took []time.Duration
	for b.Loop() {
		if took == nil { // nobody dies twice
			took = g.killAll()
		}
	}
	slices.Sort(took)
	if len(took) != n {
		b.Fatalf("%d of %d deaths were told", len(took), n)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[n/2]), "median-ms")
	b.ReportMetric(ms(took[n*95/100]), "p95-ms")
	b.ReportMetric(ms(took[n-1]), "worst-ms")
	b.ReportMetric(0, "ns/op") // means nothing
}

func openGraveyard(b *testing.B, toml string) *graveyard {
	b.Helper()
	bin, err := binaries()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range []string{".fakeagent", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(dir, "custos.toml")
	if err := os.WriteFile(file, []byte("state_dir = \""+dir+"/s\"\n"+toml), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Setenv("HOME", dir)
	g := &graveyard{B: b, dir: dir, pids: map[string]int{}}
	if g.cfg, err = config.Load(config.Options{File: file, Sections: daemon.Sections()}); err != nil {
		b.Fatal(err)
	}
	g.start(filepath.Join(bin, "custos"), file)
	return g
}

// start starts the daemon, and opens its ledger to read.
func (g *graveyard) start(custos, file string) {
	said := &writer{}
	up := exec.Command(custos, "--config", file, "up")
	up.Env = append(os.Environ(), "HOME="+g.dir, "PATH="+filepath.Dir(agenttest.Build(g))+":"+os.Getenv("PATH"))
	up.Stdout, up.Stderr = said, said
	if err := up.Start(); err != nil {
		g.Fatal(err)
	}
	g.pid = up.Process.Pid
	g.Cleanup(func() {
		for name := range g.pids {
			_ = syscall.Kill(g.pids[name], syscall.SIGKILL)
		}
		_ = up.Process.Kill()
		_ = up.Wait()
		_ = exec.Command("tmux", "-S", filepath.Join(g.cfg.RuntimeDir, "tmux.sock"), "kill-server").Run()
		_ = os.RemoveAll(g.dir)
	})
	await(g, said.String, func() bool { s, err := status(context.Background(), g.cfg); return err == nil && s.Patrols > 0 })
	var err error
	g.book, err = store.OpenReadOnly(context.Background(), store.Options{Path: filepath.Join(g.cfg.StateDir, "custos.db")})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = g.book.Close() })
}

// atWork is an agent that works: every second one without a terminal.
func atWork(i int) *api.SpawnRequest {
	s := &api.SpawnRequest{Kind: "claude", Headless: i%2 == 1, Prompt: "fake work 1h"}
	if s.Headless { // one that is told something new does not end with its answer
		s.Argv = []string{"claude", "--input-format=stream-json"}
	}
	return s
}

// people starts n agents, and waits until all of them run.
func (g *graveyard) people(n int, as func(i int) *api.SpawnRequest) {
	g.Helper()
	c, err := api.Dial(context.Background(), daemon.Socket(g.cfg))
	if err != nil {
		g.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		name := fmt.Sprintf("a%03d", i)
		s := as(i)
		s.Dir = filepath.Join(g.dir, "work")
		o := api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}
		if _, err := c.Order(context.Background(), o); err != nil {
			g.Fatal(err)
		}
	}
	await(g, func() string { return fmt.Sprintf("%d of %d run", len(g.pids), n) }, func() bool {
		all, err := c.Agents(context.Background())
		if err != nil {
			g.Fatal(err)
		}
		for _, a := range all.Agents {
			if a.PID > 0 {
				g.pids[a.Name] = a.PID
			}
		}
		return len(g.pids) == n
	})
}

// killAll kills every agent, each at a random moment after the one before it
// was told, and returns how long each took.
func (g *graveyard) killAll() (took []time.Duration) {
	for name, pid := range g.pids {
		<-time.After(time.Duration(rand.IntN(50)) * time.Millisecond) // deaths come at random moments
		killed := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			g.Fatal(err)
		}
		for !g.told(name) {
			if time.Since(killed) > time.Minute {
				g.Fatalf("the death of %s was never told", name)
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(killed))
	}
	return took
}

// told says whether the alert of an agent's death is in the ledger, with its
// cause.
func (g *graveyard) told(name string) bool {
	events, err := g.book.Events(context.Background(), 0, 0, store.EventFilter{
		Subject: fleet.Subject{Kind: fleet.KindAgent, Name: name}, Rule: "agent-crashed"})
	if err != nil {
		g.Fatal(err)
	}
	return slices.ContainsFunc(events, func(e fleet.Event) bool { return e.Kind == "alert.firing" && strings.Contains(e.Text, "signal 9") })
}
