package agent

import (
	"fmt"
	"testing"

	"custos/internal/fleet"
)

// BenchmarkReadScreen reads one real screen: 200 agents are read every 10 s.
func BenchmarkReadScreen(b *testing.B) {
	k := kindOf(b, "claude")
	for _, name := range []string{"claude-24-tool-done", "claude-23-permission-prompt"} {
		text := read(b, "testdata/panes/"+name+".txt")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok := k.readScreen(text); !ok {
					b.Fatal("not read")
				}
			}
		})
	}
}

// BenchmarkDetect looks for 200 agents among 1000 processes.
func BenchmarkDetect(b *testing.B) {
	set := kinds(b)
	var procs []fleet.Process
	for i := range 200 {
		pid := 10 + 5*i
		add := func(n, ppid int, exe string, args ...string) {
			procs = append(procs, fleet.Process{ID: fleet.ProcessID{PID: n, Start: uint64(n)}, PPID: ppid, Exe: fleet.Known(exe), Args: args})
		}
		add(pid, 1, "/usr/bin/bash", "-bash")
		add(pid+1, pid, "/usr/bin/node", "node", "/usr/bin/codex")
		add(pid+2, pid+1, "/opt/codex", "codex")
		add(pid+3, pid+2, "/usr/bin/bash", "bash", "-c", "make test")
		add(pid+4, pid+3, "/usr/bin/make", "make", fmt.Sprint(i))
	}
	for b.Loop() {
		if n := len(Detect(set, procs)); n != 200 {
			b.Fatal(n)
		}
	}
}
