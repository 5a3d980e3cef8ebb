package tmux

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

	"custos/internal/session"
	"custos/internal/session/sessiontest"
)

// A client in control mode that attaches twice to a server that is stopped by a signal
// ends that server when it goes on, and every agent with it (tmux 3.3a: 4 of 4). So it
// attaches to none that is stopped, whoever rings; and whoever looks or types meanwhile
// leaves no connection behind that the server would have to take up.
// CUSTOS_STOPS is how often (`make town`: 200).
func TestNobodyConnectsToAServerThatIsStopped(t *testing.T) {
	cycles := 3
	if n, err := strconv.Atoi(os.Getenv("CUSTOS_STOPS")); err == nil {
		cycles = n
	}
	t.Parallel()
	s := sessiontest.NewTmux(t)
	s.New(t, "agent", "sleep", "1000")
	s.Run(t, "set-option", "-s", "exit-empty", "off", ";", "set-option", "-g", "remain-on-exit", "on")
	pid := number(s.Run(t, "display-message", "-p", "#{pid}"))
	p, heard := listening(t, s)
	most := 0
	for i := range cycles {
		heard(t, "the server's panes", func(n session.Notice) bool { return n.Panes != nil })
		panes, err := p.Panes(t.Context())
		if err != nil || len(panes) != 1 || panes[0].ID.Server.PID != pid {
			t.Fatalf("before stop %d: panes %+v, %v", i+1, panes, err)
		}
		stop(t, pid)
		heard(t, "that it does not answer", func(n session.Notice) bool { return n.What == saidSilent })
		before := connections(t, s.Socket)
		for range 8 { // the last but one has come to nothing when the last is heard
			p.ring()
			awaitThat(t, "the bell to be heard", func() bool { return len(p.bell) == 0 })
			if _, err := p.Panes(t.Context()); !errors.Is(err, errStopped) {
				t.Fatalf("in stop %d a look says %v", i+1, err)
			}
			if err := p.Type(t.Context(), panes[0].ID, session.Input{Text: "x"}); !errors.Is(err, errStopped) {
				t.Fatalf("in stop %d typing says %v", i+1, err)
			}
		}
		most = max(most, connections(t, s.Socket)-before)
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		heard(t, "that it answers", func(n session.Notice) bool { return n.What == saidHere })
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("the server did not outlive stop %d of %d", i+1, cycles)
		}
	}
	if most > 0 {
		t.Errorf("%d connections to a server that was stopped", most)
	}
	t.Logf("%d stops, each with 8 rings, 8 looks and 8 texts: at most %d connections left in one", cycles, most)
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

// listening has a server listened to, and returns how to wait for what is told.
func listening(t *testing.T, s *sessiontest.Tmux) (*Provider, func(*testing.T, string, func(session.Notice) bool)) {
	t.Helper()
	p, err := NewProvider(ProviderOptions{Socket: s.Socket, Deadline: "300ms"})
	if err != nil {
		t.Fatal(err)
	}
	told := announced(t, p)
	return p, func(t *testing.T, what string, is func(session.Notice) bool) {
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
}

// announced has a provider announce until the test ends.
func announced(t *testing.T, p *Provider) <-chan session.Notice {
	t.Helper()
	told, ended := make(chan session.Notice, 1000), make(chan error, 1)
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
	limit, again := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("waited for %s", what)
		}
	}
}
