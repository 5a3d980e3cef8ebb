package tmux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/session/sessiontest"
)

// A client in control mode that attaches twice to a server that is stopped by a signal
// ends that server when it goes on, and every agent with it (tmux 3.3a: 4 of 4). So it
// attaches to none that is stopped, whoever rings; whoever looks or types meanwhile is
// sent away, and leaves no connection behind that the server would have to take up. It
// is the same server afterwards, with every pane.
func TestAServerOutlivesBeingStopped(t *testing.T) {
	const cycles = 200
	t.Parallel()
	s, pid := busyServer(t)
	viewer, err := New(Options{Sockets: []string{s.Socket}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := viewer.Panes(t.Context())
	if err != nil || len(all) != 3 || all[0].ID.Server.PID != pid {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := viewer.Stopped(s.Socket); got != 0 {
		t.Errorf("a server that runs is stopped, as process %d", got)
	}
	p, heard, forget := listening(t, s)
	for i := range cycles {
		heard(t, "all of the server's panes", func(n session.Notice) bool { return len(n.Panes) == len(all) })
		stop(t, pid)
		heard(t, "that it does not answer", func(n session.Notice) bool { return n.What == saidSilent })
		rung(t, p) // what was on its way to a server that did not answer in time, and was not stopped yet, is there
		before := connections(t, s.Socket)
		if got := viewer.Stopped(s.Socket); got != pid {
			t.Fatalf("in stop %d the server that is stopped is process %d, not %d", i+1, got, pid)
		}
		for range 3 {
			if _, err := viewer.Panes(t.Context()); !errors.Is(err, errStopped) {
				t.Fatalf("in stop %d a look says %v", i+1, err)
			}
			if err := p.Type(t.Context(), all[0].ID, session.Input{Text: "x"}); !errors.Is(err, errStopped) {
				t.Fatalf("in stop %d typing says %v", i+1, err)
			}
			rung(t, p)
		}
		if now := connections(t, s.Socket); now > before {
			t.Fatalf("%d connections to a server that is stopped, the %dth time", now-before, i+1)
		}
		forget()
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatalf("the server was gone in stop %d: %v", i+1, err)
		}
		p.ring() // it is not waited for until it is looked at again by itself
		heard(t, "that it answers", func(n session.Notice) bool { return n.What == saidHere })
	}
	now, err := viewer.Panes(t.Context())
	if err != nil || !slices.EqualFunc(now, all, func(a, b fleet.Pane) bool { return a.ID == b.ID }) {
		t.Errorf("after %d stops there is %+v, %v; before them there was %+v", cycles, now, err, all)
	}
}

// busyServer is a server with three panes, one that prints and has ever other titles, one
// that does nothing and one that is dead, and its process.
func busyServer(t *testing.T) (s *sessiontest.Tmux, pid int) {
	t.Helper()
	s = sessiontest.NewTmux(t)
	s.New(t, "busy", "sh", "-c", `i=0; while :; do i=$((i+1)); printf '\033]0;title %d\007line %d\n' $i $i; sleep 0.05; done`)
	s.Run(t, "set-option", "-s", "exit-empty", "off", ";", "set-option", "-g", "remain-on-exit", "on")
	s.New(t, "agent", "sleep", "1000")
	s.New(t, "dead", "true")
	awaitThat(t, "the pane to be dead", func() bool { return s.Run(t, "display-message", "-p", "-t", "=dead:", "#{pane_dead}") == "1" })
	gone := number(s.Run(t, "display-message", "-p", "-t", "=dead:", "#{pane_pid}"))
	awaitThat(t, "the server to have taken up its end", func() bool { return isTakenUp(t, s, gone) }) // a pane is dead before
	if pid = number(s.Run(t, "display-message", "-p", "#{pid}")); pid <= 1 {
		t.Fatal("tmux does not say which process its server is")
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // a server that is stopped hears no order to end
	return s, pid
}

// isTakenUp says whether a server has waited for a process of it that has ended. tmux 3.3a
// is deaf to such an end while it takes the pane out of utmp (1 of 10), and hears of it
// with the next: so it is given one.
func isTakenUp(t *testing.T, s *sessiontest.Tmux, pid int) bool {
	t.Helper()
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	s.Run(t, "run-shell", "-b", "true")
	return false
}

// rung rings while the server is not listened to, and returns when two rings have come to
// nothing: the bell holds one, and each is heard when the one before has come to its end.
func rung(t *testing.T, p *Provider) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for range 4 {
		select {
		case p.bell <- struct{}{}:
		case <-limit:
			t.Fatal("the bell is not heard")
		}
	}
}

// A server that is not stopped and does not answer either (its control group is frozen,
// it hangs) is not attached to: only one that answers a question is.
func TestOnlyAServerThatAnswersIsAttachedTo(t *testing.T) {
	t.Parallel()
	s := sessiontest.NewTmux(t)
	s.New(t, "agent", "sleep", "1000")
	asked, program := filepath.Join(s.Dir, "asked"), filepath.Join(s.Dir, "mute")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >> "+asked+"\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := NewProvider(ProviderOptions{Socket: s.Socket, Deadline: "100ms", Tmux: program})
	if err != nil {
		t.Fatal(err)
	}
	announced(t, p)
	said := func() string { text, _ := os.ReadFile(asked); return string(text) }
	for range 3 {
		n := strings.Count(said(), "\n")
		p.ring()
		awaitThat(t, "the server to be asked again", func() bool { return strings.Count(said(), "\n") > n })
	}
	if strings.Contains(said(), " -C ") {
		t.Errorf("a client in control mode attached to a server that does not answer:\n%s", said())
	}
}

// listening has a server listened to, and returns how to wait for what is told, and how to
// forget what was. The server is asked again and again, and is given little time: no
// connection has to be made for it.
func listening(t *testing.T, s *sessiontest.Tmux) (*Provider, func(*testing.T, string, func(session.Notice) bool), func()) {
	t.Helper()
	p, err := NewProvider(ProviderOptions{Socket: s.Socket})
	if err != nil {
		t.Fatal(err)
	}
	p.asking = asking{patience: 20 * time.Millisecond, pause: func(time.Duration, int) time.Duration { return time.Millisecond }}
	told := announced(t, p)
	heard := func(t *testing.T, what string, is func(session.Notice) bool) {
		t.Helper()
		limit := time.After(20 * time.Second)
		for {
			select {
			case n := <-told:
				if is(n) {
					return
				}
			case <-limit:
				t.Fatalf("it was not told %s", what)
			}
		}
	}
	forget := func() {
		for len(told) > 0 {
			<-told
		}
	}
	return p, heard, forget
}

// announced has a provider announce until the test ends.
func announced(t *testing.T, p *Provider) <-chan session.Notice {
	t.Helper()
	told, ended := make(chan session.Notice, 10_000), make(chan error, 1)
	ctx, end := context.WithCancel(context.Background())
	go func() { ended <- p.Announce(ctx, func(n session.Notice) { told <- n }) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return told
}

// stop stops a process, and returns when the kernel says that it is.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitThat(t, "the server to be stopped", func() bool {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		return err == nil && strings.Contains(string(text), ") T ")
	})
}

// connections counts the connections that wait or stand at a socket, and itself.
func connections(t *testing.T, socket string) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.HasSuffix(strings.TrimSpace(line), " "+socket) {
			n++
		}
	}
	return n
}

func awaitThat(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit, again := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("waited for %s", what)
		}
	}
}
