package agents_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/agents"
	"custos/internal/observe/watch"
	"custos/internal/session/sessiontest"
)

// TestDeathPath puts the parts together as the daemon does: a real process dies,
// the board shows it with its cause before any look, and the next look agrees.
func TestDeathPath(t *testing.T) {
	const n = 30
	began := time.Now()
	now := func() fleet.Instant {
		return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(time.Hour + time.Since(began)), Boot: "b"}
	}
	cmds, pipes := startAgents(t, n)
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	p, err := agents.New(agents.Options{Kinds: kinds, Now: now, Procs: func(context.Context) (all []fleet.Process, err error) {
		for _, c := range cmds {
			if proc, ok := readProcess(c.Process.Pid); ok {
				all = append(all, proc)
			}
		}
		return all, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	woke := make(chan string, 1000)
	board := observe.New(observe.Options{Probes: []observe.Probe{p}, Now: now, Wake: func(why string) { woke <- why }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); board.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	board.First(t.Context())
	w, err := watch.New(watch.Options{Now: now, Died: func(d watch.Death) {
		p.Died(d.Exit)
		board.Overlay(fleet.PartAgents, func(s *fleet.Snapshot) {
			s.Agents.Value = agents.WithDeath(s.Agents.Value, d.Exit, s.At)
		}, "death of "+d.Agent)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	first := board.Snapshot()
	w.Follow(first.Agents.Value)
	if len(first.Agents.Value) != n {
		t.Fatalf("%d agents are seen, want %d", len(first.Agents.Value), n)
	}
	want := map[string]fleet.AgentState{}
	var took []time.Duration
	for i, a := range first.Agents.Value {
		at := time.Now()
		want[a.Name] = end(t, cmds, pipes, a.Process.PID, []int{-1, 3, 0}[i%3])
		for state := fleet.AgentState(""); state != want[a.Name]; {
			select {
			case <-woke:
			case <-time.After(10 * time.Second):
				t.Fatalf("%s is %s, want %s", a.Name, state, want[a.Name])
			}
			state = stateOf(board.Snapshot(), a.Name)
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	t.Logf("death to snapshot: median %s, worst %s", took[n/2], took[n-1])
	board.LookNow(fleet.PartAgents)
	sessiontest.Await(t, func() (string, bool) { return "", board.Snapshot().Agents.At != first.Agents.At })
	last := board.Snapshot()
	for name, state := range want {
		if got := stateOf(last, name); got != state {
			t.Errorf("%s: the next look says %q, the overlay said %s", name, got, state)
		}
	}
}

func stateOf(s fleet.Snapshot, name string) fleet.AgentState {
	for _, a := range s.Agents.Value {
		if a.Name == name && a.Process.PID == 0 {
			return a.State
		}
	}
	return ""
}

// startAgents starts shells that are called claude and end as they are told.
func startAgents(t *testing.T, n int) (cmds []*exec.Cmd, pipes map[int]io.Writer) {
	t.Helper()
	dir := t.TempDir()
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	claude := filepath.Join(dir, "claude")
	if err := os.WriteFile(claude, sh, 0o755); err != nil {
		t.Fatal(err)
	}
	pipes = map[int]io.Writer{}
	for range n {
		c := exec.Command(claude, "-c", "read x; exit $x")
		c.Dir = dir
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		cmds, pipes[c.Process.Pid] = append(cmds, c), in
	}
	return cmds, pipes
}

func end(t *testing.T, cmds []*exec.Cmd, pipes map[int]io.Writer, pid, how int) fleet.AgentState {
	t.Helper()
	if how >= 0 {
		fmt.Fprintln(pipes[pid], how)
		return map[bool]fleet.AgentState{true: fleet.StateFinished, false: fleet.StateCrashed}[how == 0]
	}
	i := slices.IndexFunc(cmds, func(c *exec.Cmd) bool { return c.Process.Pid == pid })
	if err := cmds[i].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	return fleet.StateCrashed
}
