package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/sys/procstat"
)

// idleFor is how long an idle fleet is watched, and how long it is left to itself before.
const idleFor, idleAfter = 2 * time.Minute, 3 * time.Minute

// BenchmarkIdle is what a daemon costs while nothing happens: the CPU of itself, of the
// children it waited for and of the tmux server its agents run in, in percent of one
// core, and its memory; 200 real agents (CUSTOS_IDLE: another number), each at its prompt, and as many conversations of
// each kind that were held before.
func BenchmarkIdle(b *testing.B) {
	n := 200
	if text := os.Getenv("CUSTOS_IDLE"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
	}
	g := openGraveyard(b, strings.Replace(graveyardToml, "max_agents = 500", "max_agents = 1000", 1))
	g.conversations(n)
	g.people(n, func(int) *api.SpawnRequest { return &api.SpawnRequest{Kind: "claude"} })
	server := g.tmuxServer()
	<-time.After(idleAfter)
	daemon, terminal := g.cpu(g.pid), g.cpu(server)
	for first := true; b.Loop(); first = false {
		if first {
			<-time.After(idleFor)
		}
	}
	percent := func(since, now uint64) float64 { return float64(now-since) / idleFor.Seconds() } // a tick is a hundredth of a second
	own, theirs := percent(daemon, g.cpu(g.pid)), percent(terminal, g.cpu(server))
	b.ReportMetric(own, "daemon-%")
	b.ReportMetric(theirs, "tmux-%")
	b.ReportMetric(own+theirs, "core-%")
	b.ReportMetric(g.memory(), "MiB")
	b.ReportMetric(0, "ns/op") // means nothing
}

// conversations are files below HOME in which CLIs kept what was said.
func (g *graveyard) conversations(n int) {
	g.Helper()
	for recording, name := range map[string]string{
		"claude-2.1.330-headless": ".claude/projects/p%d/%08d-0000-4000-8000-000000000000.jsonl", "codex-0.169.0-headless": ".codex/sessions/2026/11/%02d/rollout-%d.jsonl",
		"gemini-0.61.0-headless": ".gemini/tmp/p%d/chats/session-%d.jsonl", "qwen-0.24.4-headless": ".qwen/projects/p%d/chats/%d.jsonl", "pi-0.73.1-tool": ".pi/agent/sessions/p%d/%d.jsonl",
	} {
		text, err := os.ReadFile("../agent/conversation/testdata/transcripts/" + recording + ".jsonl")
		for i := 0; i < n && err == nil; i++ {
			path := filepath.Join(g.dir, fmt.Sprintf(name, i%20, i))
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
		}
		if err != nil {
			g.Fatal(err)
		}
	}
}

// tmuxServer is the process of the server that our agents run in.
func (g *graveyard) tmuxServer() int {
	g.Helper()
	out, err := exec.Command("tmux", "-S", filepath.Join(g.cfg.RuntimeDir, "tmux.sock"), "display-message", "-p", "#{pid}").Output()
	if err != nil {
		g.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		g.Fatal(err)
	}
	return pid
}

// cpu is what a process and the children it waited for have used, in hundredths of a second.
func (g *graveyard) cpu(pid int) uint64 {
	g.Helper()
	s, err := procstat.Read("/proc", pid)
	if err != nil {
		g.Fatal(err)
	}
	return s.CPU + s.CPUOfChildren
}

// memory is what the daemon holds in memory, in MiB.
func (g *graveyard) memory() float64 {
	g.Helper()
	s, err := procstat.Read("/proc", g.pid)
	if err != nil {
		g.Fatal(err)
	}
	return float64(s.Pages) * float64(os.Getpagesize()) / (1 << 20)
}
