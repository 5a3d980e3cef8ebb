package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/sys/procstat"
)

// says runs a command of the town as a person, and returns what it printed and its
// exit code.
func (w *town) says(args ...string) (string, int) {
	w.Helper()
	c := exec.Command(filepath.Join(w.bin, "custos"), append([]string{"--config", filepath.Join(w.dir, "custos.toml")}, args...)...)
	if w.powerless { // or no mode of a file would keep root from it
		c = exec.Command("setpriv", append([]string{"--bounding-set=-all", "--inh-caps=-all"}, c.Args...)...)
	}
	c.Env = append(os.Environ(), "HOME="+w.dir)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// broken is one way in which things are broken.
type broken struct {
	name string
	more string // of custos.toml
	disk string // size of a disk of its own for the state
	do   func(*town)
	// says and codes are what a command must say then, as a regular expression, and
	// how it ends, where that is not as ever.
	says  map[string]string
	codes map[string]int
}

const pulling = "freeze because"

// asEver is what the commands say when all is well.
var asEver = map[string]string{
	"status": "daemon +running, pid", "health": "^well: ", "ps": "\\bone\\b.*claude", pulling: "Frozen: Custos acts on nothing", "thaw": "Thawed. It was frozen by .*because",
	"stop one": "Stopped one", "stop --all": "Stopped two", "down": "The daemon is down",
}

// TestBrakesWorkWhenAllElseIsBroken: each of the commands that a person needs when
// something is wrong, in each of the ways in which things are, on real processes.
func TestBrakesWorkWhenAllElseIsBroken(t *testing.T) {
	agenttest.Build(t) // once, for all
	breakConfig := func(text string) func(*town) {
		return func(w *town) { w.rewrite(text) }
	}
	none := map[string]string{"status": "no daemon is running", "health": "none: no daemon is running", "down": "none is running"}
	alone := map[string]int{"health": 3, "down": 2}
	blind := map[string]int{"health": 3, "down": 2, "ps": 3}
	blindly := map[string]string{"status": "no daemon is running", "health": "none: no daemon is running; the time of the last patrol is not known: ", "ps": "cannot tell: agents unknown",
		"down": "none is running", "stop one": "Stopped without an order: one: ", "stop --all": "Stopped without an order: two: "}
	silent := "a daemon runs \\(process \\d+\\), and does not answer"
	for _, b := range []broken{
		{name: "nothing", do: func(*town) {}},
		{name: "no TOML", do: breakConfig("mode = auto = observe\n[")},
		{name: "an unknown key", do: breakConfig("modus = 3\n")},
		{name: "a section that its reader refuses", do: breakConfig("[agents]\nevery = \"sometimes\"\n")},
		{name: "no TOML and no daemon", do: func(w *town) { w.rewrite("[[["); w.kill() }, says: none, codes: alone},
		{name: "a refused section and no daemon", do: func(w *town) { w.rewrite("[agents]\nevery = \"sometimes\"\n"); w.kill() }, says: none, codes: alone},
		{name: "a daemon that hangs", do: func(w *town) { w.signal(syscall.SIGSTOP) }, codes: map[string]int{"health": 3},
			says: map[string]string{"status": silent, "health": "silent: " + silent, "stop one": "Stopped without an order: one: ", "stop --all": "Stopped without an order: two: ", "down": "did not answer and was killed"}},
		{name: "a database that is none, and no daemon", do: func(w *town) { w.kill(); w.spoil() }, codes: alone,
			says: map[string]string{"status": "no daemon is running", "health": "none: ", "down": "none is running", "stop one": "Stopped without an order: one: ", "stop --all": "Stopped without an order: two: "}},
		{name: "a full disk", disk: "24m", do: (*town).fill, codes: map[string]int{"health": 1}, says: map[string]string{"thaw": "frozen by somebody", "status": "the disk of .* is full", "health": "(?s)the\\s+disk of .* is full", "stop one": "Stopped", "stop --all": "Stopped"}},
		{name: "a full disk and no daemon", disk: "24m", do: func(w *town) { w.kill(); w.fill() }, codes: alone,
			says: map[string]string{"thaw": "frozen by somebody", "status": "(?s)no daemon is running.*the disk of .* is full", "health": "none: ", "down": "none is running", "stop one": "Stopped", "stop --all": "Stopped"}},
		{name: "a full disk and a daemon that was ended", disk: "24m", do: func(w *town) { w.tells(0, nil, nil, "down"); _ = w.up.Wait(); w.fill() }, codes: alone,
			says: map[string]string{"thaw": "frozen by somebody", "status": "(?s)no daemon is running.*the disk of .* is full", "health": "none: .*the last patrol ended", "down": "none is running", "stop one": "Stopped", "stop --all": "Stopped"}},
		{name: "a database that may not be read, and no daemon", do: func(w *town) { w.kill(); w.forbid("custos.db") }, codes: blind, says: blindly},
		{name: "a database that is a folder, and no daemon", do: func(w *town) { w.kill(); w.spoil(); w.makeFolder("custos.db") }, codes: blind, says: blindly},
	} {
		t.Run(b.name, func(t *testing.T) { b.try(t) })
	}
}

func (b broken) try(t *testing.T) {
	t.Parallel()
	w := foundBeside(t, "[limits]\nspawn_memory = \"0\"\nstagger = \"0s\"\n[launch]\nmin_free = \"1MiB\"\n"+b.more)
	if b.disk != "" {
		w.mount(b.disk)
	}
	w.start()
	w.spawn("one", "reply hello", false)
	two := &api.SpawnRequest{Kind: "claude", Argv: []string{w.script("two", "exec sleep 600")}, Dir: filepath.Join(w.dir, "work"), Prompt: "go", Headless: true}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "two", Spawn: two}); o.State != "done" {
		t.Fatalf("spawn two: %+v", o)
	}
	w.awaitState("one", "idle")
	was := w.agent("one").PID
	b.do(w)
	for _, command := range []string{"status", "health", "ps", pulling, "thaw", "stop one", "stop --all", "down"} {
		want, code := asEver[command], b.codes[command]
		if s := b.says[command]; s != "" {
			want = s
		}
		began := time.Now()
		out, got := w.says(strings.Fields(command)...)
		if got != code || !regexp.MustCompile("(?m)"+want).MatchString(out) {
			t.Errorf("%s: %s ended with %d after %v, want %d, and said %q, want %q", b.name, command, got, time.Since(began), code, out, want)
		}
		t.Logf("%s: %s: %v: %s", b.name, command, time.Since(began).Round(time.Millisecond), out)
	}
	if syscall.Kill(was, 0) == nil {
		t.Errorf("%s: agent one lives on", b.name)
	}
}

// script is a program of the town.
func (w *town) script(name, text string) string {
	w.Helper()
	file := filepath.Join(w.dir, "work", name+".sh")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		w.Fatal(err)
	}
	return file
}

// rewrite puts another custos.toml in place, below the folder that it named.
func (w *town) rewrite(text string) {
	w.Helper()
	text = "state_dir = \"" + w.dir + "/s\"\n" + text
	if err := os.WriteFile(filepath.Join(w.dir, "custos.toml"), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// forbid has nobody read a file of the state folder, root neither.
func (w *town) forbid(name string) {
	w.Helper()
	if err := os.Chmod(filepath.Join(w.cfg.StateDir, name), 0); err != nil {
		w.Fatal(err)
	}
	w.powerless = true
}

// makeFolder puts a folder in the place of a file of the state folder.
func (w *town) makeFolder(name string) {
	w.Helper()
	path := filepath.Join(w.cfg.StateDir, name)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		w.Fatal(err)
	}
}

// signal sends the daemon a signal. One that is to stop has stopped when it returns: what is
// sent before that is taken by a thread that runs still.
func (w *town) signal(s syscall.Signal) {
	w.Helper()
	if err := w.up.Process.Signal(s); err != nil {
		w.Fatal(err)
	}
	if s == syscall.SIGSTOP {
		await(w.T, w.said.String, func() bool { return isStopped(w.up.Process.Pid) })
	}
}

// isStopped says whether each thread of a process is.
func isStopped(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		if s, err := procstat.Read(dir, id); err != nil || s.State != 'T' {
			return false
		}
	}
	return err == nil
}

// spoil makes the database one that cannot be read.
func (w *town) spoil() {
	w.Helper()
	for _, name := range []string{"custos.db-wal", "custos.db-shm"} {
		_ = os.Remove(filepath.Join(w.dir, "s", name))
	}
	if err := os.WriteFile(filepath.Join(w.dir, "s", "custos.db"), []byte(strings.Repeat("no database", 4096)), 0o600); err != nil {
		w.Fatal(err)
	}
}

// mount gives the state a disk of its own.
func (w *town) mount(size string) {
	w.Helper()
	dir := filepath.Join(w.dir, "s")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// fill leaves no room on the disk of the state.
func (w *town) fill() {
	w.Helper()
	f, err := os.Create(filepath.Join(w.dir, "s", "filler"))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				w.Fatal(err)
			}
			return
		}
	}
}

// TestAStopOnAFullDiskStands: where not even who asked for its end could be written
// down, it says so, and an agent that a person ended stays ended when the disk has room again.
func TestAStopOnAFullDiskStands(t *testing.T) {
	w := foundTown(t, quickLimits+"settle = \"200ms\"\n[launch]\nmin_free = \"1MiB\"\n[recover]\nsettle = \"200ms\"\n")
	w.mount("24m")
	w.start()
	w.spawn("one", "reply hello", false)
	was := w.awaitState("one", "idle").PID
	w.fill()
	out, code := w.says("stop", "one")
	if code != 0 || !strings.Contains(out, "Stopped without an order: one") || strings.Contains(out, "may start it again") ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), "who asked for its end could not be written down") {
		t.Errorf("stop ended with %d and said %s", code, out)
	}
	if err := os.Remove(filepath.Join(w.dir, "s", "filler")); err != nil {
		t.Fatal(err)
	}
	var a api.AgentRow
	await(t, w.said.String, func() bool {
		a = w.agent("one")
		return a.State == "stopped" || a.PID != 0 && a.PID != was
	})
	if a.State != "stopped" {
		t.Errorf("it was process %d, and is %+v", was, a)
	}
	if all := w.alerts("agent-crashed"); len(all) > 0 {
		t.Errorf("what a person ended was told as crashed: %+v", all)
	}
}

// TestAFullDiskIsToldByTheWriteThatMeetsIt: people are told of it, from memory, long
// before it has lasted a minute.
func TestAFullDiskIsToldByTheWriteThatMeetsIt(t *testing.T) {
	w := foundTown(t, quickLimits)
	heard := filepath.Join(w.dir, "heard")
	w.rewrite(quickLimits + fmt.Sprintf("[notifier.phone]\ntype = \"command\"\nrun = [%q]\n", w.script("phone", "cat >> "+heard)))
	w.mount("24m")
	w.start()
	w.fill()
	began := time.Now()
	var text []byte
	await(t, w.said.String, func() bool {
		w.says("spawn", "one", "--kind", "claude", "--dir", filepath.Join(w.dir, "work")) // an order is a write
		text, _ = os.ReadFile(heard)
		return strings.Contains(string(text), "is full")
	})
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("it was told after %v: %s", took, text)
	}
	if !strings.Contains(string(text), "[P1]") || !strings.Contains(string(text), "the disk of "+w.dir+"/s is full") {
		t.Errorf("the phone heard %s", text)
	}
}

// TestASecondStopFindsTheFirst: an agent that was stopped while the daemon hangs is stopped
// already for who stops it again, and what is said of it is so: it is not started again.
func TestASecondStopFindsTheFirst(t *testing.T) {
	w := newTown(t, "")
	w.spawn("ann", "work 1h", true)
	w.signal(syscall.SIGSTOP)
	if out, code := w.says("stop", "ann"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	out, code := w.says("stop", "ann")
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "ann: it is stopped already, by ") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := w.says("stop", "nobody"); code != 3 || !strings.Contains(out, "could not be") {
		t.Errorf("of one that was never there: %d: %s", code, out)
	}
	w.signal(syscall.SIGCONT)
	w.awaitState("ann", "stopped")
	if _, err := w.client().Patrol(t.Context(), api.PatrolOrder{}); err != nil {
		t.Fatal(err)
	}
	if a := w.agent("ann"); a.State != "stopped" || a.PID != 0 {
		t.Errorf("after that it is %+v", a)
	}
}

// TestAnInterruptedEndKillsNobody: a daemon that does not answer is told to end; who no longer
// waits for that has it not killed, and hears how it stands. It ends when it can.
func TestAnInterruptedEndKillsNobody(t *testing.T) {
	w := newTown(t, "")
	w.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := daemon.End(ctx, w.cfg)
		ended <- err
	}()
	await(t, w.said.String, func() bool { return isPending(w.up.Process.Pid, syscall.SIGTERM) })
	cancel()
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "interrupted: process "+strconv.Itoa(w.up.Process.Pid)) || strings.Contains(err.Error(), "after a kill") {
		t.Errorf("said: %v", err)
	}
	if isPending(w.up.Process.Pid, syscall.SIGKILL) || !runs(w.up.Process.Pid) {
		t.Error("it was killed")
	}
	w.signal(syscall.SIGCONT)
	if err := w.up.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestADaemonThatEndsMeanwhileIsEnded: whoever wants to end one that has just died, or is
// dying, has what they want.
func TestADaemonThatEndsMeanwhileIsEnded(t *testing.T) {
	w := newTown(t, "")
	if err := syscall.Kill(w.up.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"at once", "after it"} {
		if how, err := daemon.End(t.Context(), w.cfg); err != nil || how == "" {
			t.Errorf("%s: %q, %v", when, how, err)
		}
		_ = w.up.Wait()
	}
}

// isPending says whether a signal waits for a process.
func isPending(pid int, sig syscall.Signal) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for _, line := range strings.Split(string(text), "\n") {
		if set, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && n&(1<<(sig-1)) != 0
		}
	}
	return false
}
