package fleet

import (
	"fmt"
	"slices"
)

// NoInstance is the identity of an agent of which nothing is known to have begun.
const NoInstance = "none"

// Identity tells what runs by the agent's name from what ran or will run by the same name: the
// key of its instance, which no two have on any machine, else its process.
func (a Agent) Identity() string { return identity(a.Instance, a.Process) }

// Identity is that of the newest instance on record.
func (r Registration) Identity() string { return identity(r.Instance, r.Process) }

func identity(instance string, p ProcessID) string {
	switch {
	case instance != "":
		return instance
	case p.PID != 0:
		return fmt.Sprintf("process-%d-%d", p.PID, p.Start)
	}
	return NoInstance
}

// IsFor says whether the order may be carried out on what is known by its name, as it is
// seen and as it is on record: it names one of these. Where nothing has begun that it could be mistaken for, it may.
func (o Order) IsFor(known ...string) bool {
	known = slices.DeleteFunc(known, func(id string) bool { return id == NoInstance })
	return o.Instance == "" || len(known) == 0 || slices.Contains(known, o.Instance)
}
