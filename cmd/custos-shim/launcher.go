//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"custos/internal/boundary"
)

// A launcher is a copy of the shim that becomes the agent. With bwrap it becomes bwrap first, which
// starts another one inside.
const (
	launcherFlag = "--become" // PATH -- ARGV…
	insideFlag   = "--inside" // the same, where the mounts are made
	restricted   = "restricted\n"
)

// The descriptors that a launcher is started with.
const (
	sayFD  = 3 // where it says how far it came
	specFD = 4 // the boundary
	errFD  = 5 // where bwrap complains; inside: the agent's own standard error
)

// isLauncher says whether a command line is a launcher's.
func isLauncher(args []string) bool {
	return len(args) > 3 && (args[0] == launcherFlag || args[0] == insideFlag) && args[2] == "--"
}

// become takes the rights from this process, and turns it into the agent. It returns only when
// that did not work, and has said why by then.
func become(args []string) int {
	runtime.LockOSThread() // rights are a thread's
	say := os.NewFile(sayFD, "shim")
	err := enter(args[0] == insideFlag, args[1], args[3:], say)
	fmt.Fprintln(say, err)
	return exitCannot
}

func enter(inside bool, path string, argv []string, say *os.File) error {
	spec, err := readSpec(os.NewFile(specFD, "boundary"))
	if err != nil {
		return err
	}
	if inside {
		if err := settle(); err != nil {
			return err
		}
	} else if spec.By == boundary.Bwrap {
		return wrap(spec, path, argv)
	}
	for fd := sayFD; fd <= errFD; fd++ {
		unix.CloseOnExec(fd)
	}
	if err := restrict(spec); err != nil {
		return err
	}
	if _, err := say.WriteString(restricted); err != nil {
		return err
	}
	return fmt.Errorf("cannot start %q: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// settle puts right, inside of bwrap, what was set for bwrap: standard error is the agent's again,
// the signals that bwrap is to outlive are the agent's to obey, and the agent does not outlive bwrap,
// which is what Custos knows as the agent's process.
func settle() error {
	if err := unix.Dup3(errFD, 2, 0); err != nil {
		return fmt.Errorf("cannot give back standard error: %w", err)
	}
	signal.Notify(make(chan os.Signal, 1), passedOn...) // caught is the default in what is executed
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// passedOn are the signals that reach the agent beside bwrap, and that bwrap is to outlive, to tell how the agent ended.
var passedOn = []os.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// wrap becomes bwrap.
func wrap(spec boundary.Spec, path string, argv []string) error {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return fmt.Errorf("bwrap is not installed (Debian: bubblewrap): %w", err)
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot find myself: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	args := append(wrapping(spec), "--ro-bind", self, self, "--remount-ro", "/", "--chdir", dir, "--", self, insideFlag, path, "--")
	signal.Ignore(passedOn...)
	own, err := unix.FcntlInt(2, unix.F_DUPFD, errFD+1)
	if err != nil {
		return err
	}
	if err := unix.Dup3(errFD, 2, 0); err != nil {
		return err
	}
	if err := unix.Dup3(own, errFD, 0); err != nil {
		return err
	}
	unix.CloseOnExec(own)
	for fd := sayFD; fd <= errFD; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return err
		}
	}
	return syscall.Exec(program, slices.Concat([]string{"bwrap"}, args, argv), os.Environ())
}

// wrapping is what bwrap is told: nothing is there but what is listed, and who is inside has no
// capability and no user namespace of its own.
func wrapping(spec boundary.Spec) []string {
	args := []string{"--unshare-user", "--unshare-ipc", "--disable-userns", "--cap-drop", "ALL", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"}
	if spec.Network == boundary.NetClosed {
		args = append(args, "--unshare-net")
	}
	if spec.Tmp != "" {
		args = append(args, "--bind", spec.Tmp, "/tmp")
	}
	type mount struct{ how, path string }
	var all []mount
	for _, path := range spec.Read {
		if path != "/proc" && !boundary.Inside(path, "/dev") {
			all = append(all, mount{"--ro-bind-try", path})
		}
	}
	for _, path := range slices.Concat(spec.Write, spec.Sockets) {
		all = append(all, mount{"--bind-try", path})
	}
	for _, path := range slices.DeleteFunc(slices.Clone(spec.Keep), func(path string) bool { return !isItself(path) }) {
		all = append(all, mount{"--ro-bind-try", path})
	}
	slices.SortStableFunc(all, func(a, b mount) int { // what is outside comes before what lies in it
		return strings.Compare(filepath.Clean(a.path), filepath.Clean(b.path))
	})
	for _, m := range all {
		args = append(args, m.how, m.path, m.path)
	}
	return args
}
