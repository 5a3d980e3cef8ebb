package tmux

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

// identity names a process by pid and start time. A process that is gone has
// start time 0.
func (v *Viewer) identity(pid int) fleet.ProcessID {
	s, _ := procstat.Read(v.o.Proc, pid)
	return fleet.ProcessID{PID: pid, Start: s.Start, Boot: v.o.Boot}
}

// server names a tmux server by the pid it gives. A server in another pid
// namespace gives a pid that no process has here, or another one: then nothing
// it says about pids can be used.
func (v *Viewer) server(pid int) (fleet.ProcessID, error) {
	s, err := procstat.Read(v.o.Proc, pid)
	if err != nil {
		return fleet.ProcessID{}, fmt.Errorf("its process %d cannot be seen from here: %w", pid, err)
	}
	if !strings.Contains(s.Comm, "tmux") {
		return fleet.ProcessID{}, fmt.Errorf("its process %d is %q here: it runs in another pid namespace", pid, fleet.Line(s.Comm, 32))
	}
	return fleet.ProcessID{PID: pid, Start: s.Start, Boot: v.o.Boot}, nil
}
