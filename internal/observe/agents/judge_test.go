package agents

import (
	"testing"

	"custos/internal/fleet"
)

// Only what runs below Custos itself can be its judge: an agent's child that
// wears the mark is seen all the same.
func TestJudgeIsNoAgent(t *testing.T) {
	at := func(pid, ppid int) fleet.Process { return fleet.Process{ID: fleet.ProcessID{PID: pid}, PPID: ppid} }
	procs := map[int]fleet.Process{1: at(1, 0), 10: at(10, 1), 11: at(11, 10), 12: at(12, 11), 20: at(20, 1), 21: at(21, 20)}
	marked := map[int]bool{12: true, 21: true}
	l := &look{Probe: &Probe{o: Options{Self: 10, Judge: func(pid int) bool { return marked[pid] }}}, procs: procs}
	for pid, want := range map[int]bool{12: true, 11: false, 21: false, 20: false, 99: false} {
		if got := l.judges(pid); got != want {
			t.Errorf("process %d is a judge: %v; want %v", pid, got, want)
		}
	}
}
