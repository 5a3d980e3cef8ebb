package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/fleet"
	"custos/internal/store"
	"custos/internal/sys/shim"
)

// The limits are the defaults but for those that hold back whoever kills many
// agents one after the other.
const recoveriesToml = "mode = \"auto\"\ngrace = \"0s\"\nbudget = \"5000 in 1h\"\nblast = 0\n" +
	"[limits]\nmax_agents = 500\nspawn_memory = \"0\"\ndeaths = \"500 in 1s\"\n"

// parts are how long one recovery took, cut where its records cut it.
type parts struct {
	told    time.Duration // kill -9 → its alert is committed
	began   time.Duration // kill -9 → the action began: the settle is in it
	started time.Duration // the action began → the new process runs: the look before, and the backup
	shown   time.Duration // the new process runs → it is shown as the agent
	proved  time.Duration // the new process runs → the recovery is verified
	running time.Duration // kill -9 → the new process is shown as the agent
}

// BenchmarkRecover is how long it takes from kill -9 of an agent until it runs
// again and is shown to: a real daemon, 50 real agents (CUSTOS_DEATHS: another
// number) in a repository each, half of them in tmux and half headless, ten of them killed one
// after the other. The settle of 3 s, which every recovery waits, is in it.
func BenchmarkRecover(b *testing.B) {
	n := 50
	if text := os.Getenv("CUSTOS_DEATHS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
	}
	g := openGraveyard(b, recoveriesToml)
	g.people(n, atWork)
	var all []parts
	for b.Loop() {
		if all == nil { // once is enough
			for i := range min(n, 10) {
				all = append(all, g.killAndAwait(fmt.Sprintf("a%03d", i)))
			}
		}
	}
	for name, of := range map[string]func(parts) time.Duration{
		"running": func(p parts) time.Duration { return p.running }, "told": func(p parts) time.Duration { return p.told },
		"began": func(p parts) time.Duration { return p.began }, "started": func(p parts) time.Duration { return p.started },
		"shown": func(p parts) time.Duration { return p.shown }, "proved": func(p parts) time.Duration { return p.proved },
	} {
		var list []time.Duration
		for _, p := range all {
			list = append(list, of(p))
		}
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2].Seconds(), name+"-p50-s")
		b.ReportMetric(list[len(list)*95/100].Seconds(), name+"-p95-s")
	}
	b.ReportMetric(0, "ns/op") // means nothing
}

// killAndAwait kills an agent, and returns when its recovery is verified.
func (g *graveyard) killAndAwait(name string) (p parts) {
	g.Helper()
	c, err := api.Dial(context.Background(), daemon.Socket(g.cfg))
	if err != nil {
		g.Fatal(err)
	}
	defer c.Close()
	since, killed := g.newest(name), time.Now()
	if err := syscall.Kill(g.pids[name], syscall.SIGKILL); err != nil {
		g.Fatal(err)
	}
	var row api.AgentRow
	await(g, func() string { return fmt.Sprintf("%+v", row) }, func() bool {
		all, err := c.Agents(context.Background())
		if err != nil {
			g.Fatal(err)
		}
		i := slices.IndexFunc(all.Agents, func(a api.AgentRow) bool { return a.Name == name })
		row = all.Agents[i]
		return row.PID > 0 && row.PID != g.pids[name]
	})
	p.running = time.Since(killed)
	g.pids[name] = row.PID
	var ended time.Time
	await(g, func() string { return name + ": its recovery has no end" }, func() bool {
		ended = g.momentOf(name, since, "action.ended", "")
		return !ended.IsZero()
	})
	began := g.momentOf(name, since, "action.started", "recover")
	runs := g.launched(row.PID)
	p.told = g.momentOf(name, since, "alert.firing", "").Sub(killed)
	p.began, p.started, p.shown, p.proved = began.Sub(killed), runs.Sub(began), killed.Add(p.running).Sub(runs), ended.Sub(runs)
	g.Logf("%s: %+v", name, p)
	return p
}

func (g *graveyard) events(name string) []fleet.Event {
	events, err := g.book.Events(context.Background(), 0, 0, store.EventFilter{Subject: fleet.Subject{Kind: fleet.KindAgent, Name: name}})
	if err != nil {
		g.Fatal(err)
	}
	return events
}

func (g *graveyard) newest(name string) (id int64) {
	for _, e := range g.events(name) {
		id = max(id, e.ID)
	}
	return id
}

// momentOf is when an event of a kind about an agent was written; zero: it was not.
func (g *graveyard) momentOf(name string, since int64, kind, text string) time.Time {
	for _, e := range g.events(name) {
		if e.ID > since && e.Kind == kind && strings.Contains(e.Text, text) {
			return e.At.Wall
		}
	}
	return time.Time{}
}

// launched is when the shim of a process wrote that it runs.
func (g *graveyard) launched(pid int) time.Time {
	all, err := shim.List(filepath.Join(g.cfg.RuntimeDir, "agents"))
	if err != nil {
		g.Fatal(err)
	}
	for _, s := range all {
		if s.Started.Agent.PID == pid {
			return s.Started.At.Wall
		}
	}
	g.Fatalf("no shim has process %d", pid)
	return time.Time{}
}
