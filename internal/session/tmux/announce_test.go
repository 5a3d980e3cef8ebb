package tmux_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/session"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
)

// ear collects what is announced.
type ear struct {
	mu   sync.Mutex
	all  []session.Notice
	ring chan struct{}
	end  func() // ends the announcing and waits for that
}

// listen has a server listened to until the test ends.
func listen(t *testing.T, s *sessiontest.Tmux) *ear { return listenFor(t, s, "1s") }

// listenFor does so with another deadline.
func listenFor(t *testing.T, s *sessiontest.Tmux, deadline string) *ear {
	t.Helper()
	p, err := tmux.NewProvider(tmux.ProviderOptions{Socket: s.Socket, Deadline: deadline})
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{ring: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Announce(ctx, e.take) }()
	e.end = sync.OnceFunc(func() {
		cancel()
		begin := time.Now()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %s to end", took)
		}
	})
	t.Cleanup(e.end)
	return e
}

func (e *ear) take(n session.Notice) {
	e.mu.Lock()
	e.all = append(e.all, n)
	e.mu.Unlock()
	select {
	case e.ring <- struct{}{}:
	default:
	}
}

func (e *ear) since(n int) []session.Notice {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]session.Notice(nil), e.all[n:]...)
}

// now is where to begin to hear what is told from now on.
func (e *ear) now() int { return len(e.since(0)) }

// hear waits for a notice that is told from place on, and returns how long it took.
func (e *ear) hear(t *testing.T, place int, what string, is func(session.Notice) bool) time.Duration {
	t.Helper()
	begin, deadline := time.Now(), time.After(20*time.Second)
	for {
		for _, n := range e.since(place) {
			if is(n) {
				return time.Since(begin)
			}
		}
		select {
		case <-e.ring:
		case <-deadline:
			t.Fatalf("%s was not told; what was: %+v", what, e.since(place))
		}
	}
}

func (e *ear) words(t *testing.T, place int, what string) time.Duration {
	t.Helper()
	return e.hear(t, place, what, func(n session.Notice) bool { return n.What == what })
}

// shows waits for a glimpse of a pane.
func (e *ear) shows(t *testing.T, place int, want session.Glimpse) {
	t.Helper()
	e.hear(t, place, want.Pane+" with "+want.Title, func(n session.Notice) bool {
		for _, g := range n.Panes {
			if g.Wrote = 0; g == want {
				return true
			}
		}
		return false
	})
}

func TestSessionsAreAnnounced(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "keep", "sleep", "1000")
	e := listen(t, s)
	e.words(t, 0, "the tmux server answers")
	var took []time.Duration // after the command had ended
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"a session came or went", func() { s.New(t, "one", "sleep", "1000") }},
		{"a session has another name", func() { s.Run(t, "rename-session", "-t", "=one", "two") }},
		{"a window came", func() { s.Run(t, "new-window", "-d", "-t", "=two:", "sleep", "1000") }},
		{"a window has another name", func() { s.Run(t, "rename-window", "-t", "=two:1", "w") }},
		{"a window went", func() { s.Run(t, "kill-window", "-t", "=two:1") }},
		{"a session came or went", func() { s.Close(t, "two") }},
	} {
		place := e.now()
		step.do()
		took = append(took, e.words(t, place, step.what))
	}
	slices.Sort(took)
	if took[len(took)/2] > 200*time.Millisecond { // of one, the machine may be to blame
		t.Errorf("they took %s", took)
	}
}

// What a program does to its title, and its end, is in the next glimpse.
func TestGlimpses(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "keep", "sleep", "1000")
	s.Run(t, "set-option", "-g", "remain-on-exit", "on")
	s.New(t, "one", "sh", "-c", `printf '\033]2;⠂ Fix %%9 "$x"\t#{pid}\007'; read x; printf '\033]2;%01000d\007' 7; exec sleep 1000`)
	e := listen(t, s)
	e.shows(t, 0, session.Glimpse{Pane: "%1", Title: `⠂ Fix %9 "$x"#{pid}`})
	s.Run(t, "send-keys", "-t", "%1", "Enter")
	e.shows(t, 0, session.Glimpse{Pane: "%1", Title: strings.Repeat("0", 200)})
	s.Run(t, "respawn-pane", "-k", "-t", "%1", "false")
	e.hear(t, 0, "when it wrote", func(n session.Notice) bool {
		return len(n.Panes) == 2 && time.Since(time.Unix(n.Panes[1].Wrote, 0)) < time.Minute
	})
	e.hear(t, 0, "its death", func(n session.Notice) bool { return len(n.Panes) == 2 && n.Panes[1].Pane == "%1" && n.Panes[1].Dead })
	for _, n := range e.since(0) {
		if len(n.Panes) > 2 {
			t.Errorf("more panes than there are: %+v", n.Panes)
		}
	}
}

// Whoever is announced to is nobody to the agents: not a person, not a session,
// not a size, and not a focus that programs are told of.
func TestAnnouncingTouchesNobody(t *testing.T) {
	s := sessiontest.NewTmux(t)
	got := filepath.Join(s.Dir, "got")
	s.New(t, "one", "sh", "-c", `stty raw -echo; printf '\033[?1004h'; exec cat >"$1"`, "sh", got)
	v := view(t, tmux.Options{Sockets: []string{s.Socket}})
	before := sessiontest.Panes(t, v, 1)[0]
	look := func() string {
		return s.Run(t, "list-panes", "-t", "=one", "-F", "#{window_width}x#{window_height} #{session_attached} #{session_last_attached}")
	}
	size := look()
	e := listen(t, s)
	e.shows(t, 0, session.Glimpse{Pane: before.ID.Pane, Title: before.Title})
	if out := s.Run(t, "list-clients", "-F", "#{client_control_mode} #{client_readonly}"); out != "1 1" {
		t.Errorf("the clients are %q, want one that is a program and may not write", out)
	}
	panes := sessiontest.Panes(t, v, 1)
	if panes[0].Attached != 0 || panes[0].ID != before.ID {
		t.Errorf("it changed %+v to %+v", before, panes[0])
	}
	if now := look(); now != size {
		t.Errorf("%q became %q", size, now)
	}
	s.Run(t, "send-keys", "-t", "=one:", "x") // what is typed after it would have come after it
	b := sessiontest.Await(t, func() (string, bool) { b, _ := os.ReadFile(got); return string(b), strings.HasSuffix(string(b), "x") })
	if b != "x" {
		t.Errorf("the program was told %q", b)
	}
	outer := sessiontest.NewTmux(t) // a person, on a terminal of another size
	outer.New(t, "outer", "sh", "-c", "unset TMUX; exec tmux -S "+s.Socket+" attach -t =one")
	sessiontest.Await(t, func() (string, bool) { now := look(); return now, strings.HasPrefix(now, "120x39 1") })
	e.words(t, 0, "a person came or left")
	outer.Run(t, "kill-server")
	sessiontest.Await(t, func() (string, bool) {
		now := s.Run(t, "list-clients", "-F", "#{client_control_mode}")
		return now, now == "1"
	})
	e.end()
	sessiontest.Await(t, func() (string, bool) { // its post stays, with nothing in it
		now := s.Run(t, "list-panes", "-a", "-F", "#{session_name} #{session_attached} #{pane_dead}")
		return now, now == "one 0 0\n~custos 0 1"
	})
	sessiontest.Panes(t, v, 1)
}

// It starts no server and keeps none.
func TestAnnouncingStartsNoServer(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "one", "sleep", "1000")
	e := listen(t, s)
	e.words(t, 0, "the tmux server answers")
	pid := serverPID(t, s)
	place := e.now()
	signal(t, pid, syscall.SIGKILL)
	e.words(t, place, "the tmux server is gone")
	e.end()
	e = listen(t, s)
	if n := len(e.since(0)); n != 0 {
		t.Errorf("of no server it tells %d things", n)
	}
	e.end()
	if out, err := exec.Command("tmux", "-S", s.Socket, "-N", "list-sessions").CombinedOutput(); err == nil {
		t.Errorf("there is a server: %s", out)
	}
}

// With the server frozen nothing hangs; that is told, and so is its waking up.
func TestAFrozenServerIsAnnounced(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "one", "sleep", "1000")
	e := listen(t, s)
	e.hear(t, 0, "a glimpse", func(n session.Notice) bool { return n.Panes != nil })
	pid := serverPID(t, s)
	place := e.now()
	signal(t, pid, syscall.SIGSTOP)
	t.Cleanup(func() { signal(t, pid, syscall.SIGCONT) })
	if took := e.words(t, place, "the tmux server does not answer"); took > 13*time.Second { // a question each 10 s at most, 2 s to answer it
		t.Errorf("it took %s to be told", took)
	}
	v := view(t, tmux.Options{Sockets: []string{s.Socket}, Deadline: "300ms"})
	if panes, err := v.Panes(t.Context()); err == nil || len(panes) != 0 {
		t.Errorf("a look says %+v, %v", panes, err)
	}
	late := listen(t, s)
	late.end() // while it is being tried
	place = e.now()
	signal(t, pid, syscall.SIGCONT)
	e.words(t, place, "the tmux server answers")
	sessiontest.Await(t, func() (string, bool) { // what was tried meanwhile is not there
		now := s.Run(t, "list-clients", "-F", "#{client_control_mode}")
		return now, now == "1"
	})
	if panes := sessiontest.Panes(t, v, 1); panes[0].Session != "one" {
		t.Errorf("there is %+v", panes)
	}
}

// A client that is killed, or thrown out by a person, comes back.
func TestTheClientIsReplaced(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "one", "sleep", "1000")
	e := listen(t, s)
	e.words(t, 0, "the tmux server answers")
	pid := serverPID(t, s)
	for _, how := range [][]string{{"detach-client", "-s", "=~custos"}, {"kill-session", "-t", "=~custos"}} {
		place := e.now()
		s.Run(t, how...)
		e.words(t, place, "the tmux server hung up")
		e.words(t, place, "the tmux server answers")
	}
	if now := serverPID(t, s); now != pid {
		t.Errorf("the server was replaced: %d became %d", pid, now)
	}
}
