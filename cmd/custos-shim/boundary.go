//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"custos/internal/boundary"
)

// fence is the boundary that the agent starts within, where there is one.
type fence struct {
	spec boundary.Spec
	file *os.File // what it was read from; handed to the launcher, which reads the same
	open []string // what it does not hold here
}

// newFence reads a boundary, judges what of it can be held here, and makes the agent's folder for
// temporary files. No boundary is no fence.
func newFence(path string) (*fence, error) {
	if path == "" {
		return nil, nil
	}
	file, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("cannot read the boundary: %w", err)
	}
	f := &fence{file: file}
	if f.spec, err = readSpec(file); err == nil {
		err = f.judge()
	}
	if err == nil && f.spec.Tmp != "" {
		if err = os.Mkdir(f.spec.Tmp, 0o700); err != nil { // one that is there is not ours, whoever made it
			err = fmt.Errorf("cannot make the agent's folder for temporary files: %w", err)
			f.spec.Tmp = ""
		}
	}
	if err != nil {
		f.drop()
		return nil, err
	}
	return f, nil
}

// maxSpec is many times what a boundary needs.
const maxSpec = 1 << 20

func readSpec(file *os.File) (boundary.Spec, error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxSpec))
	if err != nil {
		return boundary.Spec{}, fmt.Errorf("cannot read the boundary: %w", err)
	}
	return boundary.Parse(text)
}

// judge refuses what cannot be held, unless the boundary says that it is to be said.
func (f *fence) judge() error {
	abi := landlockABI()
	if f.spec.By == boundary.Landlock && abi < boundary.Needs {
		return fmt.Errorf("boundary %q cannot be held here: Landlock has version %d in this kernel, and %d is needed", f.spec.Name, abi, boundary.Needs)
	}
	var absent []string
	for _, path := range f.spec.Keep {
		if !isItself(path) {
			absent = append(absent, path)
		}
	}
	f.open = f.spec.Open(abi, absent)
	if len(f.open) > 0 && f.spec.Missing != boundary.Say {
		return boundary.Lacking(f.spec, f.open)
	}
	return nil
}

// caps are the options with the caps of the boundary, where those are smaller.
func (f *fence) caps(o options) options {
	if f == nil {
		return o
	}
	if f.spec.Memory > 0 && (o.memoryMax == 0 || f.spec.Memory < o.memoryMax) {
		o.memoryMax = f.spec.Memory
	}
	o.processes = f.spec.Procs
	return o
}

// capped judges, as judge does, the caps that were made.
func (f *fence) capped(p place) error {
	if f == nil {
		return nil
	}
	var open []string
	if f.spec.Memory > 0 && p.cap != "cgroup" {
		open = append(open, "memory without a cap ("+p.why+")")
	}
	if f.spec.Procs > 0 && p.procs != "" {
		open = append(open, "processes without number ("+p.procs+")")
	}
	f.open = append(f.open, open...)
	if len(open) > 0 && f.spec.Missing != boundary.Say {
		return boundary.Lacking(f.spec, open)
	}
	return nil
}

// isItself says whether something is at a path, and not behind a link, which could lead elsewhere
// when it is looked at next.
func isItself(path string) bool {
	at, err := filepath.EvalSymlinks(path)
	return err == nil && at == path
}

// drop gives back what was made for the agent.
func (f *fence) drop() {
	if f == nil {
		return
	}
	f.file.Close()
	if f.spec.Tmp != "" {
		_ = os.RemoveAll(f.spec.Tmp)
	}
}

// environ is the agent's environment: temporary files go where it may write, and no agent of keys
// is named that it was not given.
func (f *fence) environ(env []string) []string {
	if f.spec.Tmp != "" {
		env = set(env, "TMPDIR", f.spec.Tmp)
	}
	var kept []string
	for _, kv := range env {
		if socket, ok := strings.CutPrefix(kv, "SSH_AUTH_SOCK="); ok && !f.given(socket) {
			continue
		}
		kept = append(kept, kv)
	}
	return kept
}

func (f *fence) given(socket string) bool {
	real, err := filepath.EvalSymlinks(socket)
	for _, s := range f.spec.Sockets {
		if s == socket || err == nil && s == real {
			return true
		}
	}
	return false
}

// start starts the agent within the boundary. The shim itself stays outside: a copy of it takes the
// rights from itself and becomes the agent, under the same pid. What it says on a pipe until it has
// become the agent, which closes that, tells whether it did.
func (f *fence) start(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	var pipe, errs [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	said := os.NewFile(uintptr(pipe[0]), "launcher")
	defer said.Close()
	if err := unix.Pipe2(errs[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		unix.Close(pipe[1])
		return 0, err
	}
	helper := os.NewFile(uintptr(errs[0]), "bwrap")
	defer helper.Close()
	attr.Files = append(attr.Files[:3:3], uintptr(pipe[1]), f.file.Fd(), uintptr(errs[1]))
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"custos-shim", launcherFlag, path, "--"}, argv...), attr)
	unix.Close(pipe[1])
	unix.Close(errs[1])
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(said)
	if err == nil && string(text) == restricted {
		return pid, nil
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	reap(pid)
	return 0, errors.Join(err, refusal(string(text), helper))
}

// refusal is why no agent came of the launcher.
func refusal(said string, helper *os.File) error {
	said = strings.TrimPrefix(said, restricted)
	if said == "" {
		text := make([]byte, 4096)
		n, _ := unix.Read(int(helper.Fd()), text)
		said = "it ended without a word"
		if n > 0 {
			said = strings.TrimSpace(string(text[:n]))
		}
	}
	return errors.New("cannot start within the boundary: " + strings.ToValidUTF8(said, "\uFFFD"))
}
