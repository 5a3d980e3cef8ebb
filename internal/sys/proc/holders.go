package proc

import (
	"errors"
	"fmt"
	"time"
)

// slack is how much later than its lock a process may seem to have begun and
// still be its holder, as for the probe.
const slack = 2 * time.Second

// Holders is how it is told whether the process that a pid lock names is gone for good.
type Holders struct {
	Holder func(pid int) (Holding, error) // default Holder
	// ForeignNamespace is that of the probe: whether pids in locks say nothing here;
	// nil where that is to be found out.
	ForeignNamespace *bool
	// Elsewhere says why a pid that no process has here may be one's in another pid
	// namespace; default NewElsewhere, afresh.
	Elsewhere func(pid int) string
}

// Cannot says why no lock can be judged here; "" where one can.
func (h Holders) Cannot() string {
	if h.ForeignNamespace != nil && *h.ForeignNamespace {
		return "the locks are of another pid namespace"
	}
	return ""
}

// Gone returns how the process that a lock names is known to be gone, or why it is not: it
// has ended, or, where its pid may have been reused, belongs to one that is younger than the
// lock, which was written then.
func (h Holders) Gone(pid int, written time.Time, reused bool) (why string, err error) {
	holder := h.Holder
	if holder == nil {
		holder = Holder
	}
	is, err := holder(pid)
	switch {
	case errors.Is(err, ErrGone):
		why = fmt.Sprintf("process %d has ended", pid)
	case err != nil:
		return "", fmt.Errorf("cannot tell who holds it (%w)", err)
	case !reused || !is.Started.After(written.Add(slack)):
		return "", fmt.Errorf("process %d lives", pid)
	default:
		why = fmt.Sprintf("process %d is another one, younger than the lock", pid)
	}
	return why, h.nowhere(pid)
}

// nowhere checks that a process that is not here is not in another pid namespace either.
func (h Holders) nowhere(pid int) error {
	if h.ForeignNamespace != nil {
		return nil // a person has said how it is
	}
	elsewhere := h.Elsewhere
	if elsewhere == nil {
		elsewhere = func(pid int) string { return NewElsewhere().Why(pid) }
	}
	if why := elsewhere(pid); why != "" {
		return errors.New(why)
	}
	return nil
}
