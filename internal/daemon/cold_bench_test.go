package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/store"
	"custos/internal/sys/gittest"
)

// BenchmarkCold is how long it takes from the start of a daemon that has no past until its
// first alert is committed, where another process can read it, while there are many
// worktrees to look at for the first time (CUSTOS_TREES; 50).
func BenchmarkCold(b *testing.B) {
	n := 50
	if text := os.Getenv("CUSTOS_TREES"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
	}
	bin, err := binaries()
	if err != nil {
		b.Fatal(err)
	}
	repo := gittest.New(b)
	for i := range n {
		repo.Worktree(fmt.Sprintf("w%04d", i))
	}
	repo.Write("custos.toml", fmt.Sprintf("state_dir = %q\n[git]\nrepos = [%q]\n[rule.cold]\nover = \"host\"\npriority = \"P1\"\n"+
		"expr = \"host.memory.available > 0\"\nsummary = \"'it is cold'\"\n", filepath.Join(repo.Dir, "s"), repo.Top))
	var first time.Duration
	for b.Loop() {
		first = coldStart(b, filepath.Join(bin, "custos"), repo.Dir)
	}
	b.ReportMetric(first.Seconds(), "first-alert-s")
	b.ReportMetric(0, "ns/op") // means nothing
}

// coldStart returns how long a daemon without a past took until its first alert.
func coldStart(b *testing.B, custos, dir string) time.Duration {
	b.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "s")); err != nil {
		b.Fatal(err)
	}
	said := &writer{}
	up := exec.Command(custos, "--config", filepath.Join(dir, "custos.toml"), "up")
	up.Env = append(os.Environ(), "HOME="+dir)
	up.Stdout, up.Stderr = said, said
	began := time.Now()
	if err := up.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = up.Process.Kill(); _ = up.Wait() }()
	for !isCold(filepath.Join(dir, "s", "custos.db")) {
		if time.Since(began) > 5*time.Minute {
			b.Fatalf("no alert came:\n%s", said)
		}
		<-time.After(10 * time.Millisecond)
	}
	return time.Since(began)
}

// isCold says whether the alert is in the ledger, as another process reads it.
func isCold(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	st, err := store.OpenReadOnly(context.Background(), store.Options{Path: path})
	if err != nil {
		return false
	}
	defer st.Close()
	events, err := st.Events(context.Background(), 0, 0, store.EventFilter{Rule: "cold"})
	return err == nil && slices.ContainsFunc(events, func(e fleet.Event) bool { return e.Kind == "alert.firing" })
}
