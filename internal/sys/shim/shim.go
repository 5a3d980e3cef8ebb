// Package shim is the client of custos-shim, the parent of each agent of ours:
// it finds the program, says how to start it, and reads what it wrote. Every
// instance has a folder of its own below one root; the files in it are described
// in cmd/custos-shim. Nothing here writes, but for Prepare and Void.
package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Program is the name of the shim's executable.
const Program = "custos-shim"

// Marker is the variable in the environment of every agent of ours, and of all
// that the agent starts.
const Marker = "CUSTOS_AGENT"

// Dir returns the folder of an instance below root.
func Dir(root, instance string) string { return filepath.Join(root, instance) }

// IsKey says whether a string can be an instance: 1 to 128 letters, digits, '.',
// '_' and '-', and no '.' in front.
func IsKey(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return s != "" && len(s) <= 128 && s[0] != '.'
}

// ParseMarker splits the value of Marker into the agent's name, which may hold
// anything, and its instance.
func ParseMarker(value string) (name, instance string, ok bool) {
	i := strings.LastIndexByte(value, ':')
	if i < 1 || !IsKey(value[i+1:]) {
		return "", "", false
	}
	return value[:i], value[i+1:], true
}

// Find returns the path of the shim: beside the executable of Custos (empty:
// this process's own), else in PATH.
func Find(executable string) (string, error) {
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return "", fmt.Errorf("cannot find %s: %w", Program, err)
		}
	}
	beside := filepath.Join(filepath.Dir(executable), Program)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return beside, nil
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", fmt.Errorf("cannot find %s, neither beside %s nor in PATH: %w", Program, executable, err)
	}
	return filepath.Abs(path)
}

// Options say how a shim is to be started. Dir must exist.
type Options struct {
	Binary    string // from Find
	Dir       string
	Key       string
	Name      string // of the agent
	Headless  bool
	Input     bool   // headless: a FIFO for stdin
	LogMax    int64  // bytes kept of each log; 0: the shim's default, 10 MiB
	MemoryMax int64  // bytes; 0: no cap
	Cgroup    string // delegated cgroup v2 folder
	Bounded   bool   // it is kept within what PrepareBoundary has put into the folder
}

// Command returns the command line that starts a shim for what Prepare has put
// into the folder. No argument or variable of the agent is in it.
func Command(o Options) []string {
	argv := []string{o.Binary, "--dir", o.Dir, "--key", o.Key, "--name", o.Name, "--from", launchFile(o.Dir)}
	if o.Headless {
		argv = append(argv, "--headless")
	}
	if o.Input {
		argv = append(argv, "--input")
	}
	if o.LogMax > 0 {
		argv = append(argv, "--log-max", strconv.FormatInt(o.LogMax, 10))
	}
	if o.MemoryMax > 0 {
		argv = append(argv, "--memory-max", strconv.FormatInt(o.MemoryMax, 10))
	}
	if o.Cgroup != "" {
		argv = append(argv, "--cgroup", o.Cgroup)
	}
	if o.Bounded {
		argv = append(argv, "--boundary", boundaryFile(o.Dir))
	}
	return argv
}

func boundaryFile(dir string) string { return filepath.Join(dir, "boundary") }

// PrepareBoundary writes down what the agent of the shim in dir is kept within; no text is no
// boundary. It stays in the folder, as a record.
func PrepareBoundary(dir string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := write(boundaryFile(dir), string(text)); err != nil {
		return fmt.Errorf("cannot prepare an agent: %w", err)
	}
	return nil
}

func launchFile(dir string) string { return filepath.Join(dir, "launch") }

// Prepare writes down what the shim in dir is to start: command line, whole
// environment (KEY=VALUE) and working folder. The file is for our user alone, and
// the shim removes it: so no secret is ever in a command line, and no limit of
// tmux on the length of one matters.
func Prepare(dir string, argv, env []string, workdir string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("cannot prepare an agent: its command line is empty")
	}
	all := append([]string{"custos-launch 1", workdir, strconv.Itoa(len(argv))}, argv...)
	for _, kv := range env {
		if strings.IndexByte(kv, '=') < 1 {
			return errors.New("cannot prepare an agent: a variable is not KEY=VALUE")
		}
	}
	all = append(all, env...)
	for _, s := range all {
		if strings.IndexByte(s, 0) >= 0 {
			return errors.New("cannot prepare an agent: a NUL in its command line, environment or folder")
		}
	}
	if err := write(launchFile(dir), strings.Join(all, "\x00")+"\x00"); err != nil {
		return fmt.Errorf("cannot prepare an agent: %w", err)
	}
	return nil
}

func write(path, text string) error {
	tmp := path + ".tmp"
	err := writeNew(tmp, []byte(text))
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// writeNew writes a file that no other has made: what lies at its path, where the agent
// may have put a pipe or a link, is taken away before, and never opened.
func writeNew(path string, text []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
