package tmux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// identity names a process by pid and start time. A process that is gone has
// start time 0.
func (v *Viewer) identity(pid int) fleet.ProcessID {
	_, start, _ := stat(v.o.Proc, pid)
	return fleet.ProcessID{PID: pid, Start: start, Boot: v.o.Boot}
}

// server names a tmux server by the pid it gives. A server in another pid
// namespace gives a pid that is nobody's here, or someone else's: then nothing
// it says about pids can be used.
func (v *Viewer) server(pid int) (fleet.ProcessID, error) {
	comm, start, err := stat(v.o.Proc, pid)
	if err != nil {
		return fleet.ProcessID{}, fmt.Errorf("its process %d cannot be seen from here: %w", pid, err)
	}
	if !strings.Contains(comm, "tmux") {
		return fleet.ProcessID{}, fmt.Errorf("its process %d is %q here: it runs in another pid namespace", pid, fleet.Line(comm, 32))
	}
	return fleet.ProcessID{PID: pid, Start: start, Boot: v.o.Boot}, nil
}

// stat reads the name (field 2) and the start time in clock ticks since boot
// (field 22) from /proc/PID/stat. The name may hold spaces and parentheses.
func stat(proc string, pid int) (comm string, start uint64, err error) {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", 0, fmt.Errorf("cannot read process: %w", err)
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return "", 0, fmt.Errorf("cannot read process %d: no name in its stat", pid)
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("cannot read process %d: %d fields in its stat", pid, len(fields))
	}
	start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return string(b[open+1 : end]), start, err
}

func bootID(proc string) string {
	b, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
