// Package caller says which agent a process belongs to, so that an agent cannot do what
// takes a person: by its own marker and its ancestors', by the shim of an agent among them
// (which is the parent of whatever an agent lets go of), by an ancestor that is an agent's
// process, by a terminal or a session it shares with an agent, or by Custos' own tmux
// server among its ancestors; and of who has come by ssh, by whose ssh that is on this
// machine. It stops accidents and careless agents: one that ends its shim, writes to the
// files of its user, goes by another machine, or has the person's own tmux server begin a
// session or type into a pane of it, is not stopped: what runs there is a child of that
// server, as the person's shell is.
package caller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Agent is whom a process belongs to.
type Agent struct {
	Name     string
	Instance string // of one whose shim tells it
	Marked   bool   // only its marker, or the arguments of its shim, say which one it is
}

// Finder finds whom processes belong to.
type Finder struct {
	Procs  *proc.Reader
	Socket string // of Custos' own tmux server
}

// Seen is the agent that a process belongs to, given with its ancestors, of those that
// were looked at, and by what the kernel keeps of it.
func (f Finder) Seen(snap fleet.Snapshot, line []proc.Stat) (Agent, bool) {
	for _, a := range snap.Agents.Value {
		if belongs(a, line) || f.sharesSession(a, line[0]) || below(a.Instance, line) {
			return Agent{Name: a.Name}, true
		}
	}
	return f.Kept(line)
}

// Kept is the agent that a process belongs to by what the kernel keeps of it and
// its ancestors, without a look at the fleet: a marker, a shim, our own tmux server.
func (f Finder) Kept(line []proc.Stat) (Agent, bool) {
	if name, ok := f.marked(line); ok {
		return Agent{Name: name, Marked: true}, true
	}
	for _, p := range line {
		switch argv, err := proc.CommandLine(p.ID.PID); {
		case p.Comm == shim.Program:
			return Agent{Name: fleet.Line(after(argv, "--name"), 80), Marked: true}, true
		case err == nil && strings.HasPrefix(p.Comm, "tmux") && after(argv, "-S") == f.Socket:
			return Agent{Name: ofOurServer}, true
		}
	}
	return Agent{}, false
}

// Unseen is who is not seen to be an agent: one that our tmux server has begun, nobody
// for a person, and an error where that cannot be told, which counts as an agent.
func (f Finder) Unseen(snap fleet.Snapshot, line []proc.Stat) (string, error) {
	if name, err := byServer(snap, f.Socket, line); name != "" || err != nil {
		return name, err
	}
	return "", f.letGo(snap, line)
}

// OfShim is the agent that the nearest shim among the ancestors was started for.
func OfShim(line []proc.Stat) Agent {
	i := slices.IndexFunc(line, func(p proc.Stat) bool { return p.Comm == shim.Program })
	if i < 0 {
		return Agent{}
	}
	argv, err := proc.CommandLine(line[i].ID.PID)
	if err != nil {
		return Agent{}
	}
	return Agent{Name: after(argv, "--name"), Instance: after(argv, "--key"), Marked: true}
}

// below says whether a process descends from the shim of an instance.
func below(instance string, line []proc.Stat) bool {
	return instance != "" && slices.ContainsFunc(line, func(p proc.Stat) bool {
		argv, err := proc.CommandLine(p.ID.PID)
		return p.Comm == shim.Program && err == nil && after(argv, "--key") == instance
	})
}

// after is the argument that follows a flag.
func after(argv []string, flag string) string {
	if i := slices.Index(argv, flag); i >= 0 && i+1 < len(argv) {
		return argv[i+1]
	}
	return unnamed
}

// unnamed is an agent of which nothing says which one it is: it owns nothing.
const unnamed = "?"

// ofOurServer names whoever was begun by our own tmux server and not in a pane.
const ofOurServer = "of Custos' tmux server"

// marked returns the agent whose marker one of the processes carries.
func (f Finder) marked(line []proc.Stat) (string, bool) {
	for _, p := range line {
		if value, ok, err := f.Procs.Env(p.ID.PID, shim.Marker); err == nil && ok {
			if name, _, ok := shim.ParseMarker(value); ok {
				return fleet.Line(name, 80), true
			}
			return unnamed, true
		}
	}
	return "", false
}

// letGo doubts a caller without a terminal that nobody is left who began it: what
// our tmux server, or an agent whose shim was killed, begins in a session of its own
// and lets go of looks the same. Whoever is in another cgroup than they are, as the
// units of a service manager, is not theirs, and whoever is older neither.
func (f Finder) letGo(snap fleet.Snapshot, line []proc.Stat) error {
	top, ok := abandoned(line)
	if !ok {
		return nil
	}
	for _, id := range breeders(snap, f.Socket) {
		if id.Start > top.ID.Start {
			continue
		}
		same, err := proc.SameCgroup(id.PID, top.ID.PID)
		switch {
		case errors.Is(err, proc.ErrGone):
			continue
		case err != nil:
			return fmt.Errorf("it has no terminal, nobody is left who began it, and its cgroup is not told: %w", err)
		case same:
			return errors.New("it has no terminal, and nobody is left who began it: so would be what an agent lets go of")
		}
	}
	return nil
}

// abandoned returns the oldest of a caller's line that a reaper has inherited, or may
// have: one that leads a session of its own, directly below process 1 or the service
// manager of a user.
func abandoned(line []proc.Stat) (proc.Stat, bool) {
	if line[0].TTY != "" {
		return proc.Stat{}, false
	}
	for i := 1; i < len(line); i++ {
		reaper, top := line[i], line[i-1]
		if reaper.ID.PID == 1 || reaper.Comm == "systemd" {
			return top, top.SID != 0 && top.SID != reaper.SID
		}
	}
	return proc.Stat{}, false
}

// isOfOurs says whether Custos has started an agent, though it may have forgotten it.
func isOfOurs(a fleet.Agent) bool {
	return a.Owner == fleet.OwnerCustos || a.Owner == fleet.OwnerUnknown && a.Instance != ""
}

// breeders are the processes of ours that begin others: agents of ours, and the
// tmux server they run in.
func breeders(snap fleet.Snapshot, socket string) (ids []fleet.ProcessID) {
	for _, a := range snap.Agents.Value {
		if isOfOurs(a) && a.Process.PID != 0 {
			ids = append(ids, a.Process)
		}
	}
	for _, p := range snap.Sessions.Value {
		if p.ID.Socket == socket {
			return append(ids, p.ID.Server)
		}
	}
	return ids
}

// sharesSession says whether a process is of the session (of the kernel's) that
// Custos made for an agent: what an agent forks twice stays in it.
func (f Finder) sharesSession(a fleet.Agent, caller proc.Stat) bool {
	if !isOfOurs(a) || a.Process.PID == 0 || caller.SID == 0 {
		return false
	}
	is, err := f.Procs.Stat(a.Process.PID)
	return err == nil && is.ID.Start == a.Process.Start && is.SID == caller.SID
}

// byServer judges who was begun by a tmux server: in Custos' own server it is an agent.
// Whom another one has begun without a terminal, and who has lost the session that it was
// begun in, cannot be told.
func byServer(snap fleet.Snapshot, own string, line []proc.Stat) (string, error) {
	in := map[int]bool{}
	for _, p := range line {
		in[p.ID.PID] = true
	}
	for _, p := range snap.Sessions.Value {
		if p.ID.Socket == own && in[p.ID.Server.PID] {
			return ofOurServer, nil
		}
	}
	if err := job(line); err != nil {
		return "", err
	}
	if c := line[0]; c.TTY == "" && c.SID != 0 && !in[c.SID] {
		return "", errors.New("it was cut off from the session it was begun in")
	}
	return "", nil
}

// job doubts what a tmux server has begun, and given no terminal: run-shell, if-shell,
// pipe-pane and #(…), of a person or of whoever else can speak to that server. What runs in a
// pane or in a popup has one.
func job(line []proc.Stat) error {
	for i, p := range line[:len(line)-1] {
		if above := line[i+1].Comm; p.TTY == "" && (above == "tmux" || strings.HasPrefix(above, "tmux: ")) {
			return errors.New("a tmux server has begun it, and not in a pane, which anybody may have told it: do it in a pane, or by tmux display-popup")
		}
	}
	return nil
}

// belongs says whether one of the processes is the agent's, or the caller, the
// first of them, sits at the agent's terminal.
func belongs(a fleet.Agent, line []proc.Stat) bool {
	for _, p := range line {
		for _, id := range append([]fleet.ProcessID{a.Process}, a.Procs...) {
			if id.PID == p.ID.PID && id.Start == p.ID.Start {
				return true
			}
		}
	}
	return a.Process.PID != 0 && a.TTY != "" && a.TTY == line[0].TTY
}

// Line is the process and its ancestors, itself first.
func Line(procs *proc.Reader, pid int) (line []proc.Stat, err error) {
	const deepest = 64
	for range deepest {
		stat, err := procs.Stat(pid)
		if err != nil {
			return nil, fmt.Errorf("its ancestors cannot be followed: %w", err)
		}
		line = append(line, stat)
		if stat.PPID <= 0 || stat.ID.PID == 1 {
			return line, nil
		}
		pid = stat.PPID
	}
	return nil, fmt.Errorf("it has more than %d ancestors", deepest)
}
