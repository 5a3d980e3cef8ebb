package spool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/report/spool"
)

func ear(t *testing.T) (spool.Inbox, string) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return spool.Inbox{Dir: dir, Name: "supervisor", Now: time.Now}, filepath.Join(dir, "supervisor-escalation-reply")
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, e spool.Inbox, cursor string) report.Batch {
	t.Helper()
	h, err := e.Poll(t.Context(), cursor)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func files(t *testing.T, dir string) (names []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// A file is taken at once, and goes only when all in it was acted on: what is told
// by asking with its cursor.
func TestTaken(t *testing.T) {
	e, path := ear(t)
	put(t, path, "2026-11-22T10:00:00Z\t@ann:hs\tack 3\n\nstatus\n", 0o600)
	h := hear(t, e, "")
	if len(h.Said) != 2 || h.Said[0].Text != "ack 3" || h.Said[1].Text != "status" || h.Said[0].ID == h.Said[1].ID {
		t.Fatalf("%+v", h.Said)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("it was not taken")
	}
	again := hear(t, e, "") // after a crash
	if fmt.Sprint(again.Said[0].ID, again.Said[1].ID, again.Cursor) != fmt.Sprint(h.Said[0].ID, h.Said[1].ID, h.Cursor) {
		t.Errorf("after a crash %+v, before %+v", again, h)
	}
	put(t, path, "ack 3\n", 0o600) // the same once more is another reply
	next := hear(t, e, h.Cursor)
	if len(next.Said) != 1 || next.Said[0].ID == h.Said[0].ID || len(files(t, e.Dir)) != 1 {
		t.Errorf("next: %+v; files %v", next, files(t, e.Dir))
	}
	put(t, path, "help\n", 0o600)
	if h := hear(t, e, next.Cursor); len(h.Said) != 1 || h.Said[0].Text != "help" {
		t.Errorf("%+v", h)
	}
}

// What is written into a file after it was taken is heard as well.
func TestGrowsAfterwards(t *testing.T) {
	e, path := ear(t)
	put(t, path, "ack 3\n", 0o600)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := hear(t, e, "")
	if _, err := f.WriteString("status\n"); err != nil {
		t.Fatal(err)
	}
	more := hear(t, e, h.Cursor)
	if len(more.Said) != 1 || more.Said[0].Text != "status" || more.Said[0].ID == h.Said[0].ID {
		t.Errorf("%+v", more)
	}
}

// What another user could have written is refused, aloud.
func TestRefused(t *testing.T) {
	e, path := ear(t)
	put(t, path, "status\n", 0o666)
	if _, err := e.Poll(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "not our user's alone") {
		t.Errorf("others may write it: %v", err)
	}
	if got := files(t, e.Dir); len(got) != 1 || got[0] != "supervisor-escalation-reply.refused" {
		t.Errorf("left: %v", got)
	}
	if err := os.Symlink("/etc/hostname", path); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Poll(t.Context(), ""); err == nil {
		t.Error("a link was followed")
	}
	if err := os.Chmod(e.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, path, "status\n", 0o600)
	if _, err := e.Poll(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "our user alone") {
		t.Errorf("a folder for all: %v", err)
	}
	e.Dir += "/nothing"
	if _, err := e.Poll(t.Context(), ""); err == nil {
		t.Error("no folder, and no error")
	}
}

func TestBounded(t *testing.T) {
	e, path := ear(t)
	put(t, path, strings.Repeat("status\n", 1<<18), 0o600)
	h := hear(t, e, "")
	if len(h.Said) > 10_000 || !h.Missed {
		t.Errorf("%d lines, missed %v", len(h.Said), h.Missed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Poll(ctx, h.Cursor); err == nil || len(files(t, e.Dir)) != 0 {
		t.Errorf("left: %v, %v", files(t, e.Dir), err)
	}
}

// An answer is one line, once.
func TestAnswer(t *testing.T) {
	e, _ := ear(t)
	for range 2 {
		if err := e.Answer(t.Context(), fleet.Message{ID: "r-1", Body: "two\nlines\n"}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(e.Dir, "supervisor-escalation-answer"))
	if err != nil || strings.Count(string(b), "\n") != 1 || !strings.Contains(string(b), "\tr-1\ttwo / lines\n") {
		t.Errorf("%q, %v", b, err)
	}
}

// What lies there can be read without taking it: what nobody took, and what was
// taken and not acted on.
func TestUnread(t *testing.T) {
	e, path := ear(t)
	unread := func(want ...string) {
		t.Helper()
		if got, err := e.Unread(); err != nil || !slices.Equal(got, want) {
			t.Errorf("unread: %q, %v; want %q", got, err, want)
		}
	}
	unread()
	put(t, path, "2026-11-22T10:00:00Z\t@ann:hs\tack 3\n\nstatus\n", 0o600)
	unread("ack 3", "status")
	h := hear(t, e, "")
	put(t, path, "freeze\n", 0o600)
	unread("ack 3", "status", "freeze")
	if hear(t, e, h.Cursor); len(files(t, e.Dir)) != 1 {
		t.Errorf("what was acted on is still there: %v", files(t, e.Dir))
	}
	if err := os.Chmod(e.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Unread(); err == nil {
		t.Errorf("a folder that anybody may write into was read: %q", got)
	}
}
