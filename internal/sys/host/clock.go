// Package host tells where and when the program runs: clocks, boot, namespaces.
package host

import (
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/sys/procstat"
)

// Moment is one reading of the clocks.
type Moment struct {
	Wall time.Time     // UTC, without Go's monotonic reading
	Up   time.Duration // CLOCK_BOOTTIME: since boot, sleep included; it cannot be set
	Boot string        // the boot id, as NewClock read it
}

// Clock reads the clocks of this machine. The zero Clock knows no boot id.
type Clock struct{ boot string }

// NewClock reads the boot id, which cannot change while we run. Without one
// (another kind of kernel, no /proc) it fails; the Clock it returns then still
// tells the time.
func NewClock() (Clock, error) {
	boot, err := procstat.BootID()
	return Clock{boot: boot}, err
}

// Now reads the wall clock and the boot clock, one right after the other.
func (c Clock) Now() Moment {
	var ts unix.Timespec
	// It fails only on kernels before 2.6.39; Up is then 0.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return Moment{Wall: time.Now().UTC().Round(0), Up: time.Duration(ts.Nano()), Boot: c.boot}
}
