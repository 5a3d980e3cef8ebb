// Package procstat reads /proc/PID/stat, for everybody who does, and looks for an entry
// in an environment: with the standard library alone, for what agents' hooks call and
// what is their parent are small.
package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
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
	text, err := os.ReadFile(path)
	if err != nil {
		return Stat{}, err
	}
	s, err := Parse(text)
	if err != nil {
		return Stat{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return s, nil
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
	f := fields{list: bytes.Fields(text[to+1:])}
	if len(f.list) < 22 || len(f.list[0]) != 1 {
		return Stat{}, errForm
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:from])))
	s := Stat{
		PID: pid, Comm: string(text[from+1 : to]), State: f.list[0][0],
		PPID: int(f.signed(4)), PGID: int(f.signed(5)), SID: int(f.signed(6)), TTY: uint32(f.signed(7)),
		CPU: f.unsigned(14) + f.unsigned(15), CPUOfChildren: uint64(f.signed(16) + f.signed(17)),
		Exiting: f.unsigned(9)&exiting != 0,
		Start:   f.unsigned(22), Pages: f.signed(24), Whole: len(f.list) >= 50,
	}
	if s.Whole {
		s.Exit = int(f.signed(52))
	}
	if err != nil || f.bad {
		return Stat{}, errForm
	}
	return s, nil
}

// fields are those from the third on, numbered as proc(5) does.
type fields struct {
	list [][]byte
	bad  bool // one was no number
}

func (f *fields) signed(n int) int64 {
	v, err := strconv.ParseInt(string(f.list[n-3]), 10, 64)
	f.bad = f.bad || err != nil
	return v
}

func (f *fields) unsigned(n int) uint64 {
	v, err := strconv.ParseUint(string(f.list[n-3]), 10, 64)
	f.bad = f.bad || err != nil
	return v
}
