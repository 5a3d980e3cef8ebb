package agentrun_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/act/acttest"
	"custos/internal/act/checkpoint"
	"custos/internal/act/interrupt"
	"custos/internal/act/nudge"
	"custos/internal/act/recover"
	"custos/internal/act/spawn"
	"custos/internal/act/stopagent"
	"custos/internal/agent/agenttest"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
	"custos/internal/sys/shim"
)

// state is all that the actions could touch: instances and how they ended,
// refs and worktrees, what the agent was told.
func (g *ground) state(repo *gittest.Repo, agent string) string {
	var b strings.Builder
	all, _ := shim.List(g.world.Shims)
	for _, r := range all {
		b.WriteString(r.Dir + " " + itoa(r.Started.Agent.PID))
		if r.Exit != nil {
			b.WriteString(" ended")
		}
		b.WriteString("\n")
	}
	if repo != nil {
		b.WriteString(repo.Git(repo.Top, "for-each-ref") + repo.Git(repo.Top, "worktree", "list"))
	}
	if agent != "" && alive(g.ledger[agent].Process.PID) { // the others may still draw what an earlier case told them
		b.WriteString(g.screen(agent))
	}
	return b.String() + strings.Join(g.noted("prompt"), "|")
}

// The suite asks of each action what every action promises.

func TestSuiteSpawn(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	x, err := spawn.New(spawn.Options{Launcher: g.launcher})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	acttest.Test(t, acttest.Case{
		Action: x, Repeats: true,
		Setup: func(*testing.T) fleet.Action {
			n++
			name := "agent " + itoa(n)
			r := g.register(fleet.Registration{Name: name, Repo: fleet.Path(repo.Top), Branch: "b" + itoa(n)})
			return fleet.Action{ID: name, Do: spawn.Do, Target: fleet.Target{Registration: &r}}
		},
		Fingerprint: func(*testing.T, fleet.Action) string { return g.state(repo, "") },
		Changed: map[string]func(*testing.T, fleet.Action){
			"stopped":     func(_ *testing.T, a fleet.Action) { g.wish(a.Target.Registration.Name, fleet.DesiredStopped) },
			"forgotten":   func(_ *testing.T, a fleet.Action) { delete(g.ledger, a.Target.Registration.Name) },
			"branch made": func(_ *testing.T, a fleet.Action) { repo.Git(repo.Top, "branch", a.Target.Registration.Branch) },
		},
	})
}

func TestSuiteCheckpoint(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	x, err := checkpoint.New(checkpoint.Options{World: g.world})
	if err != nil {
		t.Fatal(err)
	}
	r := g.register(fleet.Registration{Name: "one", Dir: fleet.Path(repo.Top)})
	acttest.Test(t, acttest.Case{
		Action: x, Repeats: true,
		Setup: func(*testing.T) fleet.Action {
			g.ledger["one"] = r
			repo.Write("repo/a.txt", time.Now().String())
			return fleet.Action{Do: checkpoint.Do, Target: fleet.Target{Agent: &fleet.Agent{Name: "one", Owner: fleet.OwnerCustos, Kind: "claude"}}}
		},
		Fingerprint: func(*testing.T, fleet.Action) string {
			return g.state(repo, "") + repo.Git(repo.Top, "status", "--porcelain") + repo.Git(repo.Top, "ls-files", "--stage")
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"forgotten":   func(*testing.T, fleet.Action) { delete(g.ledger, "one") },
			"folder gone": func(*testing.T, fleet.Action) { g.move("one", filepath.Join(repo.Dir, "none")) },
		},
	})
}

func TestSuiteStop(t *testing.T) {
	g := newGround(t)
	x, err := stopagent.New(stopagent.Options{World: g.world, AskWait: "3s", TermWait: "1s", Watch: "200ms"})
	if err != nil {
		t.Fatal(err)
	}
	acttest.Test(t, acttest.Case{
		Action: x,
		Setup: func(t *testing.T) fleet.Action {
			name := strings.ReplaceAll(t.Name(), "/", " ")
			g.ready(name)
			return fleet.Action{Do: stopagent.Do, By: "eve", Target: fleet.Target{Agent: g.seen(name, fleet.StateIdle)}}
		},
		Fingerprint: func(_ *testing.T, a fleet.Action) string { return g.state(nil, a.Target.Agent.Name) },
		Gone: func(t *testing.T, a fleet.Action) {
			if _, err := g.stop(a.Target.Agent.Name, "eve", fleet.StateIdle); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestSuiteNudge(t *testing.T) {
	g := newGround(t)
	x, err := nudge.New(nudge.Options{World: g.world})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	acttest.Test(t, acttest.Case{
		Action: x, Repeats: true,
		Setup: func(t *testing.T) fleet.Action {
			n++
			name := "agent " + itoa(n)
			g.ready(name)
			return fleet.Action{Do: nudge.Do, By: "eve", Text: "hello", Target: fleet.Target{Agent: g.seen(name, fleet.StateIdle)}}
		},
		Fingerprint: func(_ *testing.T, a fleet.Action) string { return g.state(nil, a.Target.Agent.Name) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"ended":  func(_ *testing.T, a fleet.Action) { g.kill(a.Target.Agent.Name) },
			"paused": func(_ *testing.T, a fleet.Action) { g.wish(a.Target.Agent.Name, fleet.DesiredPaused) },
		},
	})
}

func (g *ground) wish(name string, d fleet.Desired) {
	r := g.ledger[name]
	r.Desired, r.DesiredBy = d, "eve"
	g.ledger[name] = r
}

func (g *ground) move(name, dir string) {
	r := g.ledger[name]
	r.Dir = fleet.Path(dir)
	g.ledger[name] = r
}

// An agent without a terminal that converses is nudged, interrupted and stopped;
// one that does not takes one prompt only.
func TestHeadless(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "talks", Where: fleet.WhereHeadless, Prompt: "first", PromptState: fleet.DeliveryPending, Argv: []string{"--input-format", "stream-json"}})
	g.must(g.spawn(spawn.Options{}, "talks"))
	g.await("the first prompt", func() bool { return has(g.noted("prompt"), "first") })
	g.must(g.nudge("talks", "second \"one\"\nof two lines", nudge.Options{}))
	g.await("the second", func() bool { return len(g.noted("prompt")) == 2 })
	effect := g.must(g.stop("talks", "eve", fleet.StateIdle))
	if !strings.Contains(effect, "interrupted") {
		t.Errorf("stop: %q", effect)
	}
	g.register(fleet.Registration{Name: "once", Where: fleet.WhereHeadless, Prompt: "fake work 60s", PromptState: fleet.DeliveryPending})
	g.must(g.spawn(spawn.Options{}, "once"))
	_, err := g.nudge("once", "more", nudge.Options{})
	wantRefused(t, err, "one prompt only")
	g.kill("once")
	g.must(g.recover("once"))
}

// A start that finds no room, or that a frozen tmux cannot do, starts nothing.
func TestSpawnWithoutRoom(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "big"})
	full := *g
	var err error
	full.launcher, err = newLauncher(g, "1000000GiB")
	if err != nil {
		t.Fatal(err)
	}
	_, err = full.spawn(spawn.Options{}, "big")
	wantRefused(t, err, "are needed")
}

// Options that make no sense are refused, with their names.
func TestOptions(t *testing.T) {
	g := newGround(t)
	for name, err := range map[string]error{
		"acknowledge": second(nudge.New(nudge.Options{World: g.world, Acknowledge: "soon"})),
		"term_wait":   second(stopagent.New(stopagent.Options{World: g.world, TermWait: "-1s"})),
		"watch":       second(interrupt.New(interrupt.Options{World: g.world, Watch: "2h"})),
		"boot":        second(recover.New(recover.Options{Launcher: g.launcher, Boot: "x"})),
		"worktrees":   second(spawn.New(spawn.Options{Launcher: g.launcher, Worktrees: "relative"})),
		"min_free":    second(newLauncher(g, "lots")),
		"kinds":       second(checkpoint.New(checkpoint.Options{})),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("bad %s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Frozen, the server is not asked to do anything, and the start is not in doubt.
func TestFrozenServer(t *testing.T) {
	g := newGround(t)
	g.ready("one")
	pid := g.seen("one", "").Pane.ID.Server.PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw := func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(thaw)
	began := time.Now()
	_, err := g.nudgeAs(&fleet.Agent{Name: "one", Kind: "claude", Owner: fleet.OwnerCustos, State: fleet.StateIdle,
		Process: g.ledger["one"].Process, Instance: g.ledger["one"].Instance, Where: fleet.WhereTmux})
	if err == nil || time.Since(began) > agenttest.Deadline {
		t.Errorf("nudge through a frozen server: %v after %v", err, time.Since(began))
	}
	thaw()
	if got := g.noted("prompt"); len(got) != 0 {
		t.Errorf("it got %q", got)
	}
}
