//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// launch is what the agent is started with.
type launch struct {
	argv []string
	env  []string
	dir  string
}

const launchHead = "custos-launch 1"

// prepare gathers what the agent is started with: from the command line, with
// the shim's own environment and folder, or from a file, which is removed
// because its environment may hold secrets. Either way the marker is added.
func prepare(o options, environ []string, cwd string) (launch, error) {
	l := launch{argv: o.argv, env: environ, dir: cwd}
	if o.from != "" {
		text, err := readFile(o.from)
		if err != nil {
			return l, fmt.Errorf("cannot read what to start: %w", err)
		}
		if err := os.Remove(o.from); err != nil {
			return l, fmt.Errorf("cannot remove what to start: %w", err)
		}
		if l, err = parseLaunch(text); err != nil {
			return l, fmt.Errorf("cannot use %s: %w", o.from, err)
		}
		if !o.headless {
			l.env = fromPane(l.env, environ)
		}
	}
	l.env = set(l.env, "CUSTOS_AGENT", o.name+":"+o.key)
	return l, nil
}

// parseLaunch reads strings that each end in NUL: the head, the folder, the
// number of arguments, the arguments, then the environment.
func parseLaunch(text []byte) (launch, error) {
	if !bytes.HasSuffix(text, []byte{0}) {
		return launch{}, errors.New("it is torn: its last string has no end")
	}
	all := strings.Split(string(text[:len(text)-1]), "\x00")
	if len(all) < 4 || all[0] != launchHead {
		return launch{}, fmt.Errorf("it does not begin with %q", launchHead)
	}
	n, err := strconv.Atoi(all[2])
	if err != nil || n < 1 || n > len(all)-3 {
		return launch{}, fmt.Errorf("it has not the %q arguments that it says", all[2])
	}
	l := launch{dir: all[1], argv: all[3 : 3+n], env: slices.Clip(all[3+n:])}
	for _, kv := range l.env {
		if strings.IndexByte(kv, '=') < 1 {
			return launch{}, errors.New("a variable has no name or no value") // not shown: it may be a secret
		}
	}
	return l, nil
}

// fromPane adds what only the pane can know, unless it was given. TMUX is not
// among it: an agent that is told of the server could end all others with one
// tmux kill-server.
func fromPane(env, pane []string) []string {
	for _, key := range []string{"TERM", "COLORTERM"} {
		if value, ok := get(pane, key); ok {
			if _, given := get(env, key); !given {
				env = append(env, key+"="+value)
			}
		}
	}
	return env
}

func get(env []string, key string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], key+"="); ok {
			return v, true
		}
	}
	return "", false
}

func set(env []string, key, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	return append(env, key+"="+value)
}

// program finds the file to execute, by the PATH of the agent's own environment.
func (l launch) program() (string, error) {
	if info, err := os.Stat(l.dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("cannot start in folder %q: %w", l.dir, cmpErr(err, syscall.ENOTDIR))
	}
	name := l.argv[0]
	if strings.Contains(name, "/") {
		return name, executable(l.at(name))
	}
	path, _ := get(l.env, "PATH")
	var denied error
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(l.at(dir), name)
		err := executable(p)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOTDIR) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", missing(name)
}

// missing is the error for a program that is in no folder of PATH.
type missing string

func (m missing) Error() string {
	return fmt.Sprintf("cannot start %q: it is in no folder of its PATH: install it, or name it by its path", string(m))
}

// Unwrap has it counted as what is not there.
func (missing) Unwrap() error {
	return syscall.ENOENT
}

func (l launch) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(l.dir, path)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot start %q: %w", path, err)
	case info.IsDir():
		return fmt.Errorf("cannot start %q: %w", path, syscall.EISDIR)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("cannot start %q: %w", path, syscall.EACCES)
	}
	return nil
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
