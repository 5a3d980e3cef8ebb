package watch

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

// The sources of an exit, as they are written into it.
const (
	sourceZombie = "proc"  // /proc/PID/stat of a process that was not collected yet
	sourcePidfd  = "pidfd" // what the kernel keeps for who holds a pidfd (Linux 6.15)
	sourceShim   = "shim"
	sourceNone   = "none"
)

// cause finds out how a process that has just died ended, and whether there is no
// more to wait for: from the zombie, else from the pidfd, else from the shim. That it
// ended well its shim has to confirm, or to be gone: then it did not end by itself.
func (w *Watcher) cause(p watched) (x fleet.Exit, known bool) {
	x, known = w.kernel(p)
	if known && (x.Status.Or(-1) != 0 || !w.hasShim(p)) {
		return x, true
	}
	if s := w.shim(p); s != nil {
		return *s, true
	}
	return x, known && w.o.ShimGone(p.instance)
}

// kernel asks the zombie, else the pidfd.
func (w *Watcher) kernel(p watched) (fleet.Exit, bool) {
	at := w.o.Now()
	if s, err := readStat(w.o.Proc, p.id.PID); err == nil && s.Start == p.id.Start && s.legible() {
		return exitOf(s.Exit, sourceZombie, at), true
	}
	if p.fd >= 0 {
		if code, ok := exitInfo(p.fd); ok {
			return exitOf(code, sourcePidfd, at), true
		}
	}
	return lost(at), false
}

// hasShim says whether a shim may yet tell how a process ended.
func (w *Watcher) hasShim(p watched) bool { return w.o.ShimGone != nil && p.instance != "" }

// late waits a moment for what is not known at once. When it does not come, what was
// found until then is all there is.
func (w *Watcher) late(p watched, found fleet.Exit) fleet.Exit {
	deadline := time.NewTimer(shimTakes)
	defer deadline.Stop()
	again := time.NewTicker(shimAsked)
	defer again.Stop()
	for {
		x, ok := w.cause(p)
		if ok {
			return x
		}
		if x.Source != sourceNone {
			found = x
		}
		select {
		case <-again.C:
		case <-deadline.C:
			return found
		case <-w.stopped:
			return found
		}
	}
}

func lost(at fleet.Instant) fleet.Exit {
	const why = "it was collected before anybody could see how it ended"
	return fleet.Exit{Status: fleet.Unknown[int](why), Signal: fleet.Unknown[int](why), At: at, Source: sourceNone}
}

func (w *Watcher) shim(p watched) *fleet.Exit {
	if w.o.Exits == nil || p.instance == "" {
		return nil
	}
	return w.o.Exits(p.instance)
}

// asked returns who asked for the end of an instance, wherever it is known from how
// it ended.
func (w *Watcher) asked(p watched, ended fleet.Instant) string {
	if w.o.Asked == nil || p.instance == "" {
		return ""
	}
	return w.o.Asked(p.instance, ended)
}

// exitOf reads a status as wait(2) returns it.
func exitOf(code int, source string, at fleet.Instant) fleet.Exit {
	x := fleet.Exit{At: at, Source: source}
	if ws := syscall.WaitStatus(code); ws.Signaled() {
		x.Signal, x.Status = fleet.Known(int(ws.Signal())), fleet.Unknown[int]("a signal ended it")
	} else {
		x.Status, x.Signal = fleet.Known(ws.ExitStatus()), fleet.Unknown[int]("no signal ended it")
	}
	return x
}

// stat is what is read of /proc/PID/stat.
type stat struct {
	procstat.Stat
	uid int // owner of the file
}

// legible says whether the exit code is there to be read. To strangers the
// kernel writes 0 in its place, which would read as success.
func (s stat) legible() bool {
	return s.Ended() && s.Whole && (s.Exit != 0 || os.Geteuid() == 0 || os.Geteuid() == s.uid)
}

// readStat reads the state, start time and exit code of a process.
func readStat(proc string, pid int) (stat, error) {
	p, err := procstat.Read(proc, pid)
	if err != nil {
		return stat{}, fmt.Errorf("cannot read process %d: %w", pid, err)
	}
	s := stat{p, -1}
	if info, err := os.Stat(proc + "/" + strconv.Itoa(pid) + "/stat"); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			s.uid = int(st.Uid)
		}
	}
	return s, nil
}

// pidfdInfo is struct pidfd_info of linux/pidfd.h, in its first size.
type pidfdInfo struct {
	mask   uint64
	cgroup uint64
	ids    [11]uint32
	exit   int32
}

const (
	pidfdInfoExit = 1 << 3                        // PIDFD_INFO_EXIT
	pidfdGetInfo  = 3<<30 | 64<<16 | 0xFF<<8 | 11 // PIDFD_GET_INFO for 64 bytes
)

// exitInfo asks the kernel how the process of a pidfd ended. It answers once the
// process was collected, on Linux 6.15 and later.
func exitInfo(fd int) (int, bool) {
	info := pidfdInfo{mask: pidfdInfoExit}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), pidfdGetInfo, uintptr(unsafe.Pointer(&info)))
	return int(info.exit), errno == 0 && info.mask&pidfdInfoExit != 0
}
