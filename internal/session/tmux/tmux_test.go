package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
)

func view(t testing.TB, o tmux.Options) *tmux.Viewer {
	t.Helper()
	v, err := tmux.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSuite(t *testing.T) {
	sessiontest.Test(t, func(t *testing.T) (session.Viewer, sessiontest.Stage) {
		s := sessiontest.NewTmux(t)
		return view(t, tmux.Options{Sockets: []string{s.Socket}}), s
	})
}

func TestDeadlineIsChecked(t *testing.T) {
	for _, d := range []string{"soon", "-1s", "0s"} {
		if _, err := tmux.New(tmux.Options{Deadline: d}); err == nil || !strings.Contains(err.Error(), d) {
			t.Errorf("deadline %q: %v", d, err)
		}
	}
}

// Whatever a program, a folder or a person puts into names and titles, there is
// one pane, and nothing in it can move a terminal.
func TestHostileNamesForgeNothing(t *testing.T) {
	s := sessiontest.NewTmux(t)
	evil := "a\tb\nc\x1fd\x1b[31me\x07'\"`$(id)##{pid} %1 \\ é漢" // tmux takes ## for #
	dir := filepath.Join(s.Dir, "we\x1fird\nP\tdir\xff")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(s.Dir, "co\x1fm\nd")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, sleep, program)
	long := strings.Repeat("長い.name:", 25)
	s.New(t, evil+long, "-c", dir, "sh", "-c", `printf '\033]2;ti\ttle\037y "q" #{pid} %%1'; printf '%0200d\007' 7; exec "$1" 1000`, "sh", program)
	s.Run(t, "rename-window", "-t", "%0", evil)
	v := view(t, tmux.Options{Sockets: []string{s.Socket}})
	panes := sessiontest.Await(t, func() ([]fleet.Pane, bool) {
		panes, err := v.Panes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return panes, len(panes) == 1 && strings.HasPrefix(panes[0].Command, "co") && len(panes[0].Title) > 100
	})
	p := panes[0]
	if got := fleet.RawPath(p.CWD); got != dir {
		t.Errorf("the folder %q came back as %q", dir, got)
	}
	for what, text := range map[string]string{"session": p.Session, "window": p.Window, "title": p.Title, "cwd": p.CWD, "command": p.Command, "start": p.StartCommand} {
		if strings.ContainsAny(text, "\x1b\n\t\x07\x1f\x00") {
			t.Errorf("%s %q is not safe to show", what, text)
		}
	}
	if !strings.Contains(p.Session, "#{pid}") || p.ID.Pane != "%0" {
		t.Errorf("session %q, pane %q: a name was taken for a format", p.Session, p.ID.Pane)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestDeadPaneTellsHowItEnded(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "keep", "sleep", "1000")
	s.Run(t, "set-option", "-g", "remain-on-exit", "on")
	s.New(t, "seven", "sh", "-c", "exit 7")
	s.New(t, "killed", "sh", "-c", "kill -9 $$")
	v := view(t, tmux.Options{Sockets: []string{s.Socket}})
	panes := sessiontest.Await(t, func() (map[string]fleet.Pane, bool) {
		all, _ := v.Panes(t.Context())
		m := map[string]fleet.Pane{}
		for _, p := range all {
			m[p.Session] = p
		}
		return m, m["seven"].Dead && m["killed"].Dead
	})
	if n, ok := panes["seven"].ExitStatus.Get(); ok && n != 7 { // 3.3a may lose it, never change it
		t.Errorf("exit status %d, want 7", n)
	}
	if n, ok := panes["killed"].ExitSignal.Get(); ok && n != 9 {
		t.Errorf("exit signal %d, want 9", n)
	}
	if panes["killed"].ExitStatus.IsKnown() {
		t.Error("a killed pane has an exit status")
	}
	if p := panes["keep"]; p.Dead || p.ExitStatus.IsKnown() {
		t.Errorf("a live pane has an end: %+v", p)
	}
	for _, p := range panes {
		if age, ok := p.Age.Get(); !ok || age < 0 || age > fleet.Duration(time.Minute) {
			t.Errorf("age of %s is %v", p.Session, p.Age)
		}
		if act, ok := p.Activity.Get(); !ok || act < 0 || act > fleet.Duration(time.Minute) {
			t.Errorf("activity of %s is %v", p.Session, p.Activity)
		}
	}
}

// A client in control mode is a program; a client on a terminal is a person.
func TestOnlyPeopleAreAttached(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "inner", "sleep", "1000")
	control := exec.Command("tmux", "-S", s.Socket, "-f", "/dev/null", "-C", "attach", "-t", "=inner")
	control.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=screen"}
	in, err := control.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = control.Wait() })
	v := view(t, tmux.Options{Sockets: []string{s.Socket}})
	sessiontest.Await(t, func() (string, bool) {
		out := s.Run(t, "list-clients")
		return out, strings.Count(out, "\n") == 0 && out != ""
	})
	if p := sessiontest.Panes(t, v, 1)[0]; p.Attached != 0 {
		t.Errorf("a control-mode client counts as %d people", p.Attached)
	}
	// A terminal to attach from: a pane of a second private server.
	outer := sessiontest.NewTmux(t)
	outer.New(t, "outer", "sh", "-c", "unset TMUX; exec tmux -S "+s.Socket+" attach -t =inner")
	sessiontest.Await(t, func() (int, bool) {
		panes, _ := v.Panes(t.Context())
		return len(panes), len(panes) == 1 && panes[0].Attached == 1
	})
}

// A frozen server is an error that names it, after its deadline; the others are
// reported. A socket whose server is gone is nothing at all.
func TestOneBadServerBlindsNobodyElse(t *testing.T) {
	good, frozen, gone := sessiontest.NewTmux(t), sessiontest.NewTmux(t), sessiontest.NewTmux(t)
	for _, s := range []*sessiontest.Tmux{good, frozen, gone} {
		s.New(t, "x", "sleep", "1000")
	}
	pid := serverPID(t, frozen)
	signal(t, pid, syscall.SIGSTOP)
	t.Cleanup(func() { signal(t, pid, syscall.SIGCONT) }) // runs before the server is killed
	signal(t, serverPID(t, gone), syscall.SIGKILL)
	sessiontest.Await(t, func() (error, bool) {
		c, err := net.Dial("unix", gone.Socket)
		if err == nil {
			c.Close()
		}
		return err, errors.Is(err, syscall.ECONNREFUSED)
	})
	v := view(t, tmux.Options{Sockets: []string{good.Socket, frozen.Socket, gone.Socket, good.Dir + "/none"}, Deadline: "300ms"})
	begin := time.Now()
	panes, err := v.Panes(t.Context())
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the look took %s", took)
	}
	if len(panes) != 1 || panes[0].ID.Socket != good.Socket {
		t.Errorf("panes = %+v, want the one of the good server", panes)
	}
	if err == nil || !strings.Contains(err.Error(), frozen.Socket) || strings.Contains(err.Error(), gone.Socket) || strings.Contains(err.Error(), "none") {
		t.Errorf("error %v; want one that names only %s", err, frozen.Socket)
	}
	only := view(t, tmux.Options{Sockets: []string{gone.Socket}})
	if _, err := only.Panes(t.Context()); !errors.Is(err, session.ErrAbsent) {
		t.Errorf("a stale socket: %v, want ErrAbsent", err)
	}
}

func serverPID(t *testing.T, s *sessiontest.Tmux) int {
	t.Helper()
	pid, err := strconv.Atoi(s.Run(t, "display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// A server that refuses us is a blindness, not an absence. (A root test cannot
// be refused by permission bits, so the client here is a program that is.)
func TestRefusalIsAnError(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fake := filepath.Join(dir, "tmux")
	script := "#!/bin/sh\necho \"error connecting to $3 (Permission denied)\" >&2\nexit 1\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = view(t, tmux.Options{Sockets: []string{socket}, Tmux: fake}).Panes(t.Context())
	if err == nil || errors.Is(err, session.ErrAbsent) || !strings.Contains(err.Error(), socket) || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("error %v", err)
	}
}

func TestNoTmux(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	if _, err := view(t, tmux.Options{Sockets: []string{dir + "/none"}}).Panes(t.Context()); !errors.Is(err, session.ErrAbsent) {
		t.Errorf("no tmux and no server: %v, want ErrAbsent", err)
	}
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := view(t, tmux.Options{Sockets: []string{dir + "/s"}}).Panes(t.Context()); err == nil || errors.Is(err, session.ErrAbsent) {
		t.Errorf("no tmux but a server: %v, want a blindness", err)
	}
}

// A server in another pid namespace names a process that is not a tmux here.
func TestForeignNamespaceIsAnError(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "x", "sleep", "1000")
	proc := t.TempDir()
	pid := serverPID(t, s)
	if err := os.MkdirAll(fmt.Sprintf("%s/%d", proc, pid), 0o700); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("%d (bash) S 1 %s\n", pid, strings.Repeat("1 ", 40))
	if err := os.WriteFile(fmt.Sprintf("%s/%d/stat", proc, pid), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	panes, err := view(t, tmux.Options{Sockets: []string{s.Socket}, Proc: proc}).Panes(t.Context())
	if err == nil || len(panes) != 0 || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("%d panes, %v", len(panes), err)
	}
}

func TestDiscoverOwnSocketsOnly(t *testing.T) {
	s := sessiontest.NewTmux(t)
	dir := fmt.Sprintf("%s/tmux-%d", s.Dir, os.Getuid())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Socket = dir + "/default"
	s.New(t, "found", "sleep", "1000")
	if err := os.WriteFile(dir+"/notes", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := tmux.Options{Discover: true, TMPDir: s.Dir, UID: os.Getuid()}
	panes, err := view(t, o).Panes(t.Context())
	if err != nil || len(panes) != 1 || panes[0].Session != "found" {
		t.Errorf("panes %+v, %v", panes, err)
	}
	o.UID++
	if err := os.Rename(dir, fmt.Sprintf("%s/tmux-%d", s.Dir, o.UID)); err != nil {
		t.Fatal(err)
	}
	if _, err := view(t, o).Panes(t.Context()); !errors.Is(err, session.ErrAbsent) {
		t.Errorf("a folder of another user was looked into: %v", err)
	}
	s.Socket = fmt.Sprintf("%s/tmux-%d/default", s.Dir, o.UID)
}

func TestScreensOfManyPanes(t *testing.T) {
	s := sessiontest.NewTmux(t)
	for i := range 130 {
		s.Open(t, fmt.Sprintf("s%03d", i), fmt.Sprintf("hello %d", i))
	}
	v := view(t, tmux.Options{Sockets: []string{s.Socket}})
	panes := sessiontest.Panes(t, v, 130)
	var ids []fleet.PaneID
	for _, p := range panes {
		ids = append(ids, p.ID)
	}
	s.Close(t, "s007")
	s.Close(t, "s120")
	got := sessiontest.Await(t, func() (map[fleet.PaneID]string, bool) {
		got, err := v.Screens(t.Context(), ids, 3)
		if err != nil {
			t.Fatal(err)
		}
		full := len(got) == 128
		for _, text := range got {
			full = full && text != ""
		}
		return got, full
	})
	for i, p := range panes {
		want := fmt.Sprintf("hello %d", i)
		if i == 7 || i == 120 {
			want = ""
		}
		if got[p.ID] != want {
			t.Errorf("screen of %s is %q, want %q", p.Session, got[p.ID], want)
		}
	}
}

func TestTTLSharesOneLook(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "one", "sleep", "1000")
	now := time.Now()
	v := view(t, tmux.Options{Sockets: []string{s.Socket}, TTL: time.Second, Now: func() time.Time { return now }})
	sessiontest.Panes(t, v, 1)
	s.New(t, "two", "sleep", "1000")
	if panes, _ := v.Panes(t.Context()); len(panes) != 1 {
		t.Errorf("within the TTL: %d panes, want the 1 of before", len(panes))
	}
	now = now.Add(time.Second)
	sessiontest.Panes(t, v, 2)
	now = now.Add(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = v.Panes(ctx)
	if panes, err := v.Panes(t.Context()); len(panes) != 2 || err != nil {
		t.Errorf("an asker who gave up spoiled the answer of the next: %d panes, %v", len(panes), err)
	}
}

func BenchmarkPanes200(b *testing.B) {
	t := &testing.T{}
	s := sessiontest.NewTmux(t)
	defer func() { _ = exec.Command("tmux", "-S", s.Socket, "kill-server").Run(); os.RemoveAll(s.Dir) }()
	for i := range 200 {
		s.New(t, fmt.Sprintf("s%03d", i), "sleep", "1000")
	}
	v := view(b, tmux.Options{Sockets: []string{s.Socket}})
	panes, _ := v.Panes(context.Background())
	var ids []fleet.PaneID
	for _, p := range panes {
		ids = append(ids, p.ID)
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Panes(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("screens", func(b *testing.B) {
		for b.Loop() {
			if got, err := v.Screens(context.Background(), ids, 40); err != nil || len(got) != 200 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("has-session", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("tmux", "-S", s.Socket, "has-session", "-t", "=s000").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
