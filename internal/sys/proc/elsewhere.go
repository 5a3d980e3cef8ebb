package proc

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// initialNamespace is the pid namespace that a machine boots with: its inode is
// fixed (PROC_PID_INIT_INO in the kernel's proc_ns.h).
const initialNamespace = "pid:[4026531836]"

// Nested says whether we are in a pid namespace within another one: processes
// outside of it are not to be seen, and may hold what they share with us.
func Nested() bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || own != initialNamespace
}

// Elsewhere tells of a number that no process has here whether a process of
// another pid namespace may have it. One is made for one look, which it makes at
// most one pass through /proc for.
type Elsewhere struct {
	nested func() bool
	inner  func() (map[int]bool, error)
}

// NewElsewhere returns what tells for the machine that we are on.
func NewElsewhere() *Elsewhere {
	return &Elsewhere{nested: Nested, inner: sync.OnceValues(func() (map[int]bool, error) { return innerPIDs("/proc") })}
}

// Why says why the process that a file names by pid may live elsewhere; "" when
// it does not.
func (e *Elsewhere) Why(pid int) string {
	if e.nested() {
		return fmt.Sprintf("no process here is %d, but we are in a pid namespace of our own, and it may be one outside", pid)
	}
	inner, err := e.inner()
	if err != nil {
		return "cannot tell whether it is the number of a process of another pid namespace: " + err.Error()
	}
	if inner[pid] {
		return fmt.Sprintf("no process here is %d, but one of another pid namespace (a container) is", pid)
	}
	return ""
}

// innerPIDs are the numbers that processes have in pid namespaces within ours
// (proc(5), status, NSpid: the outermost number first).
func innerPIDs(root string) (map[int]bool, error) {
	pids, err := listPids(root)
	if err != nil {
		return nil, err
	}
	inner := map[int]bool{}
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("%s/%d/status", root, pid))
		if err != nil {
			continue // it ended, or is hidden from us
		}
		_, rest, _ := strings.Cut(string(status), "\nNSpid:")
		line, _, _ := strings.Cut(rest, "\n")
		for i, number := range strings.Fields(line) {
			var n int
			if _, err := fmt.Sscan(number, &n); err == nil && i > 0 {
				inner[n] = true
			}
		}
	}
	return inner, nil
}
