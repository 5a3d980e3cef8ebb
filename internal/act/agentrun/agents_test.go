package agentrun_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/act/answer"
	"custos/internal/act/interrupt"
	"custos/internal/act/nudge"
	"custos/internal/act/spawn"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
	"custos/internal/sys/procstat"
	"custos/internal/sys/shim"
)

func itoa(n int) string { return strconv.Itoa(n) }

// An agent is started, told something, killed, recovered with its conversation,
// and stopped: what the ledger learns is enough for each next step.
func TestLifeOfAnAgent(t *testing.T) {
	g := newGround(t)
	r := g.register(fleet.Registration{Name: "worker.1 of 2", Env: []string{"NAMED", "ABSENT"}})
	effect := g.must(g.spawn(spawn.Options{}, r.Name))
	if !strings.Contains(effect, "ABSENT is not set here") {
		t.Errorf("effect %q does not tell of the variable that is not there", effect)
	}
	is := g.ledger[r.Name]
	if is.Instance == "" || is.Process.PID == 0 || is.SessionID == "" || is.StartedAt.IsZero() {
		t.Fatalf("the ledger learned %+v", is)
	}
	env := envOf(t, is.Process.PID)
	if !has(env, "NAMED=yes") || has(env, "SECRET=never") || has(env, "CLAUDECODE=1") || !has(env, "CUSTOS_AGENT="+r.Name+":"+is.Instance) {
		t.Errorf("its environment is %q", env)
	}
	g.awaitReady(r.Name)
	if how := g.must(g.nudge(r.Name, "say hello\nin two lines", nudge.Options{})); how != "delivered (proof: hook)" {
		t.Errorf("nudge: %q", how)
	}
	g.awaitReady(r.Name)
	g.kill(r.Name)
	_, err := g.nudge(r.Name, "too late", nudge.Options{})
	wantRefused(t, err, "ended")

	effect = g.must(g.recover(r.Name))
	now := g.ledger[r.Name]
	if !strings.Contains(effect, "its conversation goes on") || now.Instance == is.Instance || now.SessionID != is.SessionID {
		t.Errorf("recover: %q; %+v", effect, now)
	}
	if !strings.Contains(effect, "the terminal it left is closed") {
		t.Errorf("recover left the old terminal: %q", effect)
	}
	g.awaitReady(r.Name)
	_, err = g.spawn(spawn.Options{}, r.Name)
	wantRefused(t, err, "runs as process")
	_, err = g.recover(r.Name)
	wantRefused(t, err, "runs as process")

	effect = g.must(g.stop(r.Name, "eve", fleet.StateIdle))
	if !strings.Contains(effect, "asked it to exit") || strings.Contains(effect, "SIG") {
		t.Errorf("stop: %q", effect)
	}
	if x := g.ledger[r.Name].Exit; x == nil || x.Asked != "eve" || x.Failed() {
		t.Errorf("the ledger says of its end: %+v", x)
	}
	if _, err := g.stop(r.Name, "eve", fleet.StateStopped); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("stop once more: %v", err)
	}
}

// A prompt rides on the command line, and the hook tells of it.
func TestSpawnGivesThePrompt(t *testing.T) {
	g := newGround(t)
	for _, where := range []fleet.Where{fleet.WhereTmux, fleet.WhereHeadless} {
		name := "with-" + string(where)
		g.register(fleet.Registration{Name: name, Where: where, Prompt: "hello from " + name, PromptState: fleet.DeliveryPending})
		g.must(g.spawn(spawn.Options{}, name))
		if s := g.ledger[name].PromptState; s != fleet.DeliverySent {
			t.Errorf("%s: its prompt is %q", name, s)
		}
		g.await("its prompt", func() bool { return has(g.noted("prompt"), "hello from "+name) })
	}
}

// A worktree is made with a branch of its own; what is there already refuses the
// start, and what fails leaves nothing.
func TestSpawnMakesAWorktree(t *testing.T) {
	g := newGround(t)
	repo := gittest.New(t)
	r := g.register(fleet.Registration{Name: "tree one", Repo: fleet.Path(repo.Top), Branch: "work/one"})
	g.must(g.spawn(spawn.Options{}, r.Name))
	is := g.ledger[r.Name]
	if got := repo.Git(fleet.RawPath(is.Worktree), "symbolic-ref", "--short", "HEAD"); got != "work/one" || is.Dir != is.Worktree {
		t.Errorf("it stands on %q in %q, its folder is %q", got, is.Worktree, is.Dir)
	}
	state := func() string {
		return repo.Git(repo.Top, "for-each-ref") + repo.Git(repo.Top, "worktree", "list") + strings.Join(folder(t, repo.Dir), " ")
	}
	before := state()
	for name, c := range map[string]struct {
		r     fleet.Registration
		words string
	}{
		"branch":  {fleet.Registration{Branch: "work/one", Worktree: filepath.Join(repo.Dir, "other")}, "branch work/one is there already"},
		"folder":  {fleet.Registration{Branch: "new", Worktree: fleet.Path(repo.Top)}, "leave --worktree out"},
		"name":    {fleet.Registration{Branch: "a..b"}, "no name of a branch"},
		"kind":    {fleet.Registration{Branch: "new", Kind: "nobody"}, "no kind"},
		"no repo": {fleet.Registration{Branch: "new", Repo: fleet.Path(t.TempDir())}, "no repository"},
	} {
		c.r.Name = "bad " + name
		if c.r.Repo == "" {
			c.r.Repo = fleet.Path(repo.Top)
		}
		g.register(c.r)
		_, err := g.spawn(spawn.Options{}, c.r.Name)
		wantNever(t, err, c.words)
	}
	bad := g.register(fleet.Registration{Name: "no program", Repo: fleet.Path(repo.Top), Branch: "new", Worktree: filepath.Join(repo.Dir, "deep", "new")})
	bad.Argv = []string{"/nonexistent/claude"}
	g.ledger[bad.Name] = bad
	if _, err := g.spawn(spawn.Options{}, bad.Name); err == nil || errors.Is(err, act.ErrRefused) {
		t.Errorf("a program that is not there: %v", err)
	}
	if after := state(); after != before {
		t.Errorf("what failed left something:\n%s\n---\n%s", before, after)
	}
	if g.ledger[bad.Name].Instance != "" {
		t.Error("the ledger learned of an agent that was not started")
	}
}

func folder(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Done again under the same ID, as after a crash of Custos, a start finds what
// the first began.
func TestSpawnTwiceIsOne(t *testing.T) {
	g := newGround(t)
	repo := gittest.New(t)
	r := g.register(fleet.Registration{Name: "once", Repo: fleet.Path(repo.Top), Branch: "once", Prompt: "only once"})
	x, err := spawn.New(spawn.Options{Launcher: g.launcher})
	if err != nil {
		t.Fatal(err)
	}
	a := fleet.Action{ID: "the same", Target: fleet.Target{Registration: &r}}
	g.must(g.perform(x, a))
	first := g.ledger[r.Name]
	g.ledger[r.Name] = r // the crash came before the ledger knew
	// The note of the first try is gone by then, so it stands for one that was cut
	// off after the start.
	g.note(repo, first.Instance, fleet.RawPath(first.Worktree), "once")
	g.must(g.perform(x, a))
	if again := g.ledger[r.Name]; again.Process != first.Process || again.Instance != first.Instance {
		t.Errorf("started %+v, then %+v", first.Process, again.Process)
	}
	all, _ := shim.List(g.world.Shims)
	if len(all) != 1 {
		t.Errorf("there are %d instances", len(all))
	}
}

// note writes down a start under way, as spawn does.
func (g *ground) note(repo *gittest.Repo, instance, path, branch string) {
	g.t.Helper()
	note := fmt.Sprintf(`{"path":%q,"branch":%q,"start":%q}`,
		base64.StdEncoding.EncodeToString([]byte(path)), branch, repo.Git(repo.Top, "rev-parse", "main"))
	err := os.MkdirAll(g.world.Shims, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(g.world.Shims, "."+instance+".spawn"), []byte(note), 0o600)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// A crash in the middle of the checkout: the agent is not started in half a
// worktree, which is made anew.
func TestSpawnAfterHalfACheckout(t *testing.T) {
	g := newGround(t)
	repo := gittest.New(t)
	r := g.register(fleet.Registration{Name: "half", Repo: fleet.Path(repo.Top), Branch: "half"})
	path := repo.Top + ".worktrees/half"
	repo.Git(repo.Top, "worktree", "add", "-q", "--no-checkout", "-b", "half", path)
	if err := os.WriteFile(filepath.Join(repo.Top, ".git/worktrees/half/locked"), []byte("initializing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := spawn.New(spawn.Options{Launcher: g.launcher})
	if err != nil {
		t.Fatal(err)
	}
	a := fleet.Action{ID: "the same", Target: fleet.Target{Registration: &r}}
	g.note(repo, agentrun.Instance(a.ID), path, "half")
	g.must(g.perform(x, a))
	if said := repo.Git(path, "status", "--porcelain"); said != "" || g.ledger[r.Name].Worktree != fleet.Path(path) {
		t.Errorf("the worktree %q is not whole:\n%s", g.ledger[r.Name].Worktree, said)
	}
}

// The first Enter is lost: Enter is pressed once more, and the text never typed
// again.
func TestNudgeWithALostEnter(t *testing.T) {
	g := newGround(t)
	g.ready("deaf", "--fake", "dropenter")
	how := g.must(g.nudge("deaf", "do it now", nudge.Options{Again: "300ms"}))
	if !strings.Contains(how, "delivered (proof: hook), after Enter was pressed once more") {
		t.Errorf("nudge: %q", how)
	}
	if got := g.noted("prompt"); len(got) != 1 || got[0] != "do it now" {
		t.Errorf("it got %q", got)
	}
}

// What is half-written stays as it is; an agent that works, stands at a dialog, or
// is not to run gets nothing.
func TestNudgeRefuses(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "half", Argv: []string{"--fake", "half a person wrote th"}})
	g.must(g.spawn(spawn.Options{}, "half"))
	g.await("the words of a person", func() bool { return strings.Contains(g.screen("half"), "wrote th") })
	g.register(fleet.Registration{Name: "busy", Argv: []string{"--fake", "work 60s"}})
	g.register(fleet.Registration{Name: "asks", Argv: []string{"--fake", "dialog rm -rf x"}})
	for name, words := range map[string]string{"half": "half-written", "busy": "idle", "asks": "dialog"} {
		if name != "half" {
			g.must(g.spawn(spawn.Options{}, name))
			k, _ := g.world.Kinds.Get("claude")
			shows := map[string]fleet.AgentState{"busy": fleet.StateWorking, "asks": fleet.StateWaiting}[name] // who asks works before
			g.await(name, func() bool {
				signals := agent.ReadScreen(k, g.screen(name), "")
				return len(signals) > 0 && signals[0].Hint == shows
			})
		}
		before := g.screen(name)
		_, err := g.nudge(name, "hello", nudge.Options{})
		wantRefused(t, err, words)
		if name == "half" && g.screen(name) != before {
			t.Errorf("%s: its screen changed to\n%s", name, g.screen(name))
		}
	}
	r := g.ledger["half"]
	r.Desired, r.DesiredBy = fleet.DesiredPaused, "eve"
	g.ledger["half"] = r
	_, err := g.nudge("half", "hello", nudge.Options{})
	wantRefused(t, err, "paused, by eve")
	if got := g.noted("prompt"); has(got, "hello") {
		t.Errorf("somebody got %q", got)
	}
}

// A text that nobody acknowledges is said to be undelivered.
func TestNudgeUndelivered(t *testing.T) {
	g := newGround(t)
	g.ready("mute", "--fake", "nohooks")
	if _, err := g.nudge("mute", "hello", nudge.Options{Acknowledge: "1s"}); err == nil || errors.Is(err, act.ErrRefused) {
		t.Errorf("nudge of an agent whose hooks are off: %v", err)
	}
}

// Answer takes the very dialog that was read, once, and by a person only.
func TestAnswer(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "asks", Argv: []string{"--fake", "dialog touch made"}})
	g.must(g.spawn(spawn.Options{}, "asks"))
	k, _ := g.world.Kinds.Get("claude")
	var d fleet.Dialog
	g.await("the dialog", func() (ok bool) {
		d, ok = agent.ReadDialog(k, g.screen("asks"), "")
		return ok
	})
	x, err := answer.New(answer.Options{World: g.world})
	if err != nil {
		t.Fatal(err)
	}
	seen := g.seen("asks", fleet.StateWaiting)
	seen.Dialog = &d
	a := fleet.Action{Target: fleet.Target{Agent: seen}, Text: "yes", Dialog: d.Hash, By: "eve"}
	for words, change := range map[string]func(*fleet.Action){
		"another one now": func(a *fleet.Action) { a.Dialog = "0123" },
		"it offers":       func(a *fleet.Action) { a.Text = "perhaps" },
		"only a person":   func(a *fleet.Action) { a.By = fleet.ByAgent("other") },
	} {
		bad := a
		change(&bad)
		_, err := g.perform(x, bad)
		wantRefused(t, err, words)
	}
	g.must(g.perform(x, a))
	g.await("the answer", func() bool { return len(g.noted("answer")) > 0 })
	if got := g.noted("answer"); len(got) != 1 || got[0] != "1" {
		t.Errorf("it was answered %q", got)
	}
	_, err = g.perform(x, a)
	wantRefused(t, err, "dialog")
}

// An interrupt ends a turn, and nothing else.
func TestInterrupt(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "busy", Argv: []string{"--fake", "work 300s"}})
	g.must(g.spawn(spawn.Options{}, "busy"))
	k, _ := g.world.Kinds.Get("claude")
	g.await("work", func() bool {
		s := agent.ReadScreen(k, g.screen("busy"), "")
		return len(s) > 0 && s[0].Hint == fleet.StateWorking
	})
	x, err := interrupt.New(interrupt.Options{World: g.world})
	if err != nil {
		t.Fatal(err)
	}
	a := fleet.Action{Target: fleet.Target{Agent: g.seen("busy", fleet.StateWorking)}}
	_, err = g.perform(x, a) // by a rule: it draws its spinner, so it lives
	wantRefused(t, err, "it works")
	a.By = "eve"
	g.must(g.perform(x, a))
	if _, err := g.perform(x, a); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("interrupt once more: %v", err)
	}
}

// Qwen Code tells of a turn that was interrupted only that its prompt is free, and puts the
// prompt back into its input line, which is then not empty.
func TestInterruptIsSeenByAFreePrompt(t *testing.T) {
	g := taught(t, "ends = '(?P<text>never to be seen)'\n")
	g.register(fleet.Registration{Name: "busy", Argv: []string{"--fake", "work 300s"}})
	g.must(g.spawn(spawn.Options{}, "busy"))
	k, _ := g.world.Kinds.Get("claude")
	g.await("work", func() bool {
		s := agent.ReadScreen(k, g.screen("busy"), "")
		return len(s) > 0 && s[0].Hint == fleet.StateWorking
	})
	for _, c := range []struct {
		told fleet.HookName
		over bool
	}{{fleet.HookNotice, false}, {fleet.HookRest, true}} {
		w := g.world
		w.Hooks = func(context.Context, string, fleet.Instant) ([]fleet.HookEvent, error) {
			return []fleet.HookEvent{{Event: c.told, At: w.Now()}}, nil
		}
		x, err := interrupt.New(interrupt.Options{World: w, Wait: "300ms"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.perform(x, fleet.Action{Target: fleet.Target{Agent: g.seen("busy", fleet.StateWorking)}, By: "eve"})
		if (err == nil) != c.over {
			t.Errorf("it tells %s: %v", c.told, err)
		}
	}
}

// Stop finds and ends everything: what refuses TERM, what is in a session of its
// own, and what was left by an agent that had ended before.
func TestStopEndsEverything(t *testing.T) {
	g := newGround(t)
	g.ready("tough", "--fake", "ignore TERM; setsid 300s; fork2 300s; child 300s")
	g.await("its children", func() bool { return len(g.noted("child")) == 3 })
	effect := g.must(g.stop("tough", "eve", fleet.StateIdle))
	for _, text := range g.noted("child") {
		pid, _ := strconv.Atoi(text)
		if alive(pid) {
			t.Errorf("child %d lives; stop: %q", pid, effect)
		}
	}

	if by := g.askedBy("tough"); by != "eve" {
		t.Errorf("who sees it end reads that %q asked for it", by)
	}

	g.ready("hung", "--fake", "ignore TERM; setsid 300s; hang")
	effect = g.must(g.stop("hung", "eve", fleet.StateStuck))
	if !strings.Contains(effect, "SIGKILL") {
		t.Errorf("stop of one that hangs and refuses TERM: %q", effect)
	}

	g.ready("gone", "--fake", "setsid 300s")
	g.await("its child", func() bool { return len(g.noted("child")) == 5 })
	g.kill("gone")
	_, err := g.stop("gone", "", fleet.StateCrashed)
	wantRefused(t, err, "live on")
	g.must(g.stop("gone", "eve", fleet.StateCrashed))
	pid, _ := strconv.Atoi(g.noted("child")[4])
	if alive(pid) {
		t.Errorf("child %d of an agent that had ended lives", pid)
	}
}

func alive(pid int) bool {
	_, ok := procstat.Living(pid)
	return ok
}

// A rule does not stop an agent that lives, and nobody stops a foreign one.
func TestStopLeavesAlone(t *testing.T) {
	g := newGround(t)
	g.register(fleet.Registration{Name: "busy", Argv: []string{"--fake", "busy"}})
	g.must(g.spawn(spawn.Options{}, "busy"))
	g.await("it to be busy", func() bool { return g.screen("busy") != "" })
	_, err := g.stop("busy", "", fleet.StateStuck)
	wantRefused(t, err, "it works")
	r := g.ledger["busy"]
	r.Owner = fleet.OwnerForeign
	g.ledger["busy"] = r
	_, err = g.stop("busy", "eve", fleet.StateStuck)
	wantRefused(t, err, "not ours")
	if err := syscall.Kill(r.Process.PID, 0); err != nil {
		t.Errorf("it was ended: %v", err)
	}
}

// After kill -9 in mid-edit nothing is lost: the work is in place and in the
// checkpoint's ref.
func TestRecoverKeepsTheWork(t *testing.T) {
	g := newGround(t)
	repo := gittest.New(t)
	r := g.register(fleet.Registration{Name: "editor", Repo: fleet.Path(repo.Top), Branch: "edit"})
	g.must(g.spawn(spawn.Options{}, r.Name))
	g.awaitReady(r.Name)
	top := fleet.RawPath(g.ledger[r.Name].Worktree)
	repo.Write(filepath.Join(top, "a.txt"), "half an edit")
	repo.Write(filepath.Join(top, "new.txt"), "untracked")
	repo.Git(top, "add", "a.txt")
	index := repo.Git(top, "ls-files", "--stage")

	g.must(g.checkpoint(r.Name))
	first := g.ledger[r.Name].Checkpoint
	if first == nil || first.Ref == "" || repo.Git(top, "show", first.Ref+":new.txt") != "untracked" {
		t.Fatalf("checkpoint: %+v", first)
	}
	effect := g.must(g.checkpoint(r.Name))
	if again := g.ledger[r.Name].Checkpoint; again.Ref != first.Ref || !strings.Contains(effect, "nothing changed") {
		t.Errorf("a second checkpoint made %s after %s: %q", again.Ref, first.Ref, effect)
	}
	repo.Write(filepath.Join(top, "a.txt"), "a whole edit")
	g.kill(r.Name)
	g.must(g.recover(r.Name))
	c := g.ledger[r.Name].Checkpoint
	if c.Ref == first.Ref || repo.Git(top, "show", c.Ref+":a.txt") != "a whole edit" {
		t.Errorf("the ref of the recovery %s does not hold the edit", c.Ref)
	}
	if b, _ := os.ReadFile(filepath.Join(top, "a.txt")); string(b) != "a whole edit" || repo.Git(top, "ls-files", "--stage") != index {
		t.Errorf("the work in place is %q", b)
	}
	if refs := repo.Git(repo.Top, "for-each-ref", "refs/custos"); strings.Count(refs, "\n") != 1 {
		t.Errorf("want two refs, have\n%s", refs)
	}
}

// A worktree that holds nothing of its own makes no ref at all.
func TestCheckpointOfNothing(t *testing.T) {
	g := newGround(t)
	repo := gittest.New(t)
	r := g.register(fleet.Registration{Name: "tidy", Repo: fleet.Path(repo.Top), Branch: "tidy"})
	g.must(g.spawn(spawn.Options{}, r.Name))
	g.must(g.checkpoint(r.Name))
	c := g.ledger[r.Name].Checkpoint
	if c == nil || c.Ref != "" || c.Head != repo.Git(repo.Top, "rev-parse", "main") {
		t.Errorf("checkpoint: %+v", c)
	}
	if refs := repo.Git(repo.Top, "for-each-ref", "refs/custos"); refs != "" {
		t.Errorf("it made %s", refs)
	}
}

// A conversation that cannot be resumed begins afresh, with words that say what
// was done.
func TestRecoverAfresh(t *testing.T) {
	g := newGround(t)
	g.ready("lost")
	r := g.ledger["lost"]
	r.Argv, r.Task = append(r.Argv, "--fake", "exit 3"), "issue 7"
	g.ledger["lost"] = r
	g.kill("lost")
	if _, err := g.recover("lost"); err == nil || !strings.Contains(err.Error(), "status 3") {
		t.Errorf("recover of one that ends at once: %v", err)
	}
	r = g.ledger["lost"]
	r.Argv, r.SessionID = r.Argv[:1], ""
	g.ledger["lost"] = r
	g.must(g.recover("lost"))
	g.await("the words", func() bool {
		got := strings.Join(g.noted("prompt"), "\n")
		return strings.Contains(got, "started you again") && strings.Contains(got, "issue 7")
	})
}
