package tmux_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
)

// benchGround is a private server, killed when the benchmark ends.
func benchGround(b *testing.B) sessiontest.Ground {
	b.Helper()
	binary := sessiontest.BuildShim(b)
	dir, err := os.MkdirTemp("", "custos-bench-") // b.TempDir is too long a path for a socket
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	p, err := tmux.NewProvider(tmux.ProviderOptions{Socket: filepath.Join(dir, "s"), Shim: binary})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = exec.Command("tmux", "-S", filepath.Join(dir, "s"), "-f", "/dev/null", "kill-server").Run()
	})
	return sessiontest.Ground{Provider: p, Root: filepath.Join(b.TempDir(), "agents"), Terminal: true}
}

// BenchmarkLaunch measures a launch in a pane, from the call to an agent that
// runs and is recorded, and the resident memory of its shim.
func BenchmarkLaunch(b *testing.B) {
	g := benchGround(b)
	n := 0
	var rss float64
	for b.Loop() {
		n++
		got := g.Launch(b, g.Plan(b, fmt.Sprintf("i%d", n), "sleep", "1000"))
		rss = resident(b, got.Shim.PID)
	}
	b.ReportMetric(rss, "shim-KiB")
}

// BenchmarkExit measures from the death of an agent to exit.json.
func BenchmarkExit(b *testing.B) {
	g := benchGround(b)
	n := 0
	var total time.Duration
	for b.Loop() {
		b.StopTimer()
		n++
		l := g.Plan(b, fmt.Sprintf("i%d", n), "sleep", "1000")
		got := g.Launch(b, l)
		proc, err := os.FindProcess(got.Agent.PID)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		begin := time.Now()
		if err := proc.Kill(); err != nil {
			b.Fatal(err)
		}
		total += sessiontest.AwaitExit(b, l.Shim).At.Wall.Sub(begin)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(n), "µs-until-known")
}

// resident returns VmRSS in KiB.
func resident(b *testing.B, pid int) (kib float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}
