package agents

import (
	"context"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

// sampleFor is how long the first look watches CPU times: 30 ticks of the kernel.
const sampleFor = 300 * time.Millisecond

// seeCPU takes a second sample of CPU times when there is nothing to compare the
// first with. Only the first look of all waits for it.
func (l *look) seeCPU(ctx context.Context) {
	if l.looked {
		return
	}
	var ids []fleet.ProcessID
	for _, r := range l.runs {
		for _, p := range r.Tree {
			if !p.CPU.IsKnown() {
				ids = append(ids, p.ID)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	// The table was read a moment ago, or is a cached one: compare two samples of
	// our own.
	first := l.o.CPUTimes(ids)
	l.o.Pause(ctx, sampleFor)
	l.sampled = map[fleet.ProcessID]fleet.Duration{}
	for id, later := range l.o.CPUTimes(ids) {
		if before, ok := first[id]; ok {
			l.sampled[id] = l.procs[id.PID].CPUTime + later - before
		}
	}
}

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux.
const tick = fleet.Duration(10 * time.Millisecond)

// cpuTimes reads user and system time of those processes that are still the same.
func cpuTimes(proc string, ids []fleet.ProcessID) map[fleet.ProcessID]fleet.Duration {
	times := map[fleet.ProcessID]fleet.Duration{}
	for _, id := range ids {
		if s, err := procstat.Read(proc, id.PID); err == nil && s.Start == id.Start {
			times[id] = fleet.Duration(s.CPU) * tick
		}
	}
	return times
}
