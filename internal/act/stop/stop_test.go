package stop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

const roleVar, deedVar = "CUSTOS_STOP_ROLE", "CUSTOS_STOP_DEED"

// The test binary started again plays the agents.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
		return
	}
	os.Exit(m.Run())
}

// play reports its own identity and lives until its input ends, so that
// nothing outlives a killed test. On SIGUSR1 it does its deed.
func play(role string) {
	head, rest, _ := strings.Cut(role, ",")
	switch head {
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	case "child", "setsid":
		begin(rest, head == "setsid")
	case "orphan": // its child is left to init, in its session
		begin(rest, false)
		return
	case "heir": // answers SIGTERM by a child in a session of its own, and ends a little later
		go on(syscall.SIGTERM, func() { begin(rest, true); time.Sleep(800 * time.Millisecond); os.Exit(0) })
	}
	ready := make(chan struct{})
	go on(syscall.SIGUSR1, deed, ready)
	<-ready
	report()
	_, _ = bufio.NewReader(os.Stdin).ReadString(0)
}

func on(sig os.Signal, do func(), ready ...chan struct{}) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, sig)
	for _, r := range ready {
		close(r)
	}
	<-heard
	do()
}

// deed is work of one kind, told of before it begins.
func deed() {
	fmt.Println("0 0")
	for i := 0; ; i++ {
		switch os.Getenv(deedVar) {
		case "burn":
			_ = strings.Repeat("x", 1<<16)
		case "stream":
			_, _ = os.ReadFile("/proc/self/maps")
			time.Sleep(5 * time.Millisecond)
		case "fork":
			if i < 100 {
				begin("sit", false)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func report() {
	line, err := proc.Lineage()
	if err != nil {
		panic(err)
	}
	fmt.Println(line[0].PID, line[0].Start)
}

func begin(role string, setsid bool) {
	cmd := exec.Command("/proc/self/exe", "-p", "answer")
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// world is a tree of roles that was started for a test.
type world struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	in    io.Closer
	ids   []fleet.ProcessID // in the order they reported
}

func start(t *testing.T, role, deed string, want int) *world {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-p", "answer", "--token", "hunter2hunter2")
	cmd.Env = append(os.Environ(), roleVar+"="+role, deedVar+"="+deed, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	w := &world{cmd: cmd, lines: bufio.NewScanner(out), in: in}
	for range want {
		w.ids = append(w.ids, w.next(t))
	}
	w.settle(t)
	return w
}

// settle waits until those that end at once have ended.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for _, id := range w.ids {
		if id.PID != w.cmd.Process.Pid {
			continue
		}
		h, err := proc.Open(proc.ID{PID: id.PID, Start: id.Start})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		for {
			tree, err := h.Tree(ctx, proc.TreeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(tree) == len(w.ids) {
				return
			}
		}
	}
}

// next waits for one more report.
func (w *world) next(t *testing.T) fleet.ProcessID {
	t.Helper()
	var id fleet.ProcessID
	if !w.lines.Scan() {
		t.Fatal("the roles report no more")
	}
	if _, err := fmt.Sscan(w.lines.Text(), &id.PID, &id.Start); err != nil {
		t.Fatal(err)
	}
	id.Boot = boot(t)
	return id
}

func boot(t *testing.T) string {
	t.Helper()
	b, err := proc.BootID()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// action asks to stop the tree, as a plan would.
func (w *world) action(t *testing.T) fleet.Action {
	t.Helper()
	args, err := proc.CommandLine(w.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	root := slices.IndexFunc(w.ids, func(id fleet.ProcessID) bool { return id.PID == w.cmd.Process.Pid })
	if root < 0 {
		t.Fatal("the root has not reported")
	}
	agent := fleet.Agent{
		Name: "claude@x", Kind: "claude", Owner: fleet.OwnerAdopted, State: fleet.StateIdle, OneShot: true,
		Progress: fleet.ProgressNone, Process: w.ids[root], Procs: w.ids, Args: fleet.RedactArgs(args),
	}
	return fleet.Action{ID: "1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindAgent, Name: agent.Name}, Target: fleet.Target{Agent: &agent}}
}

func stopper(t *testing.T) *Action {
	t.Helper()
	x, err := New(Options{Watch: "150ms", TermWait: "1s", KillWait: "3s"})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func alive(t *testing.T, a fleet.Action) string { return acttest.Alive(t, a.Target.Agent.Procs...) }

func TestConformance(t *testing.T) {
	worlds := map[int]*world{} // by pid of the root
	of := func(a fleet.Action) *world { return worlds[a.Target.Agent.Process.PID] }
	deed := ""
	acttest.Test(t, acttest.Case{
		Action: stopper(t),
		Setup: func(t *testing.T) fleet.Action {
			w := start(t, "child,setsid,deaf", deed, 3)
			worlds[w.cmd.Process.Pid] = w
			return w.action(t)
		},
		Fingerprint: alive,
		Gone: func(t *testing.T, a fleet.Action) {
			for _, id := range a.Target.Agent.Procs {
				if h, err := proc.Open(proc.ID{PID: id.PID, Start: id.Start}); err == nil {
					if err := h.Signal(syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
					if err := h.Wait(context.Background()); err != nil {
						t.Fatal(err)
					}
					h.Close()
				}
			}
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"the root has ended by itself": func(t *testing.T, a fleet.Action) {
				if err := of(a).cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				// Not cmd.Wait, which would close what the others read from.
				_, _ = of(a).cmd.Process.Wait()
			},
			"progress is unknown":      func(_ *testing.T, a fleet.Action) { a.Target.Agent.Progress = fleet.ProgressUnknown },
			"progress was seen":        func(_ *testing.T, a fleet.Action) { a.Target.Agent.Progress = fleet.ProgressSome },
			"no one-shot":              func(_ *testing.T, a fleet.Action) { a.Target.Agent.OneShot = false },
			"foreign":                  func(_ *testing.T, a fleet.Action) { a.Target.Agent.Owner = fleet.OwnerForeign },
			"nobody's":                 func(_ *testing.T, a fleet.Action) { a.Target.Agent.Owner = "" },
			"boot not seen":            func(_ *testing.T, a fleet.Action) { a.Target.Agent.Process.Boot = "" },
			"command line not seen":    func(_ *testing.T, a fleet.Action) { a.Target.Agent.Args = nil },
			"another command line":     func(_ *testing.T, a fleet.Action) { a.Target.Agent.Args[1] = "--resume" },
			"pid 1":                    func(_ *testing.T, a fleet.Action) { a.Target.Agent.Process.PID = 1 },
			"Custos itself":            func(_ *testing.T, a fleet.Action) { a.Target.Agent.Process.PID = os.Getpid() },
			"the root has another pid": func(_ *testing.T, a fleet.Action) { a.Target.Agent.Process.Start++ },
		},
	})
}

// A tree that shows life while it is watched is left alone.
func TestLifeIsLeftAlone(t *testing.T) {
	for deed, says := range map[string]string{"burn": "of a core", "stream": "moved", "fork": "begun process"} {
		t.Run(deed, func(t *testing.T) {
			w := start(t, "sit", deed, 1)
			a := w.action(t)
			if err := w.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			w.next(t) // it has begun
			o := Options{Watch: "600ms"}
			if deed == "stream" {
				o.MaxCPU = 50 // so that its traffic alone tells
			}
			x, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			run, err := x.Prepare(context.Background(), a)
			if err == nil {
				run.Close()
			}
			if !errors.Is(err, act.ErrRefused) || deed != "fork" && !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "it works") {
				t.Errorf("Prepare = %v, want refused: %s", err, says)
			}
			if !strings.Contains(alive(t, a), fmt.Sprint(w.cmd.Process.Pid)) {
				t.Error("it was stopped")
			}
		})
	}
}

// Work that begins between Prepare and Do is left alone too.
func TestLifeAfterPrepareIsLeftAlone(t *testing.T) {
	w := start(t, "sit", "fork", 1)
	a := w.action(t)
	run, err := stopper(t).Prepare(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := w.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	w.next(t)
	w.next(t) // the first child
	if err := run.Do(context.Background()); !errors.Is(err, act.ErrRefused) {
		t.Errorf("Do = %v, want refused", err)
	}
	if alive(t, a) == "" {
		t.Error("it was stopped")
	}
}

// atRest waits until the processes have begun: on a busy machine their first moment is work,
// and they are refused for that.
func atRest(t *testing.T, a fleet.Action) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(50 * time.Millisecond) {
		run, err := stopper(t).Prepare(t.Context(), a)
		if err == nil {
			run.Close()
			return
		}
		if !errors.Is(err, act.ErrRefused) || time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}

// Whatever the shape of the tree, nothing is left and nobody else is touched.
func TestNothingIsLeft(t *testing.T) {
	for role, want := range map[string]int{
		"sit": 1, "deaf": 1, "child,deaf": 2, "setsid,deaf": 2, "setsid,setsid,deaf": 3,
		"child,orphan,deaf": 2, "setsid,child,orphan,sit": 3,
	} {
		t.Run(role, func(t *testing.T) {
			bystander := start(t, "sit", "", 1)
			w := start(t, role, "", want)
			a := w.action(t)
			atRest(t, a)
			effect := acttest.Do(t, stopper(t), a)
			if left := alive(t, a); left != "" {
				t.Errorf("left: %s", left)
			}
			if !strings.Contains(effect, "stopped "+fleet.Counted(want, "process")) || strings.Contains(effect, " 0.0 MiB") {
				t.Errorf("effect %q", effect)
			}
			if acttest.Alive(t, bystander.ids...) == "" {
				t.Error("a bystander was stopped")
			}
		})
	}
}

// What answers SIGTERM by a deaf child in a session of its own is found out.
func TestWhatIsBegunOnSIGTERMIsFound(t *testing.T) {
	w := start(t, "heir,deaf", "", 1)
	acttest.Do(t, stopper(t), w.action(t))
	heir := w.next(t)
	if left := acttest.Alive(t, heir); left != "" {
		t.Errorf("the heir lives: %s", left)
	}
}

// A process that was in the tree when it was seen, and left it by a double
// fork since, is stopped with it.
func TestWhatWasRecordedIsStoppedToo(t *testing.T) {
	w := start(t, "sit", "", 1)
	daemon := start(t, "deaf", "", 1)
	a := w.action(t)
	a.Target.Agent.Procs = append(a.Target.Agent.Procs, daemon.ids...)
	reused := start(t, "sit", "", 1)
	id := reused.ids[0]
	id.Start-- // its pid was another process's when the tree was seen
	a.Target.Agent.Procs = append(a.Target.Agent.Procs, id)
	acttest.Do(t, stopper(t), a)
	if left := acttest.Alive(t, daemon.ids...); left != "" {
		t.Errorf("left: %s", left)
	}
	if acttest.Alive(t, reused.ids...) == "" {
		t.Error("a process with a reused pid was stopped")
	}
}

// A stopped process (Ctrl-Z) gets to see SIGTERM.
func TestAStoppedProcessIsLetGo(t *testing.T) {
	w := start(t, "sit", "", 1)
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	acttest.Do(t, stopper(t), w.action(t))
	if err := w.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("it ended by %v, want SIGTERM", err)
	}
}

func TestAnotherBootIsUnneeded(t *testing.T) {
	w := start(t, "sit", "", 1)
	a := w.action(t)
	a.Target.Agent.Process.Boot = "00000000-0000-0000-0000-000000000000"
	if _, err := stopper(t).Prepare(context.Background(), a); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("Prepare = %v, want unneeded", err)
	}
}

func TestCommandsHoldNoSecret(t *testing.T) {
	w := start(t, "child,sit", "", 2)
	a := w.action(t)
	cmds := fmt.Sprint(stopper(t).Commands(a))
	if strings.Contains(cmds, "hunter2") || !strings.Contains(cmds, fmt.Sprint(w.ids[0].PID)) || !strings.Contains(cmds, "-KILL") {
		t.Errorf("commands %s", cmds)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Options{Watch: "soon", TermWait: "-1s", KillWait: "2h", MaxCPU: 99})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"soon"`, `"-1s"`, `"2h"`, "99"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
}
