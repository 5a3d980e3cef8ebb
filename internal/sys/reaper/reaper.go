// Package reaper is what the first process of a pid namespace, as of a container, has to
// do besides its work: whatever loses its parent there becomes its child, and stays in the
// process table until it waits for it.
//
// A process that also starts others cannot wait for all of its children: it would take
// from os/exec the end of one that is waited for there, and which child is whose the kernel
// does not say. So the first process does nothing else: it starts the program once more,
// as a child that does the work, and waits for everything. What the worker starts are
// children of the worker, and stay so while it lives.
package reaper

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Needed says whether this process is the first one of its pid namespace.
func Needed() bool { return os.Getpid() == 1 }

// Main is Run for a program's main: it prints what went wrong, and returns failed then.
func Main(failed int) (code int) {
	code, err := Run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "custos: %v\n", err)
		return failed
	}
	return code
}

// Run starts this very program again, with the same arguments and environment, hands on to
// it the signals that are sent here, and waits for all that ends, until the worker does. It
// returns the worker's exit code, 128 and the number of the signal for one that was killed.
// With the first process, the kernel ends all others of the namespace.
func Run() (code int, err error) {
	// What is in this environment is the worker's to keep: see daemon.Up.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("cannot keep the environment of the first process to itself: %w", err)
	}
	ended, sent := make(chan os.Signal, 1), make(chan os.Signal, 16)
	signal.Notify(ended, syscall.SIGCHLD)
	signal.Notify(sent, handed()...)
	worker, err := start()
	if err != nil {
		return 0, err
	}
	for {
		if code, over := bury(worker); over {
			return code, nil
		}
		select {
		case <-ended:
		case s := <-sent:
			_ = syscall.Kill(worker, s.(syscall.Signal)) // it may be gone: its end is heard of next
		}
	}
}

// handed are the signals that are for the worker.
func handed() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT}
}

// start starts the worker, by the kernel's own call: what os/exec starts, it waits for. The
// worker has a process group of its own, and the terminal where there is one, so that Ctrl-C
// reaches it once.
func start() (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("cannot find the program to run: %w", err)
	}
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if ownsTerminal(0) {
		attr.Sys.Foreground = true
	}
	pid, err = syscall.ForkExec(self, os.Args, attr)
	if err != nil {
		return 0, fmt.Errorf("cannot run %s: %w", self, err)
	}
	return pid, nil
}

// ownsTerminal says whether a file is a terminal whose foreground this process is in.
func ownsTerminal(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// bury waits for every child that has ended; over when the worker is among them.
func bury(worker int) (code int, over bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil || pid <= 0:
			return code, over
		case pid == worker:
			code, over = codeOf(status), true
		}
	}
}

func codeOf(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
