package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

// fake is an action whose every step a test can set. It logs what is asked of it.
type fake struct {
	able                       fleet.Ability
	prepare, do                func(context.Context, fleet.Action) error
	verify                     func(context.Context, fleet.Action) (string, error)
	mu                         sync.Mutex
	log                        []string
	running, most, closed, ran int
}

func (f *fake) Ability() fleet.Ability { return f.able }
func (f *fake) Commands(a fleet.Action) []fleet.Command {
	return []fleet.Command{{Argv: []string{"touch", a.Subject.Name, "a b", "--token", "s3cret"}}}
}
func (f *fake) Prepare(ctx context.Context, a fleet.Action) (Run, error) {
	f.note("prepare " + a.ID)
	if f.prepare != nil {
		if err := f.prepare(ctx, a); err != nil {
			return nil, err
		}
	}
	return &fakeRun{f, a}, nil
}
func (f *fake) note(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, s)
}
func (f *fake) did(s string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.log, s)
}

type fakeRun struct {
	f *fake
	a fleet.Action
}

func (r *fakeRun) Do(ctx context.Context) error {
	r.f.note("do " + r.a.ID)
	r.f.mu.Lock()
	r.f.running++
	r.f.ran++
	r.f.most = max(r.f.most, r.f.running)
	r.f.mu.Unlock()
	defer func() { r.f.mu.Lock(); r.f.running--; r.f.mu.Unlock() }()
	if r.f.do != nil {
		return r.f.do(ctx, r.a)
	}
	return nil
}
func (r *fakeRun) Verify(ctx context.Context) (string, error) {
	r.f.note("verify " + r.a.ID)
	if r.f.verify != nil {
		return r.f.verify(ctx, r.a)
	}
	return "it is so", nil
}
func (r *fakeRun) Close() {
	r.f.note("close " + r.a.ID)
	r.f.mu.Lock()
	r.f.closed++
	r.f.mu.Unlock()
}

// memory is a ledger in memory, with faults.
type memory struct {
	mu                    sync.Mutex
	log                   []string
	results               map[string]fleet.Result
	commit, start, finish func(n int) error // n counts calls from 1
	commits, starts, ends int
}

type settledError string

func (e settledError) Error() string { return string(e) }
func (e settledError) Settled() bool { return true }

func (m *memory) call(n *int, fault func(int) error, what string) error {
	*n++
	if fault != nil {
		if err := fault(*n); err != nil {
			return err
		}
	}
	m.log = append(m.log, what)
	return nil
}
func (m *memory) Commit(_ context.Context, t fleet.Turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.call(&m.commits, m.commit, "commit")
}
func (m *memory) Start(_ context.Context, id string, _ fleet.Instant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.call(&m.starts, m.start, "start "+id)
}
func (m *memory) Finish(_ context.Context, r fleet.Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(&m.ends, m.finish, "finish "+r.ActionID); err != nil {
		return err
	}
	if m.results == nil {
		m.results = map[string]fleet.Result{}
	}
	m.results[r.ActionID] = r
	return nil
}
func (m *memory) did(s string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.log, s)
}
func (m *memory) result(id string) fleet.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.results[id]
}

func now() fleet.Instant { return fleet.Instant{Wall: time.Now().UTC(), Boot: "b"} }

func able(idempotent bool) fleet.Ability {
	return fleet.Ability{Do: "fix", Idempotent: idempotent, Deadline: fleet.Duration(5 * time.Second)}
}

func deed(id, subject string) fleet.Action {
	return fleet.Action{ID: id, Do: "fix", Subject: fleet.Subject{Kind: fleet.KindLog, Name: subject}}
}

func turn(list ...fleet.Action) fleet.Turn { return fleet.Turn{Plan: fleet.Plan{Actions: list}} }

// carry runs one action to its end and returns what was written down of it.
func carry(t *testing.T, f *fake, m *memory, o Options) fleet.Result {
	t.Helper()
	return carryThis(t, deed("a1", "x"), f, m, o)
}

func carryThis(t *testing.T, one fleet.Action, f *fake, m *memory, o Options) fleet.Result {
	t.Helper()
	o.Actions, o.Ledger, o.Now = []Action{f}, m, now
	a := New(o)
	if err := a.Start(t.Context(), turn(one)); err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Close()
	return m.result(one.ID)
}

func TestOrderOfTheJournal(t *testing.T) {
	var told []fleet.Result
	f, m := &fake{able: able(true)}, &memory{}
	f.do = func(context.Context, fleet.Action) error {
		if !m.did("commit") || !m.did("start a1") {
			return errors.New("the world is changed before it is written down")
		}
		return nil
	}
	r := carry(t, f, m, Options{Done: func(r fleet.Result) {
		if !m.did("finish a1") {
			t.Error("told before it is written down")
		}
		told = append(told, r)
	}})
	if r.Status != fleet.ResultDone || r.Effect != "it is so" || r.Began.IsZero() || r.Ended.IsZero() || r.Why != "" {
		t.Errorf("result %+v", r)
	}
	if want := []string{`touch x "a b" --token "***"`}; !slices.Equal(r.Ran, want) {
		t.Errorf("Ran = %q, want %q", r.Ran, want)
	}
	if want := []string{"prepare a1", "do a1", "verify a1", "close a1"}; !slices.Equal(f.log, want) {
		t.Errorf("asked %v, want %v", f.log, want)
	}
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
}

func TestEveryEnd(t *testing.T) {
	boom := func(context.Context, fleet.Action) error { panic("boom") }
	fails := func(err error) func(context.Context, fleet.Action) error {
		return func(context.Context, fleet.Action) error { return err }
	}
	for name, c := range map[string]*struct {
		f       fake
		m       memory
		frozen  string
		status  fleet.ResultStatus
		why     string
		done    bool // Do was called
		lasting bool
	}{
		"unneeded":               {f: fake{able: able(true), prepare: fails(fmt.Errorf("%w: gone", ErrUnneeded))}, status: fleet.ResultUnneeded, why: "gone"},
		"unneeded, said last":    {f: fake{able: able(true), prepare: fails(fmt.Errorf("process 74 runs on: sudo kill 74: %w", ErrUnneeded))}, status: fleet.ResultUnneeded, why: "process 74 runs on: sudo kill 74"},
		"refused":                {f: fake{able: able(true), prepare: fails(fmt.Errorf("another inode: %w", ErrRefused))}, status: fleet.ResultRefused, why: "another inode"},
		"refused for good":       {f: fake{able: able(true), prepare: fails(fmt.Errorf("no folder: %w", ErrLasting))}, status: fleet.ResultRefused, why: "no folder", lasting: true},
		"cannot look":            {f: fake{able: able(true), prepare: fails(errors.New("EIO"))}, status: fleet.ResultFailed, why: "nothing was done: EIO"},
		"prepare panics":         {f: fake{able: able(true), prepare: boom}, status: fleet.ResultFailed, why: "boom"},
		"frozen":                 {f: fake{able: able(true)}, frozen: "by ann", status: fleet.ResultRefused, why: "frozen: by ann"},
		"cannot":                 {f: fake{able: fleet.Ability{Do: "fix", Cannot: "no privilege"}}, status: fleet.ResultRefused, why: "no privilege"},
		"start is not written":   {f: fake{able: able(true)}, m: memory{start: func(int) error { return errors.New("disk full") }}, status: fleet.ResultFailed, why: "nothing was done: disk full"},
		"do fails":               {f: fake{able: able(false), do: fails(errors.New("EPERM"))}, status: fleet.ResultFailed, why: "EPERM", done: true},
		"do panics":              {f: fake{able: able(true), do: boom}, status: fleet.ResultFailed, why: "boom", done: true},
		"do cannot be told":      {f: fake{able: able(true), do: func(context.Context, fleet.Action) error { return fmt.Errorf("no answer: %w", ErrInDoubt) }}, status: fleet.ResultInDoubt, why: "no answer", done: true},
		"do panics, not twice":   {f: fake{able: able(false), do: boom}, status: fleet.ResultInDoubt, why: "boom", done: true},
		"not verified":           {f: fake{able: able(true), verify: func(context.Context, fleet.Action) (string, error) { return "", errors.New("still 9 GB") }}, status: fleet.ResultUnverified, why: "still 9 GB", done: true},
		"verify panics":          {f: fake{able: able(true), verify: func(context.Context, fleet.Action) (string, error) { panic("boom") }}, status: fleet.ResultUnverified, why: "boom", done: true},
		"a secret in the reason": {f: fake{able: able(true), do: fails(errors.New("token=abcdef\x1b[31m"))}, status: fleet.ResultFailed, why: "token=***", done: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := carry(t, &c.f, &c.m, Options{Frozen: func() string { return c.frozen }})
				if r.Status != c.status || !strings.Contains(r.Why, c.why) || r.Lasting != c.lasting || strings.HasSuffix(r.Why, ": refused") || strings.Contains(r.Why, "unneeded") {
					t.Errorf("%s %q (for good: %v), want %s %q", r.Status, r.Why, r.Lasting, c.status, c.why)
				}
				if c.f.did("do a1") != c.done {
					t.Errorf("Do called: %v, want %v", !c.done, c.done)
				}
				if c.done && c.f.closed != 1 {
					t.Errorf("closed %d times", c.f.closed)
				}
			})
		})
	}
}

func TestFreezeBetweenPrepareAndDo(t *testing.T) {
	frozen := ""
	f := &fake{able: able(true)}
	f.prepare = func(context.Context, fleet.Action) error { frozen = "just now"; return nil }
	r := carry(t, f, &memory{}, Options{Frozen: func() string { return frozen }})
	if r.Status != fleet.ResultRefused || f.ran != 0 || f.closed != 1 {
		t.Errorf("%s %q, ran %d, closed %d", r.Status, r.Why, f.ran, f.closed)
	}
}

func TestFailedCommitDoesNothing(t *testing.T) {
	f := &fake{able: able(true)}
	a := New(Options{Actions: []Action{f}, Ledger: &memory{commit: func(int) error { return errors.New("full") }}, Now: now})
	if err := a.Start(t.Context(), turn(deed("a1", "x"))); err == nil {
		t.Error("no error")
	}
	a.Close()
	if len(f.log) != 0 {
		t.Errorf("asked %v", f.log)
	}
	if err := a.Start(t.Context(), turn()); !errors.Is(err, errClosed) {
		t.Errorf("Start after Close: %v", err)
	}
}

// One that another has begun gets no result of ours.
func TestStartedElsewhere(t *testing.T) {
	f := &fake{able: able(true)}
	m := &memory{start: func(int) error { return settledError("begun") }}
	if r := carry(t, f, m, Options{}); r.Status != "" || f.ran != 0 || m.ends != 0 {
		t.Errorf("%+v, ran %d, finished %d", r, f.ran, m.ends)
	}
}

func TestFinishIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{able: able(true)}
		m := &memory{finish: func(n int) error {
			if n < 8 {
				return errors.New("disk full")
			}
			return nil
		}}
		began := time.Now()
		if r := carry(t, f, m, Options{}); r.Status != fleet.ResultDone || f.ran != 1 || m.ends != 8 {
			t.Errorf("%s, ran %d, tried %d", r.Status, f.ran, m.ends)
		}
		if took := time.Since(began); took < 5*time.Second || took > time.Minute {
			t.Errorf("seven retries took %s: not a backoff", took)
		}
	})
}

// While a result cannot be written the subject stays taken; closing ends the tries.
func TestUnwrittenResultKeepsTheSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{able: able(true)}
		m := &memory{finish: func(int) error { return errors.New("disk full") }}
		told := 0
		a := New(Options{Actions: []Action{f}, Ledger: m, Now: now, Done: func(fleet.Result) { told++ }})
		var list []fleet.Action
		for i := range 20 {
			list = append(list, deed(fmt.Sprint("a", i+1), "x"))
		}
		if err := a.Start(t.Context(), turn(list...)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // of the bubble's time
		if f.did("prepare a2") {
			t.Error("the second action began while the first has no result")
		}
		began := time.Now()
		a.Close()
		if took := time.Since(began); took > 3*lastWords {
			t.Errorf("Close took %s", took)
		}
		if told != 0 || f.did("do a2") {
			t.Errorf("told %d, second done %v", told, f.did("do a2"))
		}
	})
}

func TestDeadline(t *testing.T) {
	heeds := func(ctx context.Context, _ fleet.Action) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]*struct {
		f      fake
		status fleet.ResultStatus
	}{
		"prepare": {fake{able: able(true), prepare: heeds}, fleet.ResultFailed},
		"do":      {fake{able: able(true), do: heeds}, fleet.ResultFailed},
		"verify": {fake{able: able(true), verify: func(ctx context.Context, a fleet.Action) (string, error) {
			return "", heeds(ctx, a)
		}}, fleet.ResultUnverified},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := carry(t, &c.f, &memory{}, Options{})
				if took := time.Since(began); r.Status != c.status || took != 5*time.Second {
					t.Errorf("%s after %s", r.Status, took)
				}
			})
		})
	}
}

// One that heeds no deadline is in doubt, and its subject stays taken until it
// ends at last; other subjects and Wait do not suffer.
func TestHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f, m := &fake{able: able(true)}, &memory{}
		f.do = func(_ context.Context, a fleet.Action) error {
			if a.ID == "a1" {
				<-release
			}
			return nil
		}
		a := New(Options{Actions: []Action{f}, Ledger: m, Now: now, Workers: 1})
		if err := a.Start(t.Context(), turn(deed("a1", "x"), deed("a2", "x"), deed("a3", "y"))); err != nil {
			t.Fatal(err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := m.result("a1").Status; s != fleet.ResultInDoubt {
			t.Errorf("the hung one is %s", s)
		}
		if f.did("prepare a2") || !f.did("do a3") || f.did("close a1") {
			t.Errorf("while one hangs: %v", f.log)
		}
		close(release)
		synctest.Wait()
		if !f.did("close a1") || m.result("a2").Status != fleet.ResultDone {
			t.Errorf("after it ended: %v", f.log)
		}
		a.Close()
	})
}

func TestHungPrepareIsClosedAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f, m := &fake{able: able(true)}, &memory{}
		f.prepare = func(context.Context, fleet.Action) error { <-release; return nil }
		if r := carry(t, f, m, Options{}); r.Status != fleet.ResultFailed || m.did("start a1") {
			t.Errorf("%s, started %v", r.Status, m.did("start a1"))
		}
		close(release)
		synctest.Wait()
		if f.closed != 1 || f.ran != 0 {
			t.Errorf("closed %d, ran %d", f.closed, f.ran)
		}
	})
}

func TestSerialPerSubjectAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := &fake{able: able(true)}, &memory{}
		f.do = func(context.Context, fleet.Action) error { time.Sleep(time.Second); return nil }
		a := New(Options{Actions: []Action{f}, Ledger: m, Now: now, Workers: 3})
		var list []fleet.Action
		for i := range 12 {
			list = append(list, deed(fmt.Sprintf("s%02d", i), "same"), deed(fmt.Sprintf("o%02d", i), fmt.Sprint("other", i)))
		}
		if err := a.Start(t.Context(), turn(list...)); err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context(), turn(list...)); err != nil { // the same IDs: no-op
			t.Fatal(err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, l := range f.log {
			if strings.HasPrefix(l, "do s") {
				order = append(order, l)
			}
		}
		if !slices.IsSorted(order) || len(order) != 12 {
			t.Errorf("one subject's actions in the order %v", order)
		}
		if f.most > 3 || f.most < 2 || f.ran != 24 {
			t.Errorf("%d at once, %d in all", f.most, f.ran)
		}
		a.Close()
	})
}

func TestClaims(t *testing.T) {
	wt := func(p, repo string) fleet.Action {
		return fleet.Action{Subject: fleet.Subject{Kind: fleet.KindWorktree, Name: p}, Target: fleet.Target{Worktree: &fleet.Worktree{Path: p, Repo: repo}}}
	}
	agent := func(name, cwd string, pid int) fleet.Action {
		return fleet.Action{Subject: fleet.Subject{Kind: fleet.KindAgent, Name: name},
			Target: fleet.Target{Agent: &fleet.Agent{CWD: fleet.Known(cwd), Process: fleet.ProcessID{PID: pid, Start: 9}}}}
	}
	lock := fleet.Action{Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/r/w/x.lock"}, Target: fleet.Target{Lock: &fleet.Lock{Path: "/r/w/x.lock"}}}
	for name, c := range map[string]*struct {
		a, b  fleet.Action
		clash bool
	}{
		"two worktrees of one repo":       {wt("/w/1", "/r"), wt("/w/2", "/r"), true},
		"worktrees of two repos":          {wt("/w/1", "/r"), wt("/w/2", "/q"), false},
		"a name that is only a prefix":    {wt("/w/1", "/r"), wt("/w/11", "/q"), false},
		"a lock inside of a worktree":     {wt("/r/w", "/q"), lock, true},
		"an agent in a worktree":          {wt("/w/1", "/r"), agent("a", "/w/1/src", 7), true},
		"two agents in one folder":        {agent("a", "/w", 7), agent("b", "/w", 8), false},
		"one process under two names":     {agent("a", "/w", 7), agent("b", "/v", 7), true},
		"one subject, whatever the paths": {agent("a", "/w", 7), agent("a", "/v", 8), true},
	} {
		if got := clash(claims(c.a), claims(c.b)); got != c.clash {
			t.Errorf("%s: clash %v", name, got)
		}
		if got := clash(claims(c.b), claims(c.a)); got != c.clash {
			t.Errorf("%s, the other way: clash %v", name, got)
		}
	}
}

func TestRecover(t *testing.T) {
	rec := func(stage fleet.ActionStage) fleet.ActionRecord {
		return fleet.ActionRecord{Action: deed("a1", "x"), Stage: stage}
	}
	gone := func(context.Context, fleet.Action) error { return fmt.Errorf("%w: gone", ErrUnneeded) }
	other := func(context.Context, fleet.Action) error { return ErrRefused }
	for name, c := range map[string]*struct {
		f      fake
		rec    fleet.ActionRecord
		frozen string
		status fleet.ResultStatus
		why    string
		done   bool
	}{
		"planned":                {f: fake{able: able(true)}, rec: rec(fleet.StagePlanned), status: fleet.ResultRefused, why: "stopped before it began"},
		"started, done already":  {f: fake{able: able(true), prepare: gone}, rec: rec(fleet.StageStarted), status: fleet.ResultDone},
		"started, still needed":  {f: fake{able: able(true)}, rec: rec(fleet.StageStarted), status: fleet.ResultDone, done: true},
		"started, changed since": {f: fake{able: able(true), prepare: other}, rec: rec(fleet.StageStarted), status: fleet.ResultInDoubt, why: "refused"},
		"started, not twice":     {f: fake{able: able(false)}, rec: rec(fleet.StageStarted), status: fleet.ResultInDoubt, why: "not be done twice"},
		"started, frozen":        {f: fake{able: able(true)}, rec: rec(fleet.StageStarted), frozen: "by ann", status: fleet.ResultInDoubt, why: "by ann"},
		"started, done, frozen":  {f: fake{able: able(true), prepare: gone}, rec: rec(fleet.StageStarted), frozen: "by ann", status: fleet.ResultDone},
		"started, unknown":       {f: fake{able: fleet.Ability{Do: "other"}}, rec: rec(fleet.StageStarted), status: fleet.ResultInDoubt, why: "no action of this name"},
		"ended":                  {f: fake{able: able(true)}, rec: rec(fleet.StageEnded)},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			a := New(Options{Actions: []Action{&c.f}, Ledger: m, Now: now, Frozen: func() string { return c.frozen }})
			a.Recover(t.Context(), []fleet.ActionRecord{c.rec})
			if err := a.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := m.result("a1")
			if r.Status != c.status || !strings.Contains(r.Why, c.why) || c.f.did("do a1") != c.done {
				t.Errorf("%s %q, done %v", r.Status, r.Why, c.f.did("do a1"))
			}
			if m.starts != 0 {
				t.Error("a recovered action was begun twice in the journal")
			}
		})
	}
}

// withdrawing is a fake that is not done for as long as it is refused.
type withdrawing struct {
	*fake
	err error
}

func (w withdrawing) Withdraw(_ context.Context, a fleet.Action) error {
	w.note("withdraw " + a.ID)
	return w.err
}

// What is known not to have been done, though an earlier Custos had begun it, is
// refused with its cause, and nothing is left of that beginning.
func TestRecoverWithdraws(t *testing.T) {
	atWork := func(context.Context, fleet.Action) error { return fmt.Errorf("it works: %w", ErrRefused) }
	gone := func(context.Context, fleet.Action) error { return fmt.Errorf("%w: gone", ErrUnneeded) }
	blind := func(context.Context, fleet.Action) error { return errors.New("EIO") }
	for name, c := range map[string]struct {
		prepare   func(context.Context, fleet.Action) error
		frozen    string
		err       error
		status    fleet.ResultStatus
		why       string
		withdrawn bool
	}{
		"refused now":               {prepare: atWork, status: fleet.ResultRefused, why: "it works", withdrawn: true},
		"frozen now":                {frozen: "by ann", status: fleet.ResultRefused, why: "frozen: by ann", withdrawn: true},
		"nothing can be taken back": {prepare: atWork, err: errors.New("EROFS"), status: fleet.ResultRefused, why: "it works", withdrawn: true},
		"done":                      {prepare: gone, status: fleet.ResultDone},
		"cannot look":               {prepare: blind, status: fleet.ResultInDoubt, why: "EIO"},
		"still needed":              {status: fleet.ResultDone},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := &fake{able: able(true), prepare: c.prepare}, &memory{}
			a := New(Options{Actions: []Action{withdrawing{f, c.err}}, Ledger: m, Now: now, Frozen: func() string { return c.frozen }})
			a.Recover(t.Context(), []fleet.ActionRecord{{Action: deed("a1", "x"), Stage: fleet.StageStarted}})
			if err := a.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := m.result("a1"); r.Status != c.status || !strings.Contains(r.Why, c.why) || strings.Contains(r.Why, "custos stopped") != (c.status == fleet.ResultInDoubt) {
				t.Errorf("%s %q, want %s %q", r.Status, r.Why, c.status, c.why)
			}
			if got := f.did("withdraw a1"); got != c.withdrawn {
				t.Errorf("withdrawn: %v, want %v", got, c.withdrawn)
			}
		})
	}
}

func TestCloseRefusesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := &fake{able: able(true)}, &memory{}
		f.do = func(context.Context, fleet.Action) error { time.Sleep(3 * time.Second); return nil }
		a := New(Options{Actions: []Action{f}, Ledger: m, Now: now})
		if err := a.Start(t.Context(), turn(deed("a1", "x"), deed("a2", "x"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		a.Close()
		a.Close()
		if s := m.result("a1").Status; s != fleet.ResultDone {
			t.Errorf("the running one is %q", s)
		}
		if s := m.result("a2").Status; s != fleet.ResultRefused || f.did("do a2") {
			t.Errorf("the waiting one is %q", s)
		}
	})
}

func TestAbilitiesAndCommands(t *testing.T) {
	f := &fake{able: able(true)}
	a := New(Options{Actions: []Action{f, &fake{able: fleet.Ability{Do: "fix", Cannot: "second"}}}, Ledger: &memory{}, Now: now})
	if got := a.Abilities(); len(got) != 1 || got["fix"].Cannot != "" || !got["fix"].Idempotent {
		t.Errorf("Abilities = %v", got)
	}
	if got := a.Commands(deed("a", "x")); len(got) != 1 || got[0].Argv[0] != "touch" {
		t.Errorf("Commands = %v", got)
	}
	if got := a.Commands(fleet.Action{Do: "nothing"}); got != nil {
		t.Errorf("Commands of an unknown action = %v", got)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{able: able(true), do: func(context.Context, fleet.Action) error { time.Sleep(3 * time.Second); return nil }}
		a := New(Options{Actions: []Action{f}, Ledger: &memory{}, Now: now})
		if err := a.Start(t.Context(), turn(deed("a1", "x"))); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v", err)
		}
		a.Close()
	})
}
