// Package procstat reads /proc/PID/stat and the id of this boot, for all who do, and looks
// for an entry in an environment: with the standard library alone, for what agents' hooks call and
// what is their parent are small.
package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Stat is what the kernel tells of one process. Times are in ticks: 100 per second
// on every architecture that Go runs on, whatever the kernel's own clock.
type Stat struct {
	PID           int
	Comm          string // may hold anything
	State         byte   // R, S, D, Z, T …
	PPID          int
	PGID          int
	SID           int
	TTY           uint32
	Exiting       bool   // it is on its way out, and gives up what it holds, one after the other
	CPU           uint64 // user and system
	CPUOfChildren uint64 // of those that ended and were waited for
	Start         uint64 // since boot
	Pages         int64  // in memory
	Exit          int    // of one that has ended: its status, as wait(2) returns it
	Whole         bool   // Exit was there to be read: this is no line of an old kernel
}

// Ended says whether it is a zombie, or on its way from there to nothing.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// exiting is PF_EXITING of the kernel's flags of a process.
const exiting = 0x4

var errForm = errors.New("not in the form of /proc/PID/stat")

// Read reads one process below a proc file system.
func Read(root string, pid int) (Stat, error) {
	path := root + "/" + strconv.Itoa(pid) + "/stat"
	var text [2048]byte // four times what a line takes
	n, err := readOnce(path, text[:])
	if err != nil {
		return Stat{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	s, err := Parse(text[:n])
	if err != nil {
		return Stat{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return s, nil
}

// readOnce reads the beginning of a file of the kernel, which comes in one piece, with
// three system calls: os.ReadFile takes seven.
func readOnce(path string, into []byte) (n int, err error) {
	fd, err := again(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	return again(func() (int, error) { return syscall.Read(fd, into) })
}

// again calls the kernel until no signal comes between.
func again(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// Living reads a process that has not ended; false for any other, and where that
// cannot be told.
func Living(pid int) (Stat, bool) {
	s, err := Read("/proc", pid)
	return s, err == nil && !s.Ended()
}

// Parse reads a line of /proc/PID/stat. The command may hold spaces, brackets and
// newlines, so it ends at the last bracket.
func Parse(text []byte) (Stat, error) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 1 || to < from {
		return Stat{}, errForm
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:from])))
	r := reader{Stat: Stat{PID: pid, Comm: string(text[from+1 : to])}, bad: err != nil}
	n := 2
	for field := range bytes.FieldsSeq(text[to+1:]) {
		n++
		r.take(n, field)
	}
	if r.bad || n < 24 {
		return Stat{}, errForm
	}
	return r.Stat, nil
}

// reader takes the fields from the third on, numbered as proc(5) does.
type reader struct {
	Stat
	bad bool // one is not what it should be
}

func (r *reader) take(n int, field []byte) {
	switch n {
	case 3:
		r.State, r.bad = field[0], r.bad || len(field) != 1
	case 4:
		r.PPID = int(r.number(field))
	case 5:
		r.PGID = int(r.number(field))
	case 6:
		r.SID = int(r.number(field))
	case 7:
		r.TTY = uint32(r.number(field))
	case 9:
		r.Exiting = r.count(field)&exiting != 0
	case 14, 15:
		r.CPU += r.count(field)
	case 16, 17:
		r.CPUOfChildren += uint64(r.number(field))
	case 22:
		r.Start = r.count(field)
	case 24:
		r.Pages = r.number(field)
	case 52:
		r.Exit, r.Whole = int(r.number(field)), true
	}
}

func (r *reader) number(field []byte) int64 {
	v, err := strconv.ParseInt(string(field), 10, 64)
	r.bad = r.bad || err != nil
	return v
}

func (r *reader) count(field []byte) uint64 {
	v := r.number(field)
	r.bad = r.bad || v < 0
	return uint64(v)
}
