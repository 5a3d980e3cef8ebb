package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// TestWhatCanNeverBeIsRefusedAtOnce: an order that no waiting can make lawful is
// over after one try, says why, and leaves no agent in the books.
func TestWhatCanNeverBeIsRefusedAtOnce(t *testing.T) {
	w := newTown(t, "")
	work, none := filepath.Join(w.dir, "work"), filepath.Join(w.dir, "none")
	file := filepath.Join(w.dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spawn api.SpawnRequest
		why   string
	}{
		"no-folder":  {api.SpawnRequest{Kind: "claude", Dir: none}, "is not there"},
		"no-dir":     {api.SpawnRequest{Kind: "claude", Dir: file}, "is no folder"},
		"no-prompt":  {api.SpawnRequest{Kind: "claude", Dir: work, Headless: true}, "prompt"},
		"no-repo":    {api.SpawnRequest{Kind: "claude", Repo: work, Worktree: true}, "no repository"},
		"no-program": {api.SpawnRequest{Kind: "claude", Dir: work, Argv: []string{"/nonexistent/claude"}}, "/nonexistent/claude"},
	} {
		o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: &c.spawn})
		if o.State != "refused" || !strings.Contains(o.Why, c.why) {
			t.Errorf("%s is %s: %s, want it refused with %q", name, o.State, o.Why, c.why)
		}
		if a := w.agent(name); a.Name != "" {
			t.Errorf("%s is left in the books: %+v", name, a)
		}
	}
}

// TestAnOrderIsTakenBack: a stop that waits for a thaw is listed with what holds
// it, is taken back, and its agent is wanted running again.
func TestAnOrderIsTakenBack(t *testing.T) {
	w := newTown(t, "")
	w.spawn("builder", "work 1h", true)
	frozen := filepath.Join(w.dir, "s", "frozen")
	if err := os.WriteFile(frozen, []byte("by ann: a test"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.client()
	o, err := c.Order(t.Context(), api.OrderRequest{Do: "stop", Agent: "builder"})
	if err != nil || o.State != "queued" || o.Guard != "frozen" {
		t.Fatalf("%+v, %v", o, err)
	}
	list, err := c.Orders(t.Context())
	if err != nil || len(list.Orders) != 1 || list.Orders[0].ID != o.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	await(t, w.said.String, func() bool { return w.agent("builder").Desired == "stopped" })
	if o, err = c.CancelOrder(t.Context(), o.ID); err != nil || !o.Over || !strings.HasPrefix(o.Why, "taken back by ") {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err = c.CancelOrder(t.Context(), o.ID); err == nil || !strings.Contains(err.Error(), "it is over") {
		t.Errorf("it was taken back twice: %v", err)
	}
	if err := os.Remove(frozen); err != nil {
		t.Fatal(err)
	}
	if o := w.order(api.OrderRequest{Do: "backup", Agent: "builder"}); !o.Over {
		t.Errorf("%+v", o)
	}
	await(t, w.said.String, func() bool { a := w.agent("builder"); return a.Desired == "running" && a.PID != 0 })
}

// TestAnyCommandIsAnAgent: a script that nobody knows is kept: seen, told of
// honestly, started again when it fails (in mode observe too), and stopped.
func TestAnyCommandIsAnAgent(t *testing.T) {
	w := newTown(t, "mode = \"observe\"\n[limits]\nsettle = \"0s\"\n")
	script := filepath.Join(w.dir, "work", "wrapper.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho at work\nsleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, headless := range map[string]bool{"shown": false, "quiet": true} {
		s := &api.SpawnRequest{Argv: []string{script, "--all"}, Dir: filepath.Join(w.dir, "work"), Headless: headless, Task: "tidy up"}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("spawn: %+v\n%s", o, w.said)
		}
		await(t, w.said.String, func() bool { a := w.agent(name); return a.PID != 0 && a.Kind == "generic" && a.State != "idle" })
		await(t, w.said.String, func() bool {
			s, err := w.client().Screen(t.Context(), name, 10)
			return err == nil && strings.Contains(s.Text, "at work")
		})
		first := w.agent(name).PID
		if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, w.said.String, func() bool { a := w.agent(name); return a.PID != 0 && a.PID != first && a.Kind == "generic" })
		if o := w.order(api.OrderRequest{Do: "stop", Agent: name}); o.State != "done" {
			t.Errorf("stop: %+v", o)
		}
		w.awaitState(name, "stopped")
	}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "asked", Spawn: &api.SpawnRequest{Argv: []string{script}, Dir: w.dir, Prompt: "hello"}}); o.State != "refused" || !strings.Contains(o.Why, "takes a prompt") {
		t.Errorf("a prompt for any command: %+v", o)
	}
}
