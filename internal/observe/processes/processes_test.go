package processes_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/observe/processes"
	"custos/internal/sys/proc"
)

// still is a process table that does not move.
type still struct {
	rows []proc.Info
	err  error
}

func (s *still) Table(context.Context) ([]proc.Info, error) { return s.rows, s.err }

func table() *still {
	return &still{rows: []proc.Info{
		{Stat: proc.Stat{ID: proc.ID{PID: 2, Start: 1}, Comm: "kthreadd", State: "S"}},
		{Stat: proc.Stat{ID: proc.ID{PID: 7, Start: 70}, PPID: 1, TTY: "pts/1", Comm: "a\x1b[31mb", State: "S"}, UID: 1000,
			Exe: proc.Link{Err: "permission denied"}, CWD: proc.Link{Path: "/tmp/\xff x\n"},
			Args: []string{"claude", "--api-key", "hunter2", "\x1b]0;t\x07hi"}, HasCPU: true, CPU: 12.5, Cgroup: "/a\nb"},
		{Stat: proc.Stat{ID: proc.ID{PID: 8, Start: 80}, Comm: "hung"}, Unread: "its command line did not answer"},
	}}
}

func probe(t *testing.T, o processes.Options) *processes.Probe {
	t.Helper()
	p, err := processes.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSuite(t *testing.T) {
	observetest.Test(t, func() observe.Probe { return probe(t, processes.Options{Reader: table(), Boot: "b"}) })
}

func TestFacts(t *testing.T) {
	p := probe(t, processes.Options{Reader: table(), Boot: "b"})
	all, err := p.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if exe, ok := all[0].Exe.Get(); !ok || exe != "" {
		t.Errorf("a kernel thread runs %q (%s)", exe, all[0].Exe.Why())
	}
	a := all[1]
	if a.ID != (fleet.ProcessID{PID: 7, Start: 70, Boot: "b"}) || a.TTY != "pts/1" || a.UID != 1000 {
		t.Errorf("identity is %+v", a)
	}
	if a.Exe.IsKnown() || a.Exe.Why() != "permission denied" {
		t.Errorf("exe is %q (%s)", a.Exe.Or(""), a.Exe.Why())
	}
	if cwd, _ := a.CWD.Get(); fleet.RawPath(cwd) != "/tmp/\xff x\n" || strings.ContainsRune(cwd, '\n') {
		t.Errorf("cwd is %q", cwd)
	}
	if got := strings.Join(a.Args, " "); got != "claude --api-key *** hi" || a.Name != "ab" {
		t.Errorf("%s runs %q", a.Name, got)
	}
	if got, ok := a.CPU.Get(); !ok || got != 12.5 || all[0].CPU.IsKnown() {
		t.Errorf("cpu is %v, %v", a.CPU, all[0].CPU)
	}
	if all[2].Exe.IsKnown() {
		t.Error("the program of a hung process passes for known")
	}
}

// A process that runs another program is not shown with the old command line.
func TestChangedCommandLine(t *testing.T) {
	world := table()
	p := probe(t, processes.Options{Reader: world})
	if _, err := p.Processes(t.Context()); err != nil {
		t.Fatal(err)
	}
	world.rows = slices.Clone(world.rows)
	world.rows[1].Args = []string{"vim"}
	all, err := p.Processes(t.Context())
	if err != nil || all[1].Args[0] != "vim" {
		t.Errorf("shown as %v, %v", all[1].Args, err)
	}
}

func TestNoTable(t *testing.T) {
	p := probe(t, processes.Options{Reader: &still{err: errors.New("cannot read process table: no")}})
	if put, err := p.Look(t.Context()); put != nil || err == nil {
		t.Error("an unreadable table was no error")
	}
	if _, err := processes.New(processes.Options{Every: "often"}); err == nil {
		t.Error(`every = "often" was taken`)
	}
}

func TestHere(t *testing.T) {
	all, err := probe(t, processes.Options{}).Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(p fleet.Process) bool { return p.ID.PID == os.Getpid() }) {
		t.Error("we are not in our own table")
	}
}

// BenchmarkWarm is a look at 700 processes that were seen before.
func BenchmarkWarm(b *testing.B) {
	world := &still{}
	for i := range 700 {
		world.rows = append(world.rows, proc.Info{Stat: proc.Stat{ID: proc.ID{PID: i + 1, Start: 1}},
			CWD: proc.Link{Path: "/home/me/src/project"}, Args: strings.Fields("node /usr/lib/x/cli.js --flag=value -p long prompt of some words")})
	}
	p, err := processes.New(processes.Options{Reader: world})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Processes(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
