//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/boundary"
)

// controlled is a folder with the files that the kernel makes in a cgroup whose
// memory is accounted for. This machine may have none.
func controlled(t *testing.T, without ...string) *place {
	t.Helper()
	p := &place{path: t.TempDir(), cap: "none", why: "none was asked for"}
	for name, text := range map[string]string{"cgroup.procs": "", "memory.max": "max\n", "memory.swap.max": "max\n",
		"memory.events": "low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n"} {
		if strings.Contains(strings.Join(without, " "), name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(p.path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func content(t *testing.T, p *place, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.path, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimSuffix(string(b), "max"))
}

// What is capped is memory, and swap with it; a cap that could not be set is none.
func TestLimit(t *testing.T) {
	p := controlled(t)
	p.limit(64 << 20)
	if p.cap != "cgroup" || p.why != "" {
		t.Errorf("%+v", p)
	}
	// A file keeps what was longer in it before; the kernel's does not.
	if max, swap := content(t, p, "memory.max"), content(t, p, "memory.swap.max"); max != "67108864" || !strings.HasPrefix(swap, "0") {
		t.Errorf("memory.max %q, memory.swap.max %q", max, swap)
	}
	p = controlled(t, "memory.swap.max")
	if p.limit(64 << 20); p.cap != "cgroup" || p.why != "" {
		t.Errorf("where swap is not accounted for: %+v", p)
	}
	p = controlled(t, "memory.max memory.swap.max")
	if p.limit(64 << 20); p.cap != "none" || p.why != "the memory controller is not delegated" {
		t.Errorf("without the controller: %+v", p)
	}
	if _, err := os.Stat(filepath.Join(p.path, "memory.max")); err == nil {
		t.Error("a file was made where the kernel has none")
	}
	p = controlled(t)
	refuse(t, p, "memory.max")
	if p.limit(64 << 20); p.cap != "none" || !strings.HasPrefix(p.why, "cannot set memory.max: ") {
		t.Errorf("refused: %+v", p)
	}
	p = controlled(t)
	refuse(t, p, "memory.swap.max")
	if p.limit(64 << 20); p.cap != "cgroup" || !strings.HasPrefix(p.why, "its swap is not capped: ") {
		t.Errorf("swap refused: %+v", p)
	}
}

// The number of processes is capped beside memory, or it is said why not.
func TestLimitProcesses(t *testing.T) {
	p := controlled(t)
	if p.limitProcesses(100); p.procs != "the pids controller is not delegated" {
		t.Errorf("without the controller: %+v", p)
	}
	if err := os.WriteFile(filepath.Join(p.path, "pids.max"), []byte("max\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.limitProcesses(100); p.procs != "" || !strings.HasPrefix(content(t, p, "pids.max"), "100") {
		t.Errorf("%+v, %q", p, content(t, p, "pids.max"))
	}
	refuse(t, p, "pids.max")
	if p.limitProcesses(100); !strings.HasPrefix(p.procs, "cannot set pids.max: ") {
		t.Errorf("refused: %+v", p)
	}
}

// What a boundary caps and nothing can cap refuses the start, or is on its record.
func TestCapsOfABoundary(t *testing.T) {
	f := &fence{spec: boundary.Spec{Name: "b", By: boundary.Bwrap, Missing: boundary.Refuse, Memory: 1 << 20, Procs: 10}}
	o := f.caps(options{memoryMax: 1 << 30})
	if o.memoryMax != 1<<20 || o.processes != 10 || f.caps(options{memoryMax: 1}).memoryMax != 1 || f.caps(options{}).memoryMax != 1<<20 {
		t.Errorf("%+v", o)
	}
	p := newPlace(o)
	if err := f.capped(p); err == nil || !strings.Contains(err.Error(), "memory without a cap") || !strings.Contains(err.Error(), "processes without number") {
		t.Errorf("it starts: %v", err)
	}
	f.open, f.spec.Missing = nil, boundary.Say
	if err := f.capped(p); err != nil || len(f.open) != 2 {
		t.Errorf("%v, open %q", err, f.open)
	}
	p.cap, p.procs, f.open = "cgroup", "", nil
	if err := f.capped(p); err != nil || len(f.open) != 0 {
		t.Errorf("%v, open %q", err, f.open)
	}
	if err := (*fence)(nil).capped(newPlace(options{})); err != nil {
		t.Error(err)
	}
}

// refuse makes a file one that cannot be written, even by root.
func refuse(t *testing.T, p *place, name string) {
	t.Helper()
	path := filepath.Join(p.path, name)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// The kernel's count of the agent's own cgroup tells whether SIGKILL was the OOM
// killer's; where it cannot be read, or is the whole machine's, that is not told.
func TestOOMOfACappedAgent(t *testing.T) {
	killed := func(t *testing.T, p *place, events string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.path, "memory.events"), []byte(events), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	capped := func(t *testing.T) *place {
		p := controlled(t)
		p.limit(64 << 20)
		p.ooms, p.oomsOK = p.oomKills()
		return p
	}
	for name, c := range map[string]struct {
		signal int
		events string
		want   string
	}{
		"killed for memory":  {9, "oom 2\noom_kill 1\n", "yes"},
		"killed by somebody": {9, "oom 1\noom_kill 0\n", "no"},
		"another signal":     {15, "oom 2\noom_kill 1\n", "no"},
		"not told":           {9, "oom 2\n", "unknown"},
		"torn":               {9, "oom_kill x\n", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			p := capped(t)
			killed(t, p, c.events)
			if got := three(p.oom(c.signal)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	for status, want := range map[int]string{128 + 9: "yes", 128 + 15: "no", 1: "no", 0: "no", 255: "no"} { // what it ran was killed
		p := capped(t)
		killed(t, p, "oom 2\noom_kill 1\n")
		s := shim{place: *p}
		if x, _ := s.judge(end{code: cldExited, status: status}); three(x.OOM) != want {
			t.Errorf("it ended with status %d: %s, want %s", status, three(x.OOM), want)
		}
	}
	p := capped(t)
	if err := os.RemoveAll(p.path); err != nil {
		t.Fatal(err)
	}
	if got := three(p.oom(9)); got != "unknown" {
		t.Errorf("with the cgroup gone: %s", got)
	}
	p = controlled(t) // without a cap, the machine's count proves nothing about this agent
	p.ooms, p.oomsOK = p.oomKills()
	if p.ooms++; p.oomsOK && three(p.oom(9)) != "unknown" {
		t.Errorf("of the whole machine: %s", three(p.oom(9)))
	}
}

func three(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}
