package agents

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"custos/internal/fleet"
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

// cpuTimes reads user and system time (fields 14 and 15 of /proc/PID/stat) of
// those processes that are still the same.
func cpuTimes(proc string, ids []fleet.ProcessID) map[fleet.ProcessID]fleet.Duration {
	times := map[fleet.ProcessID]fleet.Duration{}
	for _, id := range ids {
		b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(id.PID), "stat"))
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if err != nil || len(f) < 20 {
			continue
		}
		user, err1 := strconv.ParseInt(string(f[11]), 10, 64)
		system, err2 := strconv.ParseInt(string(f[12]), 10, 64)
		start, err3 := strconv.ParseUint(string(f[19]), 10, 64)
		if err1 == nil && err2 == nil && err3 == nil && start == id.Start {
			times[id] = fleet.Duration(user+system) * tick
		}
	}
	return times
}
