package loop_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"custos/internal/assess"
	"custos/internal/decide"
	"custos/internal/fleet"
	"custos/internal/rules"
)

// fleetOf is a healthy fleet of n agents, all of them in tmux.
func fleetOf(n int) fleet.Snapshot {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(100 * time.Hour), Boot: "b"}
	s := fleet.Snapshot{At: at, From: fleet.Vantage{Host: "h", Boot: "b"}}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: at}
	}
	s.Host.Value = fleet.Host{Name: "h", CPUs: 8, Memory: fleet.Memory{Total: fleet.Known[int64](64 << 30), Available: fleet.Known[int64](32 << 30)},
		Swap: fleet.Swap{Total: fleet.Known[int64](0), Used: fleet.Known[int64](0)}, OOMRecent: fleet.Known[int64](0)}
	for i := range n {
		age := fleet.Known(fleet.Duration(time.Hour))
		s.Agents.Value = append(s.Agents.Value, fleet.Agent{Name: fmt.Sprintf("agent-%05d", i), Kind: "claude", Owner: fleet.OwnerCustos,
			State: fleet.StateWorking, Reason: "its registry says busy", Source: "registry", Dwell: fleet.Known(fleet.Duration(time.Minute)),
			Process: fleet.ProcessID{PID: 1000 + i, Start: uint64(i), Boot: "b"}, CWD: fleet.Known("/w"), Age: age, CPU: fleet.Known(12.0),
			RSS: fleet.Known[int64](300 << 20), Progress: fleet.ProgressSome, Quiet: fleet.Known(fleet.Duration(0)),
			Pane: &fleet.Pane{Session: fmt.Sprintf("agent-%05d", i), Activity: fleet.Known(fleet.Duration(time.Second)), Age: age}})
	}
	return s
}

// BenchmarkPass is the thinking of one pass, with every built-in rule. Beside
// it stands the obvious way, measured in the same run: one tmux has-session
// process for each agent.
func BenchmarkPass(b *testing.B) {
	perProcess := hasSession(b)
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		b.Fatal(err)
	}
	policy := fleet.Policy{Mode: fleet.ModeAuto, Budget: fleet.Attempts{Max: 20, In: fleet.Duration(time.Hour)}, Blast: 10}
	for _, n := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("agents=%d", n), func(b *testing.B) {
			snap := fleetOf(n)
			for b.Loop() {
				decide.Decide(policy, snap, assess.Assess(set, snap, fleet.Past{}), fleet.Past{})
			}
			pass := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(pass.Microseconds())/1000, "ms/pass")
			b.ReportMetric(float64(perProcess.Microseconds())/1000*float64(n), "ms-has-session")
			b.ReportMetric(float64(perProcess)*float64(n)/float64(pass), "x-less-CPU")
		})
	}
}

// hasSession measures the CPU time of one tmux has-session: of the client alone,
// which favours the obvious way.
func hasSession(b *testing.B) time.Duration {
	b.Helper()
	socket := filepath.Join(b.TempDir(), "s")
	tmux := func(args ...string) {
		b.Helper()
		if out, err := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("tmux %v: %v %s", args, err, out)
		}
	}
	tmux("new-session", "-d", "-s", "agent", "sleep", "1000")
	b.Cleanup(func() { tmux("kill-server") })
	const times = 100
	before := childrenCPU(b)
	for range times {
		tmux("has-session", "-t", "=agent")
	}
	return (childrenCPU(b) - before) / times
}

func childrenCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
