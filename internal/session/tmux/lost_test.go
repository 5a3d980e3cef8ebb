package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/session"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
	"custos/internal/sys/shim"
)

// A dying is a real tmux server that is killed while it is told to make a session, and a
// shim that can be held up.
type dying struct {
	sessiontest.Ground
	dir string
	s   *sessiontest.Tmux
}

// client is a tmux whose server dies: it runs the real one. The file "at" says at which
// command, "dies" how, a line for each time it is given.
//
//	early:   killed when the client has connected, before it has read anything
//	again:   and another server is there by the time that is seen
//	unsaid:  killed when it has made the session, and before that is known
//	said:    killed when it has said so
//	mute:    not killed, but what it is told reaches it only when all is settled
const client = `#!/bin/sh
case "$*" in *$(cat "$HERE/at")*) ;; *) exec "$TMUX_REAL" "$@" ;; esac
how=$(head -n 1 "$HERE/dies"); sed -i 1d "$HERE/dies"; echo "$how" >> "$HERE/tried"
server() { "$TMUX_REAL" -S "$SOCKET" display-message -p '#{pid}'; }
connections() { grep -c " $SOCKET\$" /proc/net/unix; }
die() { kill -KILL "$1"; while grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; do :; done; }
case "$how" in
early|again)
	pid=$(server); kill -STOP "$pid"; was=$(connections)
	"$TMUX_REAL" "$@" 2> "$HERE/err" & asked=$!
	while [ "$(connections)" = "$was" ]; do :; done
	die "$pid"; wait $asked; code=$?
	if [ "$how" = again ]; then "$TMUX_REAL" -f /dev/null -S "$SOCKET" start-server ';' set-option -s exit-empty off; fi
	cat "$HERE/err" >&2; exit $code ;;
unsaid)
	"$TMUX_REAL" "$@" > /dev/null; while [ -d "$HERE" ] && [ ! -e "$HERE/began" ]; do :; done
	die "$(server)"; echo 'server exited unexpectedly' >&2; exit 1 ;;
said)
	"$TMUX_REAL" "$@"; code=$?; while [ -d "$HERE" ] && [ ! -e "$HERE/began" ]; do :; done
	die "$(server)"; exit $code ;;
mute)
	( while [ -d "$HERE" ] && [ ! -e "$HERE/go" ]; do sleep 0.01; done; "$TMUX_REAL" "$@"; touch "$HERE/late" ) > /dev/null 2>&1 &
	exec sleep 1000 ;;
esac
exec "$TMUX_REAL" "$@"
`

// newDying makes one whose first shim does what held says before it begins.
func newDying(t *testing.T, held string, dies ...string) *dying {
	t.Helper()
	real, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	s := sessiontest.NewTmux(t)
	d := &dying{dir: t.TempDir(), s: s}
	head := fmt.Sprintf("#!/bin/sh\nHERE=%s; SOCKET=%s; TMUX_REAL=%s\n", d.dir, s.Socket, real)
	d.write(t, "at", "new-session", 0o600)
	d.write(t, "dies", strings.Join(dies, "\n")+"\n", 0o600)
	program := d.write(t, "tmux", head+client, 0o700)
	binary := d.write(t, "custos-shim", head+"if mkdir \"$HERE/first\"; then "+held+"; fi\nexec "+sessiontest.BuildShim(t)+` "$@"`+"\n", 0o700)
	p, err := tmux.NewProvider(tmux.ProviderOptions{Socket: s.Socket, Shim: binary, Tmux: program, Deadline: "4s", Start: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	s.New(t, "before", "sleep", "1000")
	d.Ground = sessiontest.Ground{Provider: p, Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	return d
}

func (d *dying) write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func (d *dying) tried() int {
	text, _ := os.ReadFile(filepath.Join(d.dir, "tried"))
	return strings.Count(string(text), "\n")
}

// agent is one that writes down each time it is started.
func (d *dying) agent(t *testing.T) session.Launch {
	t.Helper()
	l := d.Plan(t, "one", "sh", "-c", "echo run >>runs; exec sleep 1000")
	t.Cleanup(func() { sessiontest.End(t, l.Shim) })
	return l
}

func runs(l session.Launch) string {
	text, _ := os.ReadFile(filepath.Join(l.Dir, "runs"))
	return string(text)
}

// Where the server ends under a launch or does not answer, and nothing was started for sure, it is done again
// on another server, and the agent runs once.
func TestALaunchOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		held string
		dies []string
	}{
		"it ended before it was asked":                         {":", []string{"early"}},
		"and another one was there":                            {":", []string{"again"}},
		"twice":                                                {":", []string{"again", "early"}},
		"it ended before the shim began":                       {`touch "$HERE/began"; exec sleep 1000`, []string{"unsaid"}},
		"it ended before the shim began, and had answered":     {`touch "$HERE/began"; exec sleep 1000`, []string{"said"}},
		"the shim outlives it, and begins when all is settled": {`trap '' HUP; touch "$HERE/began"; while [ -d "$HERE" ] && [ ! -e "$HERE/go" ]; do sleep 0.01; done; touch "$HERE/late"`, []string{"unsaid"}},
		"it does not answer, and does it when all is settled":  {":", []string{"mute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDying(t, c.held, c.dies...)
			l := d.agent(t)
			got, err := d.Provider.Launch(t.Context(), l)
			if err != nil {
				t.Fatalf("launching: %v", err)
			}
			if d.tried() != len(c.dies)+1 {
				t.Errorf("it was tried %d times, want %d", d.tried(), len(c.dies)+1)
			}
			sessiontest.Await(t, func() (string, bool) { return runs(l), runs(l) != "" })
			if strings.Contains(c.held, "late") || c.dies[0] == "mute" {
				d.write(t, "go", "", 0o600)
				sessiontest.Await(t, func() (error, bool) {
					_, err := os.Stat(filepath.Join(d.dir, "late"))
					return err, err == nil
				})
			}
			if again, err := d.Provider.Launch(t.Context(), l); err != nil || again != got {
				t.Errorf("launched again: %+v, %v; want %+v", again, err, got)
			}
			if runs(l) != "run\n" {
				t.Errorf("it ran %q", runs(l))
			}
		})
	}
}

// A server that ends each time is no reason to go on for ever, and leaves nothing.
func TestALaunchWithoutAServerThatStaysLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDying(t, ":", "again", "again", "again", "again", "again", "again", "again", "again")
	l := d.agent(t)
	got, err := d.Provider.Launch(t.Context(), l)
	if err == nil || errors.Is(err, session.ErrInDoubt) || errors.Is(err, session.ErrSpent) {
		t.Fatalf("launched %+v, %v", got, err)
	}
	if n := d.tried(); n < 2 || n > 4 {
		t.Errorf("it was tried %d times", n)
	}
	if _, err := os.Stat(l.Shim); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the shim's folder is still there: %v", err)
	}
	d.write(t, "dies", "", 0o600)
	if _, err := d.Provider.Launch(t.Context(), l); err != nil {
		t.Errorf("launching the same instance: %v", err)
	}
}

// An agent that was started before its server ended is not started again.
func TestALaunchThatTookPlaceIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := newDying(t, ":", "unsaid")
	l := d.agent(t)
	l.Argv = []string{"sh", "-c", "trap '' HUP; echo run >>runs; touch " + filepath.Join(d.dir, "began") + "; sleep 1000"}
	got, err := d.Provider.Launch(t.Context(), l)
	if !errors.Is(err, session.ErrGone) {
		t.Errorf("launched %+v, %v; want its pane gone", got, err)
	}
	if s, _, err := shim.Read(l.Shim); err != nil || s.Agent.PID == 0 {
		t.Errorf("its record is %+v, %v", s, err)
	}
	if d.tried() != 1 || runs(l) != "run\n" {
		t.Errorf("it was tried %d times, and ran %q", d.tried(), runs(l))
	}
}

// A pane whose server ends while something is typed, or while it is closed, is gone, whether
// or not another server is there by then; so is the session of an agent that runs no more.
func TestAPaneGoesWithItsServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at, how string
		do      func(d *dying, at session.Launched, l session.Launch) error
		want    error
	}{
		"typing, at the question":   {"display-message -p -t", "again", typing, session.ErrGone},
		"typing, at the text":       {"load-buffer", "again", typing, session.ErrGone},
		"typing, at the paste":      {"if-shell", "again", typing, session.ErrGone},
		"typing, without another":   {"if-shell", "early", typing, session.ErrGone},
		"closing":                   {"if-shell", "again", closing, nil},
		"launching the same again":  {"list-panes", "again", launching, session.ErrGone},
		"without another one there": {"list-panes", "early", launching, session.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDying(t, ":")
			l := d.agent(t)
			got := d.Launch(t, l)
			sessiontest.Await(t, func() (string, bool) { return runs(l), runs(l) != "" })
			d.write(t, "dies", c.how+"\n", 0o600)
			d.write(t, "at", c.at, 0o600)
			if err := c.do(d, got, l); !errors.Is(err, c.want) {
				t.Errorf("it says %v, want %v", err, c.want)
			}
			if runs(l) != "run\n" {
				t.Errorf("it ran %q", runs(l))
			}
		})
	}
}

func typing(d *dying, at session.Launched, _ session.Launch) error {
	return d.Provider.Type(context.Background(), at.Pane, session.Input{Text: "x"})
}

func closing(d *dying, at session.Launched, _ session.Launch) error {
	return d.Provider.Close(context.Background(), at.Pane)
}

func launching(d *dying, _ session.Launched, l session.Launch) error {
	_, err := d.Provider.Launch(context.Background(), l)
	return err
}

// A server with nothing in it, not even a post, ends as well as others do.
func TestAServerWithNothingInItRetires(t *testing.T) {
	t.Parallel()
	s := sessiontest.NewTmux(t)
	s.Run(t, "start-server", ";", "set-option", "-s", "exit-empty", "off")
	guests, err := provider(t, s, "").Retire(t.Context(), func(string) bool { return false })
	if err != nil || len(guests) != 0 {
		t.Errorf("it says %v, %v", guests, err)
	}
}
