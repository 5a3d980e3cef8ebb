package notifyterminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"custos/internal/act/acttest"
	"custos/internal/fleet"
)

func told() fleet.Action {
	s := fleet.Subject{Kind: fleet.KindAgent, Name: "dev\x1b[31m"}
	return fleet.Action{
		ID: "1", Do: Do, Subject: s, Priority: fleet.P2, For: fleet.AlertKey{Rule: "agent-waiting", Subject: s},
		Why: "waits for an answer\n\x1b]0;owned\x07token=hunter2hunter2 " + strings.Repeat("y", 900),
	}
}

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: New(Options{Out: &bytes.Buffer{}}), Repeats: true,
		Setup:       func(*testing.T) fleet.Action { return told() },
		Fingerprint: func(*testing.T, fleet.Action) string { return "" },
	})
}

func TestLine(t *testing.T) {
	var out bytes.Buffer
	acttest.Do(t, New(Options{Out: &out}), told())
	line := out.String()
	if !strings.HasPrefix(line, "custos: [P2] agent-waiting agent/dev: waits for an answer token=*** ") || !strings.HasSuffix(line, "\n") {
		t.Errorf("line %q", line)
	}
	if strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\x1b\x07") || len([]rune(line)) > lineRunes+1 {
		t.Errorf("unsafe line %q", line)
	}
}

// pty returns a terminal of ours: its path, and the end a person would look at.
func pty(t *testing.T) (string, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	slave, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0) // keeps it open, as a shell does
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return path, master
}

func TestATerminalOfOursIsTold(t *testing.T) {
	path, master := pty(t)
	effect := acttest.Do(t, New(Options{TTYs: []string{path}}), told())
	got := make([]byte, 4096)
	n, err := master.Read(got)
	if err != nil || !strings.Contains(string(got[:n]), "[P2] agent-waiting") || effect != "told 1 of 1" {
		t.Errorf("terminal shows %q, %v; effect %q", got[:n], err, effect)
	}
}

// A terminal that is stopped by Ctrl-S, and what is no terminal, delay nobody.
func TestWhatCannotBeTold(t *testing.T) {
	path, _ := pty(t)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetInt(fd, unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	x := New(Options{TTYs: []string{path, file, "/dev/null", "/nowhere"}})
	run, err := x.Prepare(context.Background(), told())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Do(context.Background()); err == nil || !strings.Contains(err.Error(), "no terminal") {
		t.Errorf("Do = %v, want nobody told", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "x" {
		t.Errorf("a file was written to: %q, %v", got, err)
	}
	// One that can be told is enough.
	var out bytes.Buffer
	if effect := acttest.Do(t, New(Options{Out: &out, TTYs: []string{file}}), told()); !strings.HasPrefix(effect, "told 1 of 2: ") {
		t.Errorf("effect %q", effect)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestNobody(t *testing.T) {
	x := New(Options{})
	if x.Ability().Cannot == "" {
		t.Error("it can")
	}
	if _, err := x.Prepare(context.Background(), told()); err == nil {
		t.Error("Prepare succeeded")
	}
	run, err := New(Options{Out: broken{}}).Prepare(context.Background(), told())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Do(context.Background()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Do = %v", err)
	}
}
