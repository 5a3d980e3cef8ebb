//go:build conformance

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/hookwire"

	"golang.org/x/sys/unix"
)

// terminal is an agent CLI in a tmux pane of its own server, and what it told
// by hooks.
type terminal struct {
	kinds   *agent.Kinds
	kind    agent.Kind
	home    home
	socket  string
	started fleet.Instant
	events  []fleet.HookEvent
	read    map[string]bool // spooled events that are among them
	history []string        // what it was seen to do, one line a change
}

// open starts a command on a private server, in a window of the size that
// Custos gives its agents.
func open(t *testing.T, k agent.Kind, h home, argv, env []string) *terminal {
	t.Helper()
	s := &terminal{kinds: parse(t), kind: k, home: h, socket: filepath.Join(h.dir, "tmux"), started: instant(t), read: map[string]bool{}}
	args := append([]string{"new-session", "-d", "-x", "200", "-y", "50", "-c", h.project, "--"}, argv...)
	args = append(args, ";", "set-option", "-g", "remain-on-exit", "on")
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot start %s: %v: %s", k.Name, err, out)
	}
	t.Cleanup(func() { _, _ = s.tmux("kill-server") })
	return s
}

func (s *terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = s.home.env()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *terminal) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.tmux(args...)
	if err != nil {
		t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimRight(out, "\n")
}

// paste puts a text at the prompt, as a nudge does.
func (s *terminal) paste(t *testing.T, text string) {
	t.Helper()
	s.must(t, "set-buffer", "-b", "n", "--", text)
	s.must(t, "paste-buffer", "-d", "-p", "-r", "-b", "n")
	time.Sleep(150 * time.Millisecond) // gemini takes a key right behind a paste for a part of it
}

// keys presses keys, one after the other as fast as a person may: two Escapes at
// once are another key to some CLIs.
func (s *terminal) keys(t *testing.T, keys ...string) {
	t.Helper()
	for i, key := range keys {
		if i > 0 {
			<-time.After(keyPause)
		}
		s.must(t, "send-keys", "--", key)
	}
}

const keyPause = 200 * time.Millisecond

// look is everything seen of an agent at one moment.
type look struct {
	screen, title string
	dead          bool
	pid           int
	full          agent.Verdict // as Custos would tell it
	bare          agent.Verdict // without hooks and registry
	told          agent.Reported
	dialog        *fleet.Dialog
	composer      fleet.Leaf[bool]
	ready         fleet.Leaf[bool]
}

func (s *terminal) look(t *testing.T) look {
	t.Helper()
	fields := strings.SplitN(s.must(t, "display-message", "-p", "#{pane_dead} #{pane_pid} #{window_activity} #{pane_title}"), " ", 4)
	if len(fields) != 4 {
		t.Fatalf("tmux said %q", fields)
	}
	l := look{screen: s.must(t, "capture-pane", "-p"), title: fields[3], dead: fields[0] == "1"}
	l.pid, _ = strconv.Atoi(fields[1])
	s.hear(t)
	now := instant(t)
	l.told = agent.Gather(s.events, "", now, agent.Deadlines{})
	signals := agent.Signals{Kind: s.kind, Title: fleet.Known(l.title), Screen: fleet.Known(l.screen), Now: now,
		Age: fleet.Known(fleet.Duration(now.Since(s.started))), Activity: activity(fields[2])}
	if l.dead {
		signals.End = &agent.End{PaneDead: true, Status: fleet.Unknown[int]("not asked"), Signal: fleet.Unknown[int]("not asked")}
	}
	l.bare = agent.State(signals)
	signals.Told, signals.Hooked, signals.Registry = l.told, true, s.registry(l.pid)
	l.full = agent.State(signals)
	if d, ok := agent.ReadDialog(s.kind, l.screen, l.title); ok {
		l.dialog = &d
	}
	l.composer, l.ready = agent.ComposerEmpty(s.kind, l.screen), agent.Ready(s.kind, l.screen, l.title)
	s.remember(now, l)
	return l
}

// remember notes a change of what is read.
func (s *terminal) remember(now fleet.Instant, l look) {
	line := fmt.Sprintf("%s (%s: %s), without hooks %s (%s: %s)", l.full.State, l.full.Source, l.full.Reason, l.bare.State, l.bare.Source, l.bare.Reason)
	if n := len(s.history); n == 0 || !strings.HasSuffix(s.history[n-1], line) {
		s.history = append(s.history, now.Wall.Format("05.000 ")+line)
		s.record(l)
	}
}

// record keeps the screen of a change in the home folder, in the form of
// internal/agent/testdata/panes.
func (s *terminal) record(l look) {
	base := filepath.Join(s.home.dir, "looks", fmt.Sprintf("%s-%02d-%s", s.kind.Name, len(s.history), l.full.State))
	_ = os.MkdirAll(filepath.Dir(base), 0o700) // only for those who look: see --keep
	_ = os.WriteFile(base+".txt", []byte(l.screen), 0o600)
	_ = os.WriteFile(base+".meta", fmt.Appendf(nil, "title=%s cmd=%s dead=%d status= sig= ", l.title, s.kind.Name, flag(l.dead)), 0o600)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func activity(seconds string) fleet.Leaf[fleet.Duration] {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fleet.Unknown[fleet.Duration]("tmux does not tell")
	}
	return fleet.Known(fleet.Duration(max(0, time.Since(time.Unix(at, 0)))))
}

// registry reads the agent's own record, where the kind keeps one.
func (s *terminal) registry(pid int) fleet.Leaf[agent.Registry] {
	b, err := os.ReadFile(filepath.Join(s.home.dir, s.kind.Registry, strconv.Itoa(pid)+".json"))
	if s.kind.Registry == "" || err != nil {
		return fleet.Unknown[agent.Registry]("there is none")
	}
	r, err := agent.ParseRegistry(b)
	if err != nil {
		return fleet.Unknown[agent.Registry](err.Error())
	}
	return fleet.Known(r)
}

// hear reads the hooks' events from the spool: no daemon runs here.
func (s *terminal) hear(t *testing.T) {
	t.Helper()
	spool := hookwire.Spool{Dir: hookwire.SpoolDir(s.home.run)}
	names, err := spool.List()
	if err != nil && !os.IsNotExist(err) {
		t.Fatalf("cannot list the spool: %v", err)
	}
	for _, name := range names {
		if s.read[name] {
			continue
		}
		s.read[name] = true
		post, err := spool.Get(name)
		if err != nil {
			t.Fatalf("cannot read a spooled event: %v", err)
		}
		event, err := s.kinds.ParseHook(post.Kind, post.Event, post.Payload)
		if err != nil {
			t.Errorf("ParseHook does not understand %s %s: %v\n%s", post.Kind, post.Event, err, post.Payload)
			continue
		}
		event.ID, event.At = post.ID, fleet.Instant{Wall: time.Unix(0, post.Wall).UTC(), Up: fleet.Duration(post.UpNanos), Boot: post.Boot}
		s.events = append(s.events, event)
	}
}

// until looks again and again until something is so.
func (s *terminal) until(t *testing.T, what string, limit time.Duration, so func(look) bool) look {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		l := s.look(t)
		if so(l) {
			return l
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v not seen: %s\n%s", limit, what, s.describe(l))
		}
		<-time.After(100 * time.Millisecond)
	}
}

// describe shows all that was seen, to be compared with what Custos read.
func (s *terminal) describe(l look) string {
	var b strings.Builder
	fmt.Fprintf(&b, "state %s by %s: %s\nwithout hooks %s by %s: %s\n", l.full.State, l.full.Source, l.full.Reason, l.bare.State, l.bare.Source, l.bare.Reason)
	for _, sig := range l.full.Signals {
		fmt.Fprintf(&b, "  %s: %s (%s)\n", sig.Source, sig.Says, sig.Hint)
	}
	fmt.Fprintf(&b, "composer empty %v, ready %v, dialog %+v\n", l.composer, l.ready, l.dialog)
	for _, e := range s.events {
		fmt.Fprintf(&b, "  hook %s %s %s %s %s\n", e.At.Wall.Format("05.000"), e.Event, e.Tool, e.Args, e.Text)
	}
	for _, line := range s.history {
		fmt.Fprintf(&b, "  seen %s\n", line)
	}
	for _, a := range s.home.model.Asked() {
		fmt.Fprintf(&b, "  asked by %s: %.60q, %d turns, %d tools: %d\n", a.Protocol, a.Prompt(), len(a.Turns), len(a.Tools), a.Status)
	}
	fmt.Fprintf(&b, "title %q dead %v\n%s", l.title, l.dead, l.screen)
	return b.String()
}

// told says whether an event was heard since the first `from` ones.
func (s *terminal) told(from int, so func(fleet.HookEvent) bool) bool {
	for _, e := range s.events[from:] {
		if so(e) {
			return true
		}
	}
	return false
}

func is(name fleet.HookName) func(fleet.HookEvent) bool {
	return func(e fleet.HookEvent) bool { return e.Event == name }
}

func instant(t *testing.T) fleet.Instant {
	t.Helper()
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(up.Nano()), Boot: strings.TrimSpace(string(boot))}
}
