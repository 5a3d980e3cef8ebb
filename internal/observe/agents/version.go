package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// versionOf is the version of an agent's CLI, as that tells or writes down of this very
// process, else as the package says that its program belongs to. No CLI is run to ask it.
func (l *look) versionOf(r run, m *memory, sig agent.Signals) string {
	written := ""
	if !sig.Written.Last.IsZero() { // by this process
		written = l.spoken[r.Process.ID].Version
	}
	version := cmp.Or(l.registry[r.Process.ID].Version, sig.Told.Status.Version, written)
	if version == "" {
		version = l.packagedAs(r, m)
	}
	if !agent.IsVersion(version) {
		return ""
	}
	return version
}

// packagedAs is looked for once: what runs stays what it is.
func (l *look) packagedAs(r run, m *memory) string {
	if !m.packaged {
		m.packaged = true
		m.version = packageVersion(r.Process, l.began(r))
	}
	return m.version
}

// packageVersion is the version of the npm package that a process runs from, or of a program
// that is called by its version. Empty where the package was changed after the process began: then it is
// that of the next one.
func packageVersion(p fleet.Process, began time.Time) string {
	program := agent.Program(p)
	if program == "" || !isHere(p.ID.PID) {
		return ""
	}
	return Packaged(program, began.Add(startSlack))
}

// Packaged is the version of a program, of its package or its name, that was there at a
// moment; empty where that cannot be told.
func Packaged(program string, at time.Time) string {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	if name := filepath.Base(program); agent.IsVersion(name) {
		return name
	}
	dir := packageOf(program)
	if dir == "" {
		return ""
	}
	text, err := readOlder(filepath.Join(dir, "package.json"), at)
	var said struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(text, &said) != nil {
		return ""
	}
	return fleet.Line(said.Version, 40)
}

// packageOf is the folder of the npm package that a file belongs to; empty for none.
func packageOf(file string) string {
	const modules = "/node_modules/"
	at := strings.LastIndex(file, modules)
	if at < 0 {
		return ""
	}
	at += len(modules)
	parts := strings.SplitN(file[at:], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) == 3 {
		return file[:at] + parts[0] + "/" + parts[1]
	}
	if len(parts) < 2 || strings.HasPrefix(parts[0], "@") {
		return ""
	}
	return file[:at] + parts[0]
}

// isHere says whether a process sees the files that Custos sees.
func isHere(pid int) bool {
	its, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/root/.")
	if err != nil {
		return false
	}
	ours, err := os.Stat("/.")
	return err == nil && os.SameFile(its, ours)
}

// largestPackage is how many bytes a package.json may have: those of CLIs have under 20 KiB.
const largestPackage = 256 << 10

// readOlder reads a regular file that was not changed after a moment. Its own time of change
// counts, which no archive sets.
func readOlder(file string, than time.Time) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Size() > largestPackage || time.Unix(st.Ctim.Unix()).After(than) {
		return nil, errors.New("it is no small file that is as old as the process")
	}
	return io.ReadAll(io.LimitReader(f, largestPackage))
}

// seePolicyGaps notes of each agent that runs and has a policy what it is not proven to be held to.
func seePolicyGaps(kinds *agent.Kinds, found []fleet.Agent) {
	for i := range found {
		if a := &found[i]; a.Policy != "" && a.Process.PID != 0 {
			kind, _ := kinds.Get(a.Kind)
			a.PolicyGap = kind.PolicyGap(a.Version)
		}
	}
}
