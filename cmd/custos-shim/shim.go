//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"custos/internal/sys/procstat"
)

// Exit statuses of the shim itself, from sysexits.h and the shell. An agent may
// end with the same ones: the files tell which it was.
const (
	exitUsage      = 64
	exitTaken      = 73
	exitCannot     = 74
	exitNotAllowed = 126
	exitNotFound   = 127
)

// shim is the parent of one agent.
type shim struct {
	o       options
	boot    string
	self    process
	agent   process
	place   place
	streams streams
	fence   *fence // nil: the agent is kept within nothing
	logs    *logs  // nil in a pane
	exit    *reserved

	mu   sync.Mutex // held while the agent's pid is used or given back
	over bool
	code int
}

// run does all that the command does and returns its exit status.
func run(args, environ []string) int {
	o, err := parseOptions(args)
	if err != nil {
		return complain(err, exitUsage)
	}
	cwd, err := os.Getwd()
	if err != nil && o.from == "" {
		return complain(fmt.Errorf("cannot start: %w", err), exitCannot)
	}
	boot, _ := procstat.BootID() // empty: readers refuse it
	s := &shim{o: o, boot: boot, self: process{PID: os.Getpid()}}
	if s.self.Start, err = startOf(s.self.PID); err != nil {
		return complain(fmt.Errorf("cannot read my own process: %w", err), exitCannot)
	}
	if err := claim(o.dir, o.key, o.name, s.self, now(s.boot)); err != nil {
		if errors.Is(err, errTaken) {
			return complain(err, exitTaken)
		}
		return complain(err, exitCannot)
	}
	signals, err := s.start(environ, cwd)
	if err != nil {
		f := failed{V: recordVersion, Key: o.key, Shim: s.self, Error: err.Error(), At: now(s.boot)}
		return complain(errors.Join(err, put(o.dir, "failed.json", f)), statusOf(err))
	}
	if o.headless {
		s.logs = &logs{max: o.logMax, files: s.streams.logs}
		go s.logs.keep()
	}
	go s.obey(signals) // after the logs: to obey may be to leave
	return s.supervise()
}

func complain(err error, status int) int {
	fmt.Fprintln(os.Stderr, "custos-shim: "+err.Error())
	return status
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR):
		return exitNotFound
	case errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.EISDIR):
		return exitNotAllowed
	}
	return exitCannot
}

// start starts the agent and writes started.json, or leaves nothing running. It
// returns the signals that have come since.
func (s *shim) start(environ []string, cwd string) (<-chan os.Signal, error) {
	l, err := prepare(s.o, environ, cwd)
	if err != nil {
		return nil, err
	}
	path, err := l.program()
	if err != nil {
		return nil, err
	}
	if s.exit, err = reserve(s.o.dir, "exit.json"); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	if s.fence, err = newFence(s.o.boundary); err != nil {
		return nil, err
	}
	signals := hear()
	s.place = newPlace(s.fence.caps(s.o))
	err = s.fence.capped(s.place)
	if err == nil {
		err = s.fork(path, l)
	}
	if err != nil {
		s.place.drop()
		s.fence.drop()
		return nil, err
	}
	s.streams.letGo()
	return signals, nil
}

func (s *shim) open() (err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become subreaper: %w", err)
	}
	if err := os.Chdir("/"); err != nil { // or the shim would occupy a worktree
		return fmt.Errorf("cannot leave the folder: %w", err)
	}
	if s.o.headless {
		s.streams, err = headlessStreams(s.o)
	} else {
		s.streams, err = paneStreams()
	}
	return err
}

// fork starts the agent. Between its start and the appearance of started.json,
// about a tenth of a millisecond, only the marker in its environment tells whose
// it is.
func (s *shim) fork(path string, l launch) error {
	attr := &syscall.ProcAttr{Dir: l.dir, Env: l.env, Sys: s.streams.attributes(s.place)}
	for _, f := range s.streams.files {
		attr.Files = append(attr.Files, f.Fd())
	}
	launch := syscall.ForkExec
	if s.fence != nil {
		attr.Env, launch = s.fence.environ(attr.Env), s.fence.start
	}
	pid, err := launch(path, l.argv, attr)
	if err != nil && attr.Sys.UseCgroupFD && s.fence == nil {
		s.place.drop()
		s.place = place{cap: "none", why: "cannot start in the cgroup: " + err.Error(), ooms: s.place.ooms, oomsOK: s.place.oomsOK && s.place.cap == "none"}
		attr.Sys.UseCgroupFD = false
		pid, err = launch(path, l.argv, attr)
	}
	if err != nil {
		return fmt.Errorf("cannot start %q: %w", l.argv[0], err)
	}
	s.agent = process{PID: pid}
	s.agent.Start, err = startOf(pid)
	if err == nil {
		err = put(s.o.dir, "started.json", s.record())
	}
	if err != nil { // an agent that cannot be found must not run
		_ = unix.Kill(-pid, unix.SIGKILL)
		reap(pid)
		return fmt.Errorf("cannot record the agent, so it was ended: %w", err)
	}
	return nil
}

func (s *shim) record() started {
	r := started{
		V: recordVersion, Key: s.o.key, Name: s.o.name, Shim: s.self, Agent: s.agent, PGID: s.agent.PID, At: now(s.boot),
		Headless: s.o.headless, Input: s.o.headless && s.o.input, MemoryMax: s.o.memoryMax,
		Cap: s.place.cap, CapWhy: s.place.why, Cgroup: s.place.path,
	}
	if s.o.headless {
		r.LogMax = s.o.logMax
	}
	if s.fence != nil {
		r.Boundary = &bounded{Name: s.fence.spec.Name, By: s.fence.spec.By, ABI: landlockABI(), Open: s.fence.open, Never: s.fence.spec.Never()}
	}
	return r
}

// hear takes the signals over. They are caught rather than ignored, because
// what is ignored stays ignored in the agent.
func hear() <-chan os.Signal {
	c := make(chan os.Signal, 16)
	signal.Notify(c, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	return c
}

// obey acts on the signals that mean something, for as long as the shim lives.
func (s *shim) obey(signals <-chan os.Signal) {
	for sig := range signals {
		switch sig {
		case unix.SIGTERM, unix.SIGHUP:
			s.pass(sig.(syscall.Signal))
		case unix.SIGUSR1:
			s.streams.closeInput()
		}
	}
}

// pass hands a signal on to the agent. When that has ended, SIGTERM ends the
// shim.
func (s *shim) pass(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		_ = unix.Kill(-s.agent.PID, sig)
	} else if sig == unix.SIGTERM {
		s.writeLeft()
		s.leave()
		os.Exit(s.code)
	}
}

func (s *shim) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// writeLeft lists who is left, or removes the list when there is none. That a
// full disk refuses it is no reason to do anything: /proc tells the same.
func (s *shim) writeLeft() {
	if procs := below(s.self.PID); len(procs) > 0 {
		_ = put(s.o.dir, "left.json", left{V: recordVersion, Key: s.o.key, Procs: procs, At: now(s.boot)})
	} else {
		_ = os.Remove(filepath.Join(s.o.dir, "left.json"))
	}
}

// leave gives back what is the shim's.
func (s *shim) leave() {
	s.place.drop()
	s.fence.drop()
	_ = os.Remove(filepath.Join(s.o.dir, "stdin"))
	if s.logs != nil {
		s.logs.leave()
	}
}
