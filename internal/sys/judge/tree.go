package judge

import (
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"custos/internal/sys/procstat"
)

// process is one row of the process table.
type process struct {
	pid, ppid, sid int
	start          uint64 // ticks since boot; with the pid it names one process
	dead           bool
}

// How long killTree takes at most. A stopped process is gone within
// milliseconds of SIGKILL, unless the kernel holds it.
const (
	killRounds = 100
	killLook   = 5 * time.Millisecond
)

// killTree kills what the leader started and the leader itself. Everything is
// stopped before anything is killed, so that none forks away meanwhile and each
// stays below its parent until all are known. The leader must be an unreaped
// child of ours that leads its session.
func killTree(leader int, marker string) {
	known := map[int]uint64{}
	for range killRounds {
		fresh := below(leader, marker, known)
		if len(fresh) == 0 {
			break
		}
		for _, p := range fresh {
			known[p.pid] = p.start
			p.signal(unix.SIGSTOP)
		}
	}
	for range killRounds {
		alive := 0
		for pid, start := range known {
			if p := (process{pid: pid, start: start}); p.signal(unix.SIGKILL) {
				alive++
			}
		}
		if alive == 0 {
			return
		}
		time.Sleep(killLook)
	}
}

// below lists what belongs to the leader and is not known yet: what is in its
// session, what carries the marker, and the children of these.
func below(leader int, marker string, known map[int]uint64) (fresh []process) {
	rows := table()
	ours := map[int]uint64{}
	for pid, start := range known {
		ours[pid] = start
	}
	for more := true; more; {
		more = false
		for _, r := range rows {
			if _, there := ours[r.pid]; there || !r.belongs(leader, marker, ours) {
				continue
			}
			ours[r.pid] = r.start
			more = true
			if !r.dead {
				fresh = append(fresh, r)
			}
		}
	}
	return fresh
}

func (p process) belongs(leader int, marker string, ours map[int]uint64) bool {
	if p.pid == leader || p.sid == leader {
		return true
	}
	if start, there := ours[p.ppid]; there {
		// The parent is still who it was, so it was so when the child named it.
		parent, ok := look(p.ppid)
		return ok && parent.start == start
	}
	return procstat.Carries(p.pid, marker)
}

// signal sends a signal to this process and no other, and says whether it is
// still alive to receive it.
func (p process) signal(s unix.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	now, ok := look(p.pid)
	if !ok || now.start != p.start || now.dead {
		return false
	}
	return unix.PidfdSendSignal(fd, s, nil, 0) == nil
}

func table() (rows []process) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	for _, p := range all {
		if r, ok := look(p.PID); ok {
			rows = append(rows, r)
		}
	}
	return rows
}

func look(pid int) (process, bool) {
	s, err := procstat.Read("/proc", pid)
	return process{pid: pid, ppid: s.PPID, sid: s.SID, start: s.Start, dead: s.Ended()}, err == nil
}
