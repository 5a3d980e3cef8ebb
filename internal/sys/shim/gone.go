package shim

import (
	"errors"
	"io/fs"

	"custos/internal/sys/procstat"
)

// IsGone says whether the shim of an instance is gone for certain, and has written
// down no end of its agent: it never will. The shim is looked at first, for what it
// wrote it wrote before it went. Where either cannot be told, it does not say so.
func IsGone(dir string) bool {
	s, exit, err := Read(dir)
	if err != nil || exit != nil || lives(s.Shim) {
		return false
	}
	return !hasExit(dir)
}

// lives says whether a process may live: it is there, or cannot be looked at.
func lives(id ID) bool {
	s, err := procstat.Read("/proc", id.PID)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return s.Start == id.Start && !s.Ended()
}
