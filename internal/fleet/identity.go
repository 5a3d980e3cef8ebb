package fleet

import "fmt"

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

// IsFor says whether the order may be carried out on what has this identity: it names no
// other one. Where nothing is left that it could be mistaken for, it may.
func (o Order) IsFor(identity string) bool {
	return o.Instance == "" || identity == NoInstance || o.Instance == identity
}
