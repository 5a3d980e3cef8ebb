package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAJobOfATmuxServerIsNobodys: what a person's tmux server begins without a terminal may be
// asked for by whoever can speak to it, also where it is older than each agent and there is none
// in it. It looks, as the status line does, and does nothing; a pane and a popup do.
func TestAJobOfATmuxServerIsNobodys(t *testing.T) {
	w := newTown(t, quickTown)
	socket := filepath.Join(w.dir, "own.sock")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", socket}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-s", "own")
	t.Cleanup(func() { tmux("kill-server") })
	w.spawn("younger", "idle", false)
	told := func(name string) string { return filepath.Join(w.dir, "work", "job."+name) }
	run := func(name, does string) string {
		text := fmt.Sprintf("#!/bin/sh\n%s %s >%s 2>&1\necho code $? >>%[3]s\n", w.program(), does, told(name))
		if err := os.WriteFile(told(name)+".run", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return told(name) + ".run"
	}
	for name, args := range map[string][]string{
		"run":    {"run-shell", "RUN"},
		"behind": {"run-shell", "-b", "RUN"},
		"if":     {"if-shell", "RUN", "", ""},
		"pipe":   {"pipe-pane", "-t", "own", "RUN"},
		"tty":    {"run-shell", "script -qc RUN /dev/null"},
	} {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "RUN", run(name, "ack 1"))
		}
		tmux(args...)
		w.wasRefused(t, told(name), "by tmux", strings.Join(args, " "))
	}
	read := func(name string) string { got, _ := os.ReadFile(told(name)); return string(got) }
	if got := read("run"); !strings.Contains(got, "do it in a pane, or by tmux display-popup") {
		t.Errorf("what to do is not said: %s", got)
	}
	at := exec.Command("script", "-qc", "tmux -S "+socket+" attach -t own", "/dev/null")
	in, err := at.StdinPipe()
	if err == nil {
		at.Env = append(os.Environ(), "TERM=xterm")
		err = at.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = at.Process.Kill(); _ = at.Wait() }()
	await(t, func() string { return "nobody looks" }, func() bool { return tmux("list-clients") != "" })
	tmux("set-option", "-g", "status-right", "#("+run("line", "status --tmux")+")")
	tmux("new-window", "-d", run("pane", "ack 1"))
	tmux("display-popup", "-E", run("popup", "ack 1"))
	for name, want := range map[string]string{"line": "code 0", "pane": "there is no such alert", "popup": "there is no such alert"} {
		await(t, func() string { return name + ": " + read(name) }, func() bool { return strings.Contains(read(name), "code ") })
		if got := read(name); !strings.Contains(got, want) {
			t.Errorf("in a %s: %s", name, got)
		}
	}
}
