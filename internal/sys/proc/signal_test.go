package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary started again plays the processes: CUSTOS_PROC_TEST names the part.
func TestMain(m *testing.M) {
	if role := os.Getenv("CUSTOS_PROC_TEST"); role != "" {
		play(role)
		return
	}
	os.Exit(m.Run())
}

// play prints its own pid and lives until its input ends, so that no child
// outlives a killed test.
func play(role string) {
	head, rest, _ := strings.Cut(role, ",")
	switch head {
	case "deaf": // to SIGTERM
		signal.Ignore(syscall.SIGTERM)
	case "setsid", "child":
		begin(rest, head == "setsid")
	case "orphan": // leaves a child in its session and ends
		begin(rest, false)
		return
	}
	fmt.Println(os.Getpid())
	_, _ = bufio.NewReader(os.Stdin).ReadString(0)
}

func begin(role string, setsid bool) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CUSTOS_PROC_TEST="+role)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd
}

// start runs a role and returns the command and the pids that reported.
func start(t *testing.T, role string, want int, env ...string) (*exec.Cmd, []int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), "CUSTOS_PROC_TEST="+role), env...)
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
	var pids []int
	lines := bufio.NewScanner(out)
	for len(pids) < want && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) < want {
		t.Fatalf("only %d of %d processes reported", len(pids), want)
	}
	return cmd, pids
}

func idOf(t *testing.T, pid int) ID {
	t.Helper()
	row, err := readRow(pid)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID
}

func open(t *testing.T, pid int) *Handle {
	t.Helper()
	h, err := Open(idOf(t, pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestSignalReachesOnlyTheVeryProcess(t *testing.T) {
	cmd, _ := start(t, "sit", 1)
	h := open(t, cmd.Process.Pid)
	wrong := h.ID()
	wrong.Start++
	if _, err := Open(wrong); !errors.Is(err, ErrGone) {
		t.Errorf("Open with another start time = %v, want ErrGone", err)
	}
	if h.Ended() {
		t.Fatal("Ended of a live process")
	}
	if err := h.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if !h.Ended() {
		t.Error("not Ended after Wait: it is a zombie, and that has ended")
	}
	if _, err := Open(h.ID()); !errors.Is(err, ErrGone) {
		t.Errorf("Open of a zombie = %v, want ErrGone", err)
	}
	_ = cmd.Wait()
	if err := h.Signal(syscall.SIGTERM); !errors.Is(err, ErrGone) {
		t.Errorf("Signal after its end = %v, want ErrGone", err)
	}
	if _, err := Open(h.ID()); !errors.Is(err, ErrGone) {
		t.Errorf("Open after its end = %v, want ErrGone", err)
	}
}

func TestOpenNeverTakesInit(t *testing.T) {
	for _, pid := range []int{1, 0, -1} {
		if h, err := Open(ID{PID: pid}); err == nil {
			h.Close()
			t.Errorf("Open of pid %d succeeded", pid)
		}
	}
}

func TestWaitEndsWithItsContextAndCanBeUsedAgain(t *testing.T) {
	cmd, _ := start(t, "deaf", 1)
	h := open(t, cmd.Process.Pid)
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- h.Wait(ctx) }()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("Wait = %v, want cancelled", err)
		}
	}
	if err := h.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if h.Ended() {
		t.Fatal("the deaf one heard SIGTERM")
	}
	if err := h.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
}

func pidsOf(tree []Member) []int {
	var out []int
	for _, m := range tree {
		out = append(out, m.PID)
	}
	slices.Sort(out)
	return out
}

func TestTreeFindsWhatDescends(t *testing.T) {
	for role, want := range map[string]int{
		"sit":                     1,
		"child,sit":               2,
		"child,setsid,sit":        3, // a grandchild in a session of its own
		"setsid,child,sit":        3,
		"child,child,deaf":        3,
		"setsid,setsid,child,sit": 4,
	} {
		t.Run(role, func(t *testing.T) {
			cmd, pids := start(t, role, want)
			tree, err := open(t, cmd.Process.Pid).Tree(within(t), TreeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(pids)
			if got := pidsOf(tree); !slices.Equal(got, pids) {
				t.Errorf("tree %v, want %v", got, pids)
			}
			if tree[0].PID != cmd.Process.Pid || tree[0].UID != os.Getuid() || tree[0].RSS <= 0 {
				t.Errorf("root %+v", tree[0])
			}
			if slices.Contains(pids, os.Getpid()) {
				t.Error("the tree holds its own parent")
			}
		})
	}
}

// A grandchild whose parent has ended is init's child; its session tells.
func TestTreeFindsOrphansBySession(t *testing.T) {
	cmd, pids := start(t, "child,orphan,sit", 2)
	slices.Sort(pids)
	h := open(t, cmd.Process.Pid)
	for ctx := within(t); ; { // until the one between has ended
		tree, err := h.Tree(ctx, TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(pidsOf(tree), pids) {
			return
		}
		for _, pid := range pids {
			if !slices.Contains(pidsOf(tree), pid) {
				t.Fatalf("tree %v misses one of %v", pidsOf(tree), pids)
			}
		}
	}
}

// Tree goes on finding the session of a leader it has seen and that has ended since.
func TestTreeRemembersTheDead(t *testing.T) {
	cmd, pids := start(t, "child,setsid,child,sit", 4)
	h := open(t, cmd.Process.Pid)
	before, err := h.Tree(within(t), TreeOptions{})
	if err != nil || len(before) != 4 {
		t.Fatalf("tree %v, %v", before, err)
	}
	last := before[len(before)-1]
	for _, m := range before[:len(before)-1] {
		mh := open(t, m.PID)
		if err := mh.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := mh.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	after, err := h.Tree(within(t), TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || after[0].ID != last.ID {
		t.Errorf("tree %v of %v, want only %v", after, pids, last)
	}
	if err := open(t, last.PID).Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestTreeTakesInWhatWasSeenBeforeAndWhatCarriesTheMarker(t *testing.T) {
	marker := fmt.Sprintf("CUSTOS_AGENT=test:%d", os.Getpid())
	root, _ := start(t, "sit", 1)
	other, _ := start(t, "sit", 1, marker)
	near, _ := start(t, "sit", 1, marker+"0")
	h := open(t, root.Process.Pid)
	check := func(what string, o TreeOptions, want ...int) {
		t.Helper()
		tree, err := h.Tree(within(t), o)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if got := pidsOf(tree); !slices.Equal(got, want) {
			t.Errorf("%s: tree %v, want %v", what, got, want)
		}
	}
	check("alone", TreeOptions{}, root.Process.Pid)
	stale := idOf(t, near.Process.Pid)
	stale.Start--
	check("a reused pid", TreeOptions{Also: []ID{stale}}, root.Process.Pid)
	check("marked", TreeOptions{Markers: []string{marker}}, root.Process.Pid, other.Process.Pid)
	check("seen before", TreeOptions{Also: []ID{idOf(t, near.Process.Pid)}}, root.Process.Pid, other.Process.Pid, near.Process.Pid)
}

func TestLineageBeginsHereAndEndsAtTheTop(t *testing.T) {
	line, err := Lineage()
	if err != nil {
		t.Fatal(err)
	}
	if len(line) < 2 || line[0] != idOf(t, os.Getpid()) || line[1].PID != os.Getppid() {
		t.Errorf("lineage %v", line)
	}
}

func TestHolder(t *testing.T) {
	before := time.Now()
	cmd, _ := start(t, "sit", 1)
	h, err := Holder(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if d := h.Started.Sub(before); d < -time.Second || d > 10*time.Second {
		t.Errorf("began %v after it was started", d)
	}
	if h.Name == "" || h.ID != idOf(t, cmd.Process.Pid) {
		t.Errorf("holder %+v", h)
	}
	hold := open(t, cmd.Process.Pid)
	if err := hold.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := hold.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := Holder(cmd.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("Holder of a zombie = %v, want ErrGone", err)
	}
	_ = cmd.Wait()
	if _, err := Holder(cmd.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("Holder after its end = %v, want ErrGone", err)
	}
	if _, err := Holder(0); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("Holder(0) = %v, want cannot tell", err)
	}
}

func TestClockOffsetStandsStill(t *testing.T) {
	a, err := ClockOffset()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ClockOffset()
	if err != nil || (b-a).Abs() > 100*time.Millisecond {
		t.Errorf("offset moved from %v to %v, %v", a, b, err)
	}
}
