package hookwire

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
	"time"

	"custos/internal/sys/procstat"
)

// Stamp fills in what a hook knows by itself: its identity, the time, and whose
// it is. Nothing of it can fail a hook: what cannot be read stays empty.
func (p *Post) Stamp() {
	pid := os.Getpid()
	p.V = Version
	p.Wall = time.Now().UnixNano()
	p.UpNanos = upNanos()
	p.Boot = bootID()
	p.ID = newID(cmp.Or(p.UpNanos, p.Wall), pid, p.Boot)
	p.Agent, p.Instance = Marker(limited(os.Getenv(MarkerVar)))
	p.PPIDs = Ancestry(os.Getppid())
	if dir, err := syscall.Getwd(); err == nil { // not os.Getwd, which believes PWD
		p.CWD = limited(dir)
	}
}

// limited refuses what no real value is: half a name would be another's.
func limited(s string) string {
	if len(s) > maxText {
		return ""
	}
	return s
}

// newID is unique: a process is alone with its pid at any nanosecond of a boot. Where the
// system does not tell since when it runs, the nanosecond is one of the wall clock.
func newID(at int64, pid int, boot string) string {
	id := strconv.FormatInt(at, 36) + "-" + strconv.FormatInt(int64(pid), 36)
	if len(boot) >= 8 && isID(boot[:8]) {
		id += "-" + boot[:8]
	}
	return id
}

func bootID() string {
	if id, _ := procstat.BootID(); len(id) <= maxName {
		return id
	}
	return ""
}

// Ancestry returns pid and its ancestors, at most six, as far as /proc shows
// them, and without process 1.
func Ancestry(pid int) (list []Process) {
	for pid > 1 && len(list) < MaxAncestors {
		s, err := procstat.Read("/proc", pid)
		if err != nil || s.PID != pid {
			return list
		}
		list = append(list, Process{PID: pid, Start: s.Start, Comm: s.Comm})
		pid = s.PPID
	}
	return list
}
