package caller

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// TestMain is also a program that does nothing until its standard input ends, under the name by which it was begun.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == shim.Program || name == "tmux" || name == "sshd" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

const (
	socket = "/run/custos/tmux.sock"
	key    = "0123456789abcdef0123456789abcdef"
	nobody = 1 << 30 // the first of pids that no process has
)

// begun is a process that runs under a name, with these arguments and variables.
func begun(t *testing.T, name string, env []string, args ...string) proc.Stat {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session of its own: that of the tests may be out of sight
	c.Env = append([]string{"PATH=/bin"}, env...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Wait() })
	return stat(t, c.Process.Pid)
}

func stat(t *testing.T, pid int) proc.Stat {
	t.Helper()
	p, err := proc.NewReader(proc.TableOptions{}).Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func finder() Finder { return Finder{Procs: proc.NewReader(proc.TableOptions{}), Socket: socket} }

// made is a process that is not there any more: only what was read of it is known.
func made(n int, tty string, sid int) proc.Stat {
	return proc.Stat{ID: proc.ID{PID: nobody + n, Start: uint64(n)}, Comm: "sh", TTY: tty, SID: sid}
}

func id(p proc.Stat) fleet.ProcessID { return fleet.ProcessID{PID: p.ID.PID, Start: p.ID.Start} }

// TestLine: the process itself first, then each that began the one before it, up to the first there is.
func TestLine(t *testing.T) {
	line, err := Line(finder().Procs, os.Getpid())
	if err != nil || line[0].ID.PID != os.Getpid() {
		t.Fatalf("%+v, %v", line, err)
	}
	for i, p := range line[1:] {
		if line[i].PPID != p.ID.PID {
			t.Errorf("%d was begun by %d, and %d follows", line[i].ID.PID, line[i].PPID, p.ID.PID)
		}
	}
	if last := line[len(line)-1]; last.PPID != 0 && last.ID.PID != 1 {
		t.Errorf("it ends at %+v", last)
	}
	if _, err := Line(finder().Procs, nobody); err == nil || !strings.Contains(err.Error(), "its ancestors cannot be followed") {
		t.Errorf("of a process that is gone: %v", err)
	}
}

// TestSeen: whose a process is by its ancestors, its terminal and its session, each by the identity of a
// process and never by its pid alone.
func TestSeen(t *testing.T) {
	self := begun(t, "tmux", nil)
	agents := func(list ...fleet.Agent) (s fleet.Snapshot) {
		s.Agents.Value = list
		return s
	}
	parent := made(2, "", 0)
	below := []proc.Stat{made(1, "", 0), parent}
	at := []proc.Stat{made(1, "pts/3", 0), made(2, "pts/4", 0)}
	other := id(parent)
	other.Start++
	forked := made(1, "", self.SID)
	reused := id(self)
	reused.Start++
	for what, c := range map[string]struct {
		agent fleet.Agent
		line  []proc.Stat
		is    bool
	}{
		"the agent began it":                      {fleet.Agent{Process: id(parent)}, below, true},
		"a process of the agent began it":         {fleet.Agent{Process: fleet.ProcessID{PID: nobody + 9}, Procs: []fleet.ProcessID{id(parent)}}, below, true},
		"the pid is another's now":                {fleet.Agent{Process: other}, below, false},
		"a person's, beside the agent":            {fleet.Agent{Process: fleet.ProcessID{PID: nobody + 9}}, below, false},
		"at the agent's terminal":                 {fleet.Agent{Process: fleet.ProcessID{PID: nobody + 9}, TTY: "pts/3"}, at, true},
		"an ancestor is at the agent's terminal":  {fleet.Agent{Process: fleet.ProcessID{PID: nobody + 9}, TTY: "pts/4"}, at, false},
		"at the terminal of one that has ended":   {fleet.Agent{TTY: "pts/3"}, at, false},
		"neither has a terminal":                  {fleet.Agent{Process: fleet.ProcessID{PID: nobody + 9}}, below, false},
		"forked twice, in the session of ours":    {fleet.Agent{Process: id(self), Owner: fleet.OwnerCustos}, []proc.Stat{forked}, true},
		"in the session of a person's agent":      {fleet.Agent{Process: id(self), Owner: fleet.OwnerForeign}, []proc.Stat{forked}, false},
		"ours is forgotten, and tells its shim":   {fleet.Agent{Process: id(self), Owner: fleet.OwnerUnknown, Instance: key}, []proc.Stat{forked}, true},
		"in a session of one whose pid is reused": {fleet.Agent{Process: reused, Owner: fleet.OwnerCustos}, []proc.Stat{forked}, false},
	} {
		c.agent.Name = "a"
		got, is := finder().Seen(agents(c.agent), c.line)
		if is != c.is || is && got != (Agent{Name: "a"}) {
			t.Errorf("%s: %+v, %v", what, got, is)
		}
	}
}

// TestKept: what the kernel keeps of a process tells whose it is without a look at the fleet: a marker, the
// shim that began it, our own tmux server.
func TestKept(t *testing.T) {
	caller := made(1, "", 0)
	line := func(p proc.Stat) []proc.Stat { return []proc.Stat{caller, p} }
	shimmed := begun(t, shim.Program, nil, "--name", "builder", "--key", key)
	for what, c := range map[string]struct {
		line []proc.Stat
		want Agent
		is   bool
	}{
		"a person":                {line(made(2, "", 0)), Agent{}, false},
		"a marker":                {line(begun(t, "tmux", []string{shim.Marker + "=dev:1:" + key})), Agent{Name: "dev:1", Marked: true}, true},
		"a marker of no form":     {line(begun(t, "tmux", []string{shim.Marker + "=dev"})), Agent{Name: "?", Marked: true}, true},
		"a shim":                  {line(shimmed), Agent{Name: "builder", Marked: true}, true},
		"a shim without words":    {line(begun(t, shim.Program, nil)), Agent{Name: "?", Marked: true}, true},
		"our tmux server":         {line(begun(t, "tmux", nil, "-S", socket)), Agent{Name: ofOurServer}, true},
		"a tmux server of others": {line(begun(t, "tmux", nil, "-S", "/tmp/tmux-0/default")), Agent{}, false},
	} {
		if got, is := finder().Kept(c.line); is != c.is || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", what, got, is, c.want, c.is)
		}
	}
	if got, want := OfShim(line(shimmed)), (Agent{Name: "builder", Instance: key, Marked: true}); got != want {
		t.Errorf("of its shim: %+v", got)
	}
	if got := OfShim(line(made(2, "", 0))); got != (Agent{}) {
		t.Errorf("of no shim: %+v", got)
	}
	seen := fleet.Snapshot{}
	seen.Agents.Value = []fleet.Agent{{Name: "renamed", Instance: key}}
	if got, is := finder().Seen(seen, line(shimmed)); !is || got != (Agent{Name: "renamed"}) {
		t.Errorf("by the shim of an instance that is seen: %+v, %v", got, is)
	}
}

// TestUnseen: who is no agent that is seen is a person only where nothing speaks against it; what cannot be
// told is an error, which counts as an agent.
func TestUnseen(t *testing.T) {
	self := stat(t, os.Getpid())
	first := proc.Stat{ID: proc.ID{PID: 1}, Comm: "init"}
	server, root := made(7, "", 0), made(6, "pts/5", 0)
	server.Comm = "tmux: server"
	pane := func(sock string) fleet.Pane {
		return fleet.Pane{ID: fleet.PaneID{Socket: sock, Server: id(server), Root: id(root)}}
	}
	hosted := pane("/tmp/tmux-0/default")
	inPane := fleet.Agent{Name: "a", Owner: fleet.OwnerForeign, Process: fleet.ProcessID{PID: nobody + 20, Start: 1}, Pane: &hosted}
	ours := fleet.Agent{Name: "o", Owner: fleet.OwnerCustos, Process: id(self)}
	young, gone := ours, ours
	young.Process.Start++
	gone.Process = fleet.ProcessID{PID: nobody + 30, Start: 1}
	let := proc.Stat{ID: self.ID, Comm: "sh", SID: self.ID.PID}
	for what, c := range map[string]struct {
		agents []fleet.Agent
		panes  []fleet.Pane
		line   []proc.Stat
		name   string
		doubt  string
	}{
		"a person at a terminal":                  {[]fleet.Agent{ours}, nil, []proc.Stat{made(1, "pts/9", nobody+8), first}, "", ""},
		"begun by our own server":                 {nil, []fleet.Pane{pane(socket)}, []proc.Stat{made(1, "", nobody+1), server, first}, ofOurServer, ""},
		"begun by a tmux server, in no pane":      {nil, nil, []proc.Stat{made(1, "", nobody+1), server, first}, "", "a tmux server has begun it, and not in a pane"},
		"the same, in a terminal of its own":      {nil, nil, []proc.Stat{made(1, "pts/9", nobody+2), made(2, "", nobody+7), server, first}, "", "a tmux server has begun it, and not in a pane"},
		"in another pane of an agent's server":    {[]fleet.Agent{inPane}, []fleet.Pane{hosted}, []proc.Stat{made(1, "pts/5", nobody+1), root, server, first}, "", ""},
		"cut off from its session":                {nil, nil, []proc.Stat{made(1, "", nobody+8), first}, "", "cut off from the session"},
		"let go of, while an agent of ours runs":  {[]fleet.Agent{ours}, nil, []proc.Stat{let, first}, "", "nobody is left who began it"},
		"let go of, and older than each agent":    {[]fleet.Agent{young}, nil, []proc.Stat{let, first}, "", ""},
		"let go of, and the agent is gone":        {[]fleet.Agent{gone}, nil, []proc.Stat{let, first}, "", ""},
		"let go of, and no agent of ours is here": {nil, nil, []proc.Stat{let, first}, "", ""},
	} {
		snap := fleet.Snapshot{}
		snap.Agents.Value, snap.Sessions.Value = c.agents, c.panes
		name, err := finder().Unseen(snap, c.line)
		if name != c.name || (err != nil) != (c.doubt != "") || err != nil && !strings.Contains(err.Error(), c.doubt) {
			t.Errorf("%s: %q, %v; want %q, %q", what, name, err, c.name, c.doubt)
		}
	}
}
