package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// script makes a program.
func script(t *testing.T, text string) (name, dir string) {
	t.Helper()
	dir = t.TempDir()
	name = filepath.Join(dir, "tell")
	if err := os.WriteFile(name, []byte("#!/bin/sh\ncd "+dir+"\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return name, dir
}

func getenv(key string) string {
	return map[string]string{"PATH": os.Getenv("PATH"), "CHAT": "x y", "SECRET": "hunter2"}[key]
}

// The program gets the message on its standard input, its arguments as they are,
// and of our environment what is named.
func TestNotify(t *testing.T) {
	prog, dir := script(t, `cat > in; printf '%s|' "$@" > args; env > env`)
	n, err := New(Options{Name: "mine", Run: []string{prog, "a b", "$(id)"}, PassEnv: []string{"CHAT"}, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	m := fleet.Message{ID: "d-1", Priority: fleet.P1, Subject: "it burns", Body: "since 09:00\n"}
	if err := n.Notify(t.Context(), m); err != nil || n.Name() != "mine" {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var got fleet.Message
	if err := json.Unmarshal([]byte(read("in")), &got); err != nil || got != m {
		t.Errorf("it was told %q, %v", read("in"), err)
	}
	if args := read("args"); args != "a b|$(id)|" {
		t.Errorf("its arguments are %q", args)
	}
	if env := read("env"); !strings.Contains(env, "CHAT=x y\n") || strings.Contains(env, "hunter2") {
		t.Errorf("its environment is %s", env)
	}
}

// A program that fails, hangs or writes without end was not told; it and what it
// started are gone afterwards, and what it wrote is in no error.
func TestTroubles(t *testing.T) {
	for name, text := range map[string]string{
		"fails":   "echo hunter2 >&2; exit 3",
		"hangs":   "sleep 600 & echo $! > pid; wait",
		"endless": "while :; do echo hunter2 hunter2 hunter2 hunter2 hunter2 hunter2; done",
	} {
		t.Run(name, func(t *testing.T) {
			prog, dir := script(t, text)
			n, err := New(Options{Name: "mine", Run: []string{prog}, Deadline: 2 * time.Second, Getenv: getenv})
			if err != nil {
				t.Fatal(err)
			}
			err = n.Notify(context.WithoutCancel(t.Context()), fleet.Message{ID: "x"})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
			if pid, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
				gone := func() bool {
					stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
					return err != nil || strings.Contains(string(stat), ") Z ")
				}
				for end := time.Now().Add(30 * time.Second); !gone(); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("what it started still runs")
					}
				}
			}
		})
	}
}

func TestNew(t *testing.T) {
	for _, run := range [][]string{nil, {""}} {
		if _, err := New(Options{Run: run}); err == nil {
			t.Errorf("run = %q was taken", run)
		}
	}
	n, err := New(Options{Name: "x", Run: []string{"/no/such/program"}, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Notify(t.Context(), fleet.Message{}); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("a program that is not there: %v", err)
	}
}
