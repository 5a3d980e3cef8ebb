package agentrun_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act/nudge"
	"custos/internal/act/recover"
	"custos/internal/act/spawn"
	"custos/internal/fleet"
	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// prompted registers an agent with a first prompt, and starts it.
func (g *ground) prompted(name, prompt, fake string) {
	g.t.Helper()
	g.register(fleet.Registration{Name: name, Argv: []string{"--fake", fake}, Prompt: prompt, PromptState: fleet.DeliveryPending})
	g.must(g.spawn(spawn.Options{}, name))
}

// Who is killed before its first turn has no conversation: the CLI starts, tells of
// a session of its own, and gives up after longer than it is watched. Its task is not
// lost: it begins afresh with the prompt that it never took.
func TestKilledBeforeItsFirstTurn(t *testing.T) {
	g := newGround(t)
	g.prompted("early", "mend the tests", "boot 1h")
	g.kill("early")
	r := g.ledger["early"]
	if r.PromptState != fleet.DeliverySent || r.SessionID == "" || r.Server == "" {
		t.Fatalf("the ledger learned %+v", r)
	}
	r.Argv[len(r.Argv)-1] = "lost 3s" // it is watched for 1s
	g.ledger["early"] = r
	effect := g.must(g.recover("early"))
	if strings.Contains(effect, "its conversation goes on") || !strings.Contains(effect, "begins afresh") || !strings.Contains(effect, "status 1") {
		t.Errorf("recover: %q", effect)
	}
	told := g.noted("prompt")
	if got := strings.Join(told, "\n"); !strings.Contains(got, "mend the tests") {
		t.Fatalf("it was told %q", got)
	}
	// What it was told is what its acknowledgement is known by.
	if r := g.ledger["early"]; r.PromptState != fleet.DeliverySent || r.Prompt != told[len(told)-1] {
		t.Errorf("it was told %q, and %q is waited for, %s", told, r.Prompt, r.PromptState)
	}
	if n := len(g.sessionsOf("early")); n != 1 {
		t.Errorf("%d terminals are left of it: %v", n, g.sessionsOf("early"))
	}
}

// A signal during the start says nothing about the conversation: it is gone on with
// by the next recovery.
func TestKilledWhileItIsResumed(t *testing.T) {
	g := newGround(t)
	g.ready("twice")
	g.must(g.nudge("twice", "hello", nudge.Options{}))
	was := g.ledger["twice"].SessionID
	g.kill("twice")
	r := g.ledger["twice"]
	r.Argv = append(r.Argv, "--fake", "kill")
	g.ledger["twice"] = r
	if _, err := g.recover("twice"); err == nil || !strings.Contains(err.Error(), "signal 9") {
		t.Errorf("a recovery that was killed: %v", err)
	}
	r = g.ledger["twice"]
	if r.SessionID != was {
		t.Errorf("the conversation %s was given up for %s", was, r.SessionID)
	}
	r.Argv = r.Argv[:1]
	g.ledger["twice"] = r
	if effect := g.must(g.recover("twice")); !strings.Contains(effect, "its conversation goes on") {
		t.Errorf("recover: %q", effect)
	}
}

// Who was at work is recovered when its turn goes on, and not when it has said hello.
func TestRecoveredMeansThatATurnBegan(t *testing.T) {
	g := newGround(t)
	g.ready("busy")
	g.must(g.nudge("busy", "fake work 1h", nudge.Options{}))
	g.kill("busy")
	effect := g.must(g.recover("busy"))
	if !strings.Contains(effect, "hook told of prompt") || !strings.Contains(effect, "its conversation goes on") {
		t.Errorf("recover: %q", effect)
	}
}

// The new instance is told of as soon as it runs, not when it is proved to be ready.
func TestTheNewInstanceIsToldAtOnce(t *testing.T) {
	g := newGround(t)
	g.ready("soon")
	g.must(g.nudge("soon", "hello", nudge.Options{}))
	g.kill("soon")
	old := g.ledger["soon"].Instance
	g.must(g.recover("soon"))
	if len(g.foretold) != 1 || g.foretold[0].Instance == old || g.foretold[0].Process != g.ledger["soon"].Process {
		t.Errorf("it was told of %+v", g.foretold)
	}
}

// A git that hangs holds its own agent up for as long as a backup may take.
func TestRecoverWithoutABackupThatHangs(t *testing.T) {
	g := newGround(t)
	repo := gittest.New(t)
	g.register(fleet.Registration{Name: "slow", Dir: fleet.Path(repo.Top)})
	g.must(g.spawn(spawn.Options{}, "slow"))
	g.awaitReady("slow")
	g.kill("slow")
	hangs := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(hangs, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	effect := g.must(g.recoverWith("slow", recover.Options{Git: git.New(git.Options{Binary: hangs}), BackupWait: "1s"}))
	if !strings.Contains(effect, "without a backup: git did not end within 1s") {
		t.Errorf("recover: %q", effect)
	}
}

// sessionsOf lists the terminals of an agent, living and dead.
func (g *ground) sessionsOf(name string) (list []string) {
	g.t.Helper()
	panes, err := g.world.Providers[fleet.WhereTmux].Panes(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, p := range panes {
		if strings.Contains(p.Session, name+"~") {
			list = append(list, p.Session)
		}
	}
	return list
}
