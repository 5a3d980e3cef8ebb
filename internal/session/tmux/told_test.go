package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/session/sessiontest"
)

// scripted is a provider whose tmux program is a script.
func scripted(t *testing.T, s *sessiontest.Tmux, script string) *Provider {
	t.Helper()
	program := filepath.Join(s.Dir, "program")
	// A child that is forked just now would hold the file open for writing, and until it is another program this one
	// could not be begun ("text file busy").
	syscall.ForkLock.RLock()
	err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProvider(ProviderOptions{Socket: s.Socket, Deadline: "20s", Tmux: program})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhatAClientWroteMayBeReadLate: what stands between it and its reader, as on a busy
// machine, is neither a refusal nor no answer.
func TestWhatAClientWroteMayBeReadLate(t *testing.T) {
	t.Parallel()
	s := sessiontest.NewTmux(t)
	s.New(t, "agent", "sleep", "1000")
	p := scripted(t, s, "sleep 0.3 &\necho done")
	if out, err := p.tell(t.Context(), "", "display-message"); out != "done" || err != nil {
		t.Errorf("told %q, %v", out, err)
	}
	if out, err := p.ask(t.Context(), s.Socket, "display-message"); string(out) != "done\n" || err != nil {
		t.Errorf("asked %q, %v", out, err)
	}
}

// TestAClientThatEndsWithoutAWord: how it ended is said; one whose output never ends has
// done what is not known.
func TestAClientThatEndsWithoutAWord(t *testing.T) {
	t.Parallel()
	s := sessiontest.NewTmux(t)
	s.New(t, "agent", "sleep", "1000")
	if _, err := scripted(t, s, "exit 3").tell(t.Context(), ""); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("told: %v", err)
	}
	if _, err := scripted(t, s, "sleep 3 &\necho done").tell(t.Context(), ""); !errors.Is(err, errNoAnswer) {
		t.Errorf("told: %v", err)
	}
}
