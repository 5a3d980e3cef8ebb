//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place is the agent's own cgroup, when it has one, and what holds its memory.
type place struct {
	folder *os.File // nil: it has none
	path   string
	cap    string // of its memory: cgroup or none
	why    string // why none
	procs  string // why the number of its processes is not capped; empty: it is, or no cap was asked for
	ooms   uint64 // OOM kills counted before the agent began
	oomsOK bool
}

// newPlace makes a cgroup for the agent below a delegated one. Whatever does
// not work leaves the agent without a cap, and says so: a cap that is only
// believed in is worse than none.
func newPlace(o options) place {
	p := place{cap: "none", why: "none was asked for"}
	if o.memoryMax > 0 {
		p.why = "no delegated cgroup was given"
	}
	if o.processes > 0 {
		p.procs = "no delegated cgroup was given"
	}
	if o.cgroup != "" {
		p.make(o)
	}
	p.ooms, p.oomsOK = p.oomKills()
	return p
}

func (p *place) make(o options) {
	enable := filepath.Join(o.cgroup, "cgroup.subtree_control")
	if text, err := readFile(filepath.Join(o.cgroup, "cgroup.controllers")); err != nil {
		p.cannot(o, fmt.Sprintf("%s is no cgroup v2 folder that can be read", o.cgroup))
		return
	} else {
		if o.memoryMax > 0 && contains(string(text), "memory") {
			_ = write(enable, "+memory") // memory.max below tells whether it worked
		}
		if o.processes > 0 && contains(string(text), "pids") {
			_ = write(enable, "+pids")
		}
	}
	path := filepath.Join(o.cgroup, "custos-"+o.key)
	if err := os.Mkdir(path, 0o755); err != nil {
		p.cannot(o, "cannot make a cgroup: "+err.Error())
		return
	}
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		os.Remove(path)
		p.cannot(o, "cannot open the cgroup: "+err.Error())
		return
	}
	p.folder, p.path = folder, path
	if o.memoryMax > 0 {
		p.limit(o.memoryMax)
	}
	if o.processes > 0 {
		p.limitProcesses(o.processes)
	}
}

// cannot says why no cap is in force.
func (p *place) cannot(o options, why string) {
	p.why = why
	if o.processes > 0 {
		p.procs = why
	}
}

// limitProcesses caps how many processes and threads the agent's cgroup has at once.
func (p *place) limitProcesses(most int64) {
	err := write(filepath.Join(p.path, "pids.max"), strconv.FormatInt(most, 10))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.procs = "the pids controller is not delegated"
	case err != nil:
		p.procs = "cannot set pids.max: " + err.Error()
	default:
		p.procs = ""
	}
}

// limit caps the memory of the agent's cgroup, in bytes, and keeps it out of
// swap: what does not fit would go on there, and make all slow.
func (p *place) limit(bytes int64) {
	err := write(filepath.Join(p.path, "memory.max"), strconv.FormatInt(bytes, 10))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.why = "the memory controller is not delegated"
	case err != nil:
		p.why = "cannot set memory.max: " + err.Error()
	default:
		p.cap, p.why = "cgroup", ""
		err = write(filepath.Join(p.path, "memory.swap.max"), "0")
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // where swap is not accounted for, it cannot be capped
			p.why = "its swap is not capped: " + err.Error()
		}
	}
}

func contains(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}

// write writes to a file that exists; it never makes one, as it would in a
// folder that is no cgroup.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// drop gives the cgroup back, once nothing runs in it.
func (p *place) drop() {
	if p.folder != nil {
		p.folder.Close()
		_ = os.Remove(p.path) // not empty: descendants are left in it, on purpose
	}
}

// oomKills counts the OOM kills of the agent's cgroup or, when that cannot be
// told, of the whole machine.
func (p *place) oomKills() (uint64, bool) {
	file := "/proc/vmstat"
	if p.cap == "cgroup" {
		file = filepath.Join(p.path, "memory.events")
	}
	text, err := readFile(file)
	if err != nil {
		return 0, false
	}
	return oomKillOf(string(text))
}

// oomKillOf reads the line "oom_kill N".
func oomKillOf(text string) (uint64, bool) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// relayed is the signal that an exit status tells of: a shell, and bwrap, end with 128 and its number when
// what they ran was killed; 0 for none.
func relayed(status int) int {
	if status > 128 && status <= 128+64 {
		return status - 128
	}
	return 0
}

// oom says whether the agent ended by the OOM killer; nil when that cannot be
// told: it got SIGKILL, and somewhere on the machine the OOM killer struck.
func (p *place) oom(signal int) *bool {
	yes, no := true, false
	if signal != int(unix.SIGKILL) {
		return &no
	}
	kills, ok := p.oomKills()
	switch {
	case !ok || !p.oomsOK:
		return nil
	case kills == p.ooms:
		return &no
	case p.cap == "cgroup":
		return &yes
	}
	return nil
}
