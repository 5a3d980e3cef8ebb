package hookwire

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Stamp fills in what a hook knows by itself: its identity, the time, and whose
// it is. Nothing of it can fail a hook: what cannot be read stays empty.
func (p *Post) Stamp() {
	pid := os.Getpid()
	p.V = Version
	p.Wall = time.Now().UnixNano()
	p.UpNanos = upNanos()
	p.Boot = bootID()
	p.ID = newID(p.UpNanos, pid, p.Boot)
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

// newID is unique: a process is alone with its pid at any nanosecond of a boot.
func newID(up int64, pid int, boot string) string {
	id := strconv.FormatInt(up, 36) + "-" + strconv.FormatInt(int64(pid), 36)
	if len(boot) >= 8 && isID(boot[:8]) {
		id += "-" + boot[:8]
	}
	return id
}

const clockBoottime = 7 // CLOCK_BOOTTIME of linux/time.h; package syscall has no name for it

func upNanos() int64 {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return ts.Nano()
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(b)); len(id) <= maxName {
		return id
	}
	return ""
}

// Ancestry returns pid and its ancestors, at most six, as far as /proc shows
// them, and without process 1.
func Ancestry(pid int) (list []Process) {
	for pid > 1 && len(list) < MaxAncestors {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return list
		}
		p, parent, ok := parseStat(b)
		if !ok || p.PID != pid {
			return list
		}
		list = append(list, p)
		pid = parent
	}
	return list
}

// parseStat reads /proc/PID/stat. The name may hold anything, so the fields are
// counted from its last parenthesis.
func parseStat(b []byte) (p Process, parent int, ok bool) {
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || shut < open {
		return Process{}, 0, false
	}
	rest := strings.Fields(string(b[shut+1:]))
	if len(rest) < 20 {
		return Process{}, 0, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	parent, err2 := strconv.Atoi(rest[1])
	start, err3 := strconv.ParseUint(rest[19], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return Process{}, 0, false
	}
	return Process{PID: pid, Start: start, Comm: string(b[open+1 : shut])}, parent, true
}
