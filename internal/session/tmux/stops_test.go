package tmux_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/session"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
)

// A server that is stopped by a signal and goes on again is the same server, with
// every agent in it, whoever listens to it or asked it meanwhile and was sent away.
// CUSTOS_STOPS is how often (`make town`: 200); CUSTOS_STOPS_WITHOUT leaves out the
// client in control mode, to compare.
func TestAServerOutlivesBeingStopped(t *testing.T) {
	cycles := 5
	if n, err := strconv.Atoi(os.Getenv("CUSTOS_STOPS")); err == nil {
		cycles = n
	}
	without := os.Getenv("CUSTOS_STOPS_WITHOUT")
	t.Parallel()
	s := sessiontest.NewTmux(t)
	s.New(t, "first", "sh", "-c", "while :; do echo x; sleep 0.05; done")
	s.Run(t, "set-option", "-s", "exit-empty", "off", ";", "set-option", "-g", "remain-on-exit", "on")
	for i := range 4 {
		s.New(t, "busy"+strconv.Itoa(i), "sh", "-c", `i=0; while :; do i=$((i+1)); printf '\033]0;title %d\007line %d\n' $i $i; sleep 0.02; done`)
	}
	s.New(t, "dead", "true")
	pid, err := strconv.Atoi(s.Run(t, "display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := tmux.New(tmux.Options{Sockets: []string{s.Socket}, Deadline: "300ms"})
	if err != nil {
		t.Fatal(err)
	}
	var e *ear
	if without == "" {
		e = listenFor(t, s, "300ms")
	}
	for i := range cycles {
		place := 0
		if e != nil {
			e.hear(t, 0, "panes", func(n session.Notice) bool { return n.Panes != nil })
			place = e.now()
			e.hear(t, place, "panes again", func(n session.Notice) bool { return n.Panes != nil })
			place = e.now()
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("the server was gone before stop %d: %v", i+1, err)
		}
		if without != "all" {
			if _, err := viewer.Panes(context.Background()); err == nil {
				t.Fatalf("a stopped server answered")
			}
		}
		if e != nil && i%2 == 0 { // the client notices, and is sent away, before the server goes on
			e.hear(t, place, "silence", func(n session.Notice) bool { return strings.Contains(n.What, "does not answer") })
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatalf("the server was gone in stop %d: %v", i+1, err)
		}
		deadline := time.Now().Add(30 * time.Second)
		for {
			panes, err := viewer.Panes(context.Background())
			if err == nil && len(panes) == 6 {
				if panes[0].ID.Server.PID != pid {
					t.Fatalf("after stop %d there is another server", i+1)
				}
				break
			}
			if time.Now().After(deadline) || syscall.Kill(pid, 0) != nil {
				t.Fatalf("the server did not outlive stop %d of %d: %d panes, %v, gone: %v", i+1, cycles, len(panes), err, syscall.Kill(pid, 0))
			}
		}
	}
	t.Logf("%d stops, listened to: %v", cycles, e != nil)
}
