package agentrun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"custos/internal/act/agentrun"
	"custos/internal/act/spawn"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
	"custos/internal/sys/shim"
)

// letsGo is an agent that begins three processes in sessions of their own and lets go
// of them: one with its marker, one without it, one with nothing at all. Each notes its
// pid in the file that is the first argument.
const letsGo = `note='echo $$ >> "$0"; exec sleep 300'
setsid -f sh -c "$note" "$0"
setsid -f env -u CUSTOS_AGENT sh -c "$note" "$0"
setsid -f env -i PATH="$PATH" sh -c "$note" "$0"
exec sleep 300`

// letGo starts an agent that lets go of three processes, and returns what reads their pids.
func (g *ground) letGo(name string, where fleet.Where) (pids func() []int) {
	g.t.Helper()
	file := filepath.Join(g.t.TempDir(), "pids")
	pids = func() (out []int) {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			pid, _ := strconv.Atoi(strings.TrimSpace(line))
			out = append(out, pid)
		}
		return out
	}
	g.register(fleet.Registration{Name: name, Kind: agent.Generic, Where: where, Argv: []string{"bash", "-c", letsGo, file}})
	g.must(g.spawn(spawn.Options{}, name))
	g.await("what it lets go of", func() bool { return len(pids()) == 3 })
	return pids
}

func wantGone(t *testing.T, pids []int, said string) {
	t.Helper()
	for i, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d (number %d) lives; stop: %q", pid, i+1, said)
		}
	}
}

// What an agent let go of is its own, marker or not: its shim took it in.
func TestStopEndsWhatTheAgentLetGoOf(t *testing.T) {
	for _, where := range []fleet.Where{fleet.WhereHeadless, fleet.WhereTmux} {
		t.Run(string(where), func(t *testing.T) {
			g := newGround(t)
			pids := g.letGo("server", where)
			wantGone(t, pids(), g.must(g.stop("server", "eve", fleet.StateWorking)))
		})
	}
}

// What is left of an agent that ended carries no marker, and is the agent's all the same.
func TestStopEndsWhatAnEndedAgentLeft(t *testing.T) {
	g := newGround(t)
	pids := g.letGo("server", fleet.WhereHeadless)
	g.kill("server")
	s, _, err := shim.Read(shim.Dir(g.world.Shims, g.ledger["server"].Instance))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := agentrun.Leaves(t.Context(), g.world.Shims, s); err != nil || !left {
		t.Errorf("it has left something: %t, %v", left, err)
	}
	_, err = g.stop("server", "", fleet.StateCrashed)
	wantRefused(t, err, "3 of its processes live on")
	wantGone(t, pids(), g.must(g.stop("server", "eve", fleet.StateCrashed)))
	if left, err := agentrun.Leaves(t.Context(), g.world.Shims, s); err != nil || left {
		t.Errorf("it has left nothing: %t, %v", left, err)
	}
}

// A person's stop ends what former instances left, too, and the shims that hold it.
func TestStopEndsWhatFormerInstancesLeft(t *testing.T) {
	g := newGround(t)
	pids := g.letGo("server", fleet.WhereHeadless)
	former, _, err := shim.Read(shim.Dir(g.world.Shims, g.ledger["server"].Instance))
	if err != nil {
		t.Fatal(err)
	}
	g.kill("server")
	g.must(g.recover("server"))
	g.await("the next three", func() bool { return len(pids()) == 6 })
	said := g.must(g.stop("server", "eve", fleet.StateWorking))
	wantGone(t, pids(), said)
	g.await("the end of the former shim", func() bool { return !alive(former.Shim.PID) })
}

// Another agent that was begun from within this one, and lets its shim be taken in by
// this one's, or stands on a tmux server that this one started, is another agent: it
// lives on.
func TestStopSparesAnotherAgentBelow(t *testing.T) {
	for how, script := range map[string]string{
		"let go":           `setsid -f "$@"; exec sleep 300`,
		"on a tmux server": `tmux -f /dev/null -S "$0" new-session -d "$@"; exec sleep 300`,
	} {
		t.Run(how, func(t *testing.T) {
			g := newGround(t)
			g.world.Hosted = tmux.Hosted
			kid, socket := g.otherInstance("kid", how == "let go"), filepath.Join(t.TempDir(), "s")
			g.register(fleet.Registration{Name: "parent", Kind: agent.Generic, Where: fleet.WhereHeadless,
				Argv: append([]string{"bash", "-c", script, socket}, kid...)})
			g.must(g.spawn(spawn.Options{}, "parent"))
			dir := shim.Dir(g.world.Shims, "kid")
			g.await("the other agent", func() bool { _, _, err := shim.Read(dir); return err == nil })
			s, _, _ := shim.Read(dir)
			said := g.must(g.stop("parent", "eve", fleet.StateWorking))
			if !alive(s.Agent.PID) || !alive(s.Shim.PID) {
				t.Errorf("another agent was ended, too: %q", said)
			}
			sessiontest.End(t, dir)
		})
	}
}

// otherInstance prepares an instance, and returns the command that starts it.
func (g *ground) otherInstance(key string, headless bool) []string {
	g.t.Helper()
	dir := shim.Dir(g.world.Shims, key)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = shim.Prepare(dir, []string{"sleep", "300"}, []string{"PATH=" + os.Getenv("PATH"), shim.Marker + "=" + key + ":" + key}, "/")
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return shim.Command(shim.Options{Binary: filepath.Join(binaries, "custos-shim"), Dir: dir, Key: key, Name: key, Headless: headless})
}

// Where a record cannot be read, all that is known is ended, and nobody says that
// nothing is left.
func TestStopDoesNotSayThatNothingIsLeftWhereARecordCannotBeRead(t *testing.T) {
	g := newGround(t)
	pids := g.letGo("server", fleet.WhereHeadless)
	marked := slices.DeleteFunc(pids(), func(pid int) bool { // they note their pids in any order
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err != nil || !strings.Contains(string(environ), shim.Marker+"=")
	})
	if len(marked) != 1 {
		t.Fatalf("%d of them carry its marker", len(marked))
	}
	torn := filepath.Join(g.world.Shims, "torn")
	if err := os.MkdirAll(torn, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn, "claim"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := g.stop("server", "eve", fleet.StateWorking)
	if err == nil || !strings.Contains(err.Error(), "cannot show that nothing is left") || !strings.Contains(err.Error(), torn) {
		t.Errorf("%q, %v", said, err)
	}
	wantGone(t, append(marked, g.ledger["server"].Process.PID), said)
}
