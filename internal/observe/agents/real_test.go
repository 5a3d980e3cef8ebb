package agents_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/observe/agents"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
)

// TestMain lets the test binary be a fake agent: it is run again under the name
// of one.
func TestMain(m *testing.M) {
	switch os.Getenv("CUSTOS_FAKE_AGENT") {
	case "":
		os.Exit(m.Run())
	case "burn":
		for n := uint64(1); n != 0; n += 2 { // until killed
		}
	case "seven":
		os.Exit(7)
	case "show":
		fmt.Print("\x1b]2;" + os.Getenv("CUSTOS_FAKE_TITLE") + "\x07" + os.Getenv("CUSTOS_FAKE_SCREEN"))
	}
	time.Sleep(time.Hour)
}

// stage is a private tmux server with fake agents in it.
type stage struct {
	*sessiontest.Tmux
	claude string // path of the fake
	others []int  // pids of processes outside of tmux that belong to the test
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Tmux: sessiontest.NewTmux(t)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.claude = filepath.Join(s.Dir, "claude")
	if err := os.Symlink(self, s.claude); err != nil {
		t.Fatal(err)
	}
	return s
}

// env sets what the fakes of the next session do.
func (s *stage) fake(t *testing.T, name, mode, title, screen string, argv ...string) {
	t.Helper()
	if len(argv) == 0 {
		argv = []string{s.claude}
	}
	s.New(t, name, append([]string{"env", "CUSTOS_FAKE_AGENT=" + mode, "CUSTOS_FAKE_TITLE=" + title, "CUSTOS_FAKE_SCREEN=" + screen}, argv...)...)
}

// table is the process table of what the test started, and nothing else.
func (s *stage) table(t *testing.T) []fleet.Process {
	t.Helper()
	roots := append([]int{}, s.others...)
	if pid, err := strconv.Atoi(s.Run(t, "display-message", "-p", "#{pid}")); err == nil {
		roots = append(roots, pid)
	}
	var all []fleet.Process
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		if p, ok := readProcess(queue[0]); ok {
			all = append(all, p)
			queue = append(queue, children(queue[0])...)
		}
	}
	return all
}

func children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

func readProcess(pid int) (fleet.Process, bool) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(f) < 20 {
		return fleet.Process{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(f[i-3]); return n }
	cmdline, _ := os.ReadFile(dir + "cmdline")
	exe, _ := os.Readlink(dir + "exe")
	cwd, _ := os.Readlink(dir + "cwd")
	return fleet.Process{ID: fleet.ProcessID{PID: pid, Start: uint64(number(22))}, PPID: number(4), State: f[0],
		Name: "x", Exe: fleet.Known(exe), CWD: fleet.Known(cwd), UID: os.Getuid(), Age: fleet.Duration(time.Minute),
		Args: strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00"), CPU: fleet.Unknown[float64]("first table"),
		CPUTime: fleet.Duration(number(14)+number(15)) * fleet.Duration(10*time.Millisecond)}, true
}

func (s *stage) probe(t *testing.T, records func() []fleet.AgentRecord) *agents.Probe {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	v, err := tmux.New(tmux.Options{Sockets: []string{s.Socket}})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	p, err := agents.New(agents.Options{Kinds: kinds, Panes: v.Panes, Screens: v.Screens,
		Procs:    func(context.Context) ([]fleet.Process, error) { return s.table(t), nil },
		Recorded: func(context.Context) ([]fleet.AgentRecord, error) { return records(), nil },
		Now: func() fleet.Instant {
			return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(time.Hour + time.Since(begin)), Boot: "b"}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func see(t *testing.T, p *agents.Probe) map[string]fleet.Agent {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	found := map[string]fleet.Agent{}
	for _, a := range s.Agents.Value {
		found[a.Name] = a
	}
	return found
}

const (
	prompt = "────────────\n❯ \n────────────\n  ? for shortcuts"
	asks   = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel"
)

// One look, with real processes in a real tmux, tells what each agent is doing.
func TestOneLookAtRealAgents(t *testing.T) {
	s := newStage(t)
	s.fake(t, "burning", "burn", "", "")
	s.fake(t, "ready", "show", "✳ Claude Code", prompt)
	s.fake(t, "asking", "show", "✳ Claude Code", asks)
	s.fake(t, "spinning", "show", "⠂ Claude Code", prompt)
	s.fake(t, "below", "show", "✳ Claude Code", prompt, "sh", "-c", s.claude+"; exit 0")
	s.New(t, "bystander", "tail", "-f", "/dev/null", "claude")
	headless := exec.Command(s.claude, "-p", "hello")
	headless.Env = append(os.Environ(), "CUSTOS_FAKE_AGENT=sleep")
	headless.Dir = s.Dir
	if err := headless.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = headless.Process.Kill(); _ = headless.Wait() })
	s.others = append(s.others, headless.Process.Pid)
	name := "claude@" + filepath.Base(s.Dir)
	want := map[string]fleet.AgentState{"burning": fleet.StateWorking, "ready": fleet.StateIdle, "asking": fleet.StateWaiting,
		"spinning": fleet.StateWorking, "below": fleet.StateIdle, name: fleet.StateUnknown}
	found := sessiontest.Await(t, func() (map[string]fleet.Agent, bool) {
		found := see(t, s.probe(t, func() []fleet.AgentRecord { return nil })) // each look is a first look
		ok := len(found) == len(want)
		for name, state := range want {
			ok = ok && found[name].State == state
		}
		return found, ok && found["burning"].Source == agent.SourceCPU
	})
	if a := found[name]; !a.OneShot || a.Pane != nil || a.Process.PID != headless.Process.Pid || a.Owner != fleet.OwnerForeign {
		t.Errorf("the one outside of tmux: %+v", a)
	}
	if a := found["below"]; a.Pane == nil || a.Pane.ID.Root.PID == a.Process.PID {
		t.Errorf("the one below a shell has no pane, or is its first process: %+v", a)
	}
	for name, a := range found {
		if a.Progress == fleet.ProgressNone {
			t.Errorf("%s makes no progress, after one look", name)
		}
	}
}

// An agent that dies leaves a shell, or a dead pane with its exit status.
func TestRealAgentsThatEnd(t *testing.T) {
	s := newStage(t)
	s.New(t, "shell", "sh", "-i")
	s.Run(t, "set-option", "-g", "remain-on-exit", "on")
	s.Run(t, "send-keys", "-t", "=shell:", "CUSTOS_FAKE_AGENT=sleep "+s.claude, "Enter")
	s.fake(t, "dead", "seven", "", "")
	var records []fleet.AgentRecord
	p := s.probe(t, func() []fleet.AgentRecord { return records })
	alive := sessiontest.Await(t, func() (fleet.Agent, bool) {
		a := see(t, p)["shell"]
		return a, a.Process.PID != 0
	})
	records = []fleet.AgentRecord{{Name: "shell", Kind: "claude", Process: alive.Process, Pane: &alive.Pane.ID}}
	fake, err := os.FindProcess(alive.Process.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := fake.Kill(); err != nil {
		t.Fatal(err)
	}
	found := sessiontest.Await(t, func() (map[string]fleet.Agent, bool) {
		found := see(t, p)
		return found, found["shell"].State == fleet.StateZombie && found["dead"].Kind == "claude"
	})
	if a := found["dead"]; a.State != fleet.StateCrashed && a.State != fleet.StateUnknown || a.ExitStatus.Or(7) != 7 || a.Process.PID != 0 {
		t.Errorf("the dead one: %s (%s), status %v", a.State, a.Reason, a.ExitStatus)
	}
	s.Run(t, "send-keys", "-t", "=shell:", "CUSTOS_FAKE_AGENT=sleep "+s.claude, "Enter")
	sessiontest.Await(t, func() (fleet.Agent, bool) {
		a := see(t, p)["shell"]
		return a, a.Process.PID != 0 && a.State != fleet.StateZombie
	})
}
