package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestRun(t *testing.T) {
	out, err := Run(t.Context(), Call{Argv: sh("cat; env"), Stdin: []byte("told\n"), Env: []string{"A=b"}, Max: 1000})
	if err != nil || !strings.Contains(string(out), "told\n") || !strings.Contains(string(out), "A=b") || strings.Contains(string(out), "HOME=") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := Run(t.Context(), Call{Argv: sh("echo token=hunter2 >&2; exit 3")}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	if _, err := Run(t.Context(), Call{Argv: sh("yes | head -c 10000"), Max: 10}); err == nil {
		t.Error("it may print what it wants")
	}
	if _, err := Run(t.Context(), Call{Argv: []string{"/nowhere/prog"}}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// At the deadline the whole group goes, a grandchild that holds the pipe too.
func TestRunEndsTheGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	go func() { // until it has told its child's number
		for ctx.Err() == nil {
			if b, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(b), "\n") {
				cancel()
			}
		}
	}()
	if _, err := Run(ctx, Call{Argv: sh("sleep 1000 & echo $! >" + file + "; wait"), Max: 10}); err == nil {
		t.Fatal("no error")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("its child lives on")
		}
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	getenv := func(key string) string { return map[string]string{"TOKEN": "hunter2"}[key] }
	for name, c := range map[string]struct {
		s  Secret
		ok bool
	}{
		"file":             {Secret{File: put("a", "hunter2\n")}, true},
		"command":          {Secret{Command: sh("echo hunter2")}, true},
		"variable":         {Secret{Env: "TOKEN", Getenv: getenv}, true},
		"no file":          {Secret{File: dir + "/none"}, false},
		"a folder":         {Secret{File: dir}, false},
		"empty":            {Secret{File: put("b", " \n")}, false},
		"two words":        {Secret{File: put("c", "hunter2 hunter2")}, false},
		"large":            {Secret{File: put("d", strings.Repeat("hunter2", 10000))}, false},
		"command fails":    {Secret{Command: sh("echo hunter2; exit 1")}, false},
		"variable not set": {Secret{Env: "OTHER", Getenv: getenv}, false},
	} {
		got, err := c.s.Read(t.Context())
		if (err == nil) != c.ok || c.ok && got != "hunter2" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows it: %v", name, err)
		}
		if err := c.s.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []Secret{{}, {File: "a", Env: "b"}} {
		if s.Check() == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

// TestRunEndsEndlessTalk: what never stops to print is ended by that, not by a deadline.
func TestRunEndsEndlessTalk(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := Run(ctx, Call{Argv: sh("exec yes"), Max: 10}); err == nil || err.Error() != "it printed more than 10 bytes" {
		t.Error(err)
	}
}

// TestRunHears: what a program complains of is kept for who asked for it, and is not
// part of the error's own text.
func TestRunHears(t *testing.T) {
	_, err := Run(t.Context(), Call{Argv: sh("echo broken pipes everywhere >&2; exit 3"), Heard: 6})
	said, ok := errors.AsType[*Complaint](err)
	if !ok || said.Says != "broken" || err.Error() != "exit status 3" {
		t.Errorf("%#v", err)
	}
}
