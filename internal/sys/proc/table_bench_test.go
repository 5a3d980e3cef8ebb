package proc_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"custos/internal/sys/proc"
)

// crowd starts n processes that do nothing, and ends them with the test.
func crowd(tb testing.TB, n int) {
	tb.Helper()
	for range n {
		cmd := exec.Command("sleep", "3600")
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
}

// BenchmarkTable reads the table of a busy host, by hand and by the library.
func BenchmarkTable(b *testing.B) {
	crowd(b, 620)
	b.Run("hand", func(b *testing.B) {
		r := proc.NewReader(proc.TableOptions{TTL: time.Nanosecond})
		n := 0
		for youngest := time.Duration(0); youngest < 6*time.Second; { // as on a host where nothing happens
			rows, err := r.Table(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			youngest = time.Hour
			for _, row := range rows {
				if row.Comm == "sleep" {
					youngest = min(youngest, row.Age)
				}
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			rows, err := r.Table(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			n = len(rows)
		}
		b.ReportMetric(float64(n), "processes")
	})
	b.Run("procfs", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			library(b)
		}
	})
}

// library reads the same facts with prometheus/procfs.
func library(b *testing.B) {
	all, err := procfs.AllProcs()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range all {
		_, _ = p.Stat()
		_, _ = p.NewStatus()
		_, _ = p.CmdLine()
		_, _ = p.Cwd()
		_, _ = p.Executable()
		_, _ = p.Cgroups()
	}
}
