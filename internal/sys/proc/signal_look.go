package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/sys/procstat"
)

// Holding is what is known of the process that a pid names now.
type Holding struct {
	ID      ID
	Name    string    // of the command, as the kernel keeps it (15 bytes)
	Started time.Time // by the wall clock as it is set now
}

// Holder looks at who has a pid now. It fails with ErrGone when no process has, or
// only a corpse; any other error means that it cannot be told. It asks the
// kernel for a pidfd first, because a hidden /proc must not read as death.
func Holder(pid int) (Holding, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return Holding{}, fmt.Errorf("cannot find process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Holding{}, fmt.Errorf("cannot look at process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	row, err := readRow(pid)
	if readable(fd) {
		return Holding{}, fmt.Errorf("cannot find process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Holding{}, fmt.Errorf("cannot look at process %d: it lives, and /proc does not show it", pid)
	}
	now, up, err := clocks()
	if err != nil {
		return Holding{}, err
	}
	age := up - ticks(row.Start)
	return Holding{ID: row.ID, Name: row.Name, Started: now.Add(-age)}, nil
}

// ClockOffset returns wall clock minus CLOCK_BOOTTIME: it moves only when
// the wall clock is set, and then times of files and of processes no
// longer compare.
func ClockOffset() (time.Duration, error) {
	now, up, err := clocks()
	if err != nil {
		return 0, err
	}
	return time.Duration(now.UnixNano()) - up, nil
}

func clocks() (wall time.Time, up time.Duration, err error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return wall, 0, fmt.Errorf("cannot read the boot clock: %w", err)
	}
	return time.Now(), time.Duration(ts.Nano()), nil
}

// BootID returns the id of this boot.
func BootID() (string, error) { return procstat.BootID() }

// CommandLine returns the arguments of a process as they are now, as far as a
// Reader reads them, unredacted: to be compared, never to be shown. ErrGone when
// the process has ended.
func CommandLine(pid int) ([]string, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, gone(pid, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxArgs))
	if err != nil {
		return nil, gone(pid, err)
	}
	return splitArgs(text, nil), nil
}

// SameCgroup says whether two processes are in the same cgroups. ErrGone when one
// of them has ended.
func SameCgroup(a, b int) (bool, error) {
	var of [2][]byte
	for i, pid := range []int{a, b} {
		var err error
		if of[i], err = os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup"); err != nil {
			return false, gone(pid, err)
		}
	}
	return bytes.Equal(of[0], of[1]), nil
}

// Traffic returns the bytes a process has read and written since it began,
// by read and write calls (rchar and wchar of /proc/PID/io); false when the
// kernel does not let us see.
func Traffic(pid int) (uint64, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0, false
	}
	var read, written uint64
	if _, err := fmt.Sscanf(string(b), "rchar: %d\nwchar: %d", &read, &written); err != nil {
		return 0, false
	}
	return read + written, true
}
