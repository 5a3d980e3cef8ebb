package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// delegated makes a cgroup v2 folder for a test, and says whether memory is
// accounted for below it. The test is skipped where none can be made.
func delegated(t *testing.T) (dir string, memory bool) {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
		if err != nil {
			continue
		}
		dir = filepath.Join(root, fmt.Sprintf("custos-cap-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { // what ran in it is ended by now, but may not be gone
			await(t, func() string { return "the cgroup cannot be removed" }, func() bool {
				err := os.Remove(dir)
				return err == nil || errors.Is(err, os.ErrNotExist)
			})
		})
		here, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		return dir, err == nil && strings.Contains(string(controllers), "memory") && strings.Contains(string(here), "memory")
	}
	t.Skip("no cgroup v2 folder can be made here")
	return "", false
}

// capped starts an agent that may use so much memory.
func (w *town) capped(name string, bytes int64) (told string, o api.Order) {
	w.Helper()
	told = filepath.Join(w.dir, name+".told")
	if err := os.WriteFile(told, nil, 0o600); err != nil {
		w.Fatal(err)
	}
	s := &api.SpawnRequest{Kind: "claude", Restart: "never", Dir: filepath.Join(w.dir, "work"), MemoryMax: bytes, Argv: []string{"claude", "--control", told}}
	if o = w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
		w.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
	}
	return told, o
}

const uncapped = "without a memory cap: "

// TestCapThatCannotBeHad: a start that was to be capped and is not says so, and
// why; one that was not to be says nothing.
func TestCapThatCannotBeHad(t *testing.T) {
	w := newTown(t, "[limits]\nspawn_memory = \"0\"\nstagger = \"0s\"\n")
	if _, o := w.capped("wish", 256<<20); strings.Count(o.Why, uncapped+"no delegated cgroup was given") != 1 {
		t.Errorf("the start says %q", o.Why)
	}
	if _, o := w.capped("free", 0); strings.Contains(o.Why, uncapped) {
		t.Errorf("without a cap asked for, the start says %q", o.Why)
	}
	if d, err := w.client().Agent(t.Context(), "wish"); err != nil || d.Record == nil || d.Record.MemoryMax != 256<<20 {
		t.Errorf("%+v, %v", d.Record, err)
	}
}

// TestCap: an agent is put into a cgroup of its own below the one of [launch].
// Where memory is accounted for it is capped, and its end by the OOM killer known
// as such; where it is not, the start says so.
func TestCap(t *testing.T) {
	dir, memory := delegated(t)
	w := newTown(t, "[limits]\nspawn_memory = \"0\"\n[launch]\ncgroup = \""+dir+"\"\n")
	told, o := w.capped("tight", 96<<20)
	a := w.awaitState("tight", "idle", "starting", "working")
	in, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", a.PID))
	if err != nil || !strings.Contains(string(in), filepath.Base(dir)+"/custos-") {
		t.Errorf("it is in %q, %v", in, err)
	}
	own, _ := filepath.Glob(dir + "/custos-*")
	if len(own) != 1 {
		t.Fatalf("cgroups: %v", own)
	}
	if memory {
		w.outgrows(told, own[0], o)
	} else {
		t.Log("memory is not accounted for by cgroup v2 on this machine: the cap itself and the OOM killer were not tried")
		if !strings.Contains(o.Why, uncapped+"the memory controller is not delegated") {
			t.Errorf("the start says %q", o.Why)
		}
		if o := w.order(api.OrderRequest{Do: "stop", Agent: "tight"}); o.State != "done" {
			t.Errorf("stop: %+v", o)
		}
	}
	await(t, func() string { return "the agent's cgroup is still there" }, func() bool {
		_, err := os.Stat(own[0])
		return errors.Is(err, os.ErrNotExist)
	})
}

// outgrows makes the agent take more than it may.
func (w *town) outgrows(told, own string, o api.Order) {
	w.Helper()
	if max, err := os.ReadFile(own + "/memory.max"); err != nil || strings.TrimSpace(string(max)) != fmt.Sprint(96<<20) || strings.Contains(o.Why, uncapped) {
		w.Errorf("memory.max %q, %v; the start says %q", max, err, o.Why)
	}
	if err := os.WriteFile(told, []byte("memory 200\n"), 0o600); err != nil {
		w.Fatal(err)
	}
	w.awaitState("tight", "crashed")
	if d, err := w.client().Agent(w.Context(), "tight"); err != nil || d.Exit == nil || !d.Exit.OOM {
		w.Errorf("it ended %+v, %v", d.Exit, err)
	}
}
