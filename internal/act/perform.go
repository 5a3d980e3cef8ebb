package act

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// task is an action to carry out, or to settle after a crash.
type task struct {
	fleet.Action
	after aftermath
}

// aftermath says how far an earlier Custos got with it.
type aftermath int

const (
	afterNothing aftermath = iota // it is new
	afterPlanned                  // it was written down, and not begun
	afterStarted                  // it was begun
)

// carryOut performs one task, writes its result down and tells of it.
func (a *Actor) carryOut(t task) (hung <-chan struct{}) {
	r := a.result(t.Action)
	p := performance{Actor: a, task: t, result: &r}
	p.do()
	if p.settled {
		return p.hung
	}
	if a.finish(r) {
		if err := safely(func() error { a.opts.Done(r); return nil }); err != nil {
			a.opts.Log.Error("cannot tell of a result", "action", r.ActionID, "err", err)
		}
	}
	return p.hung
}

func (a *Actor) result(action fleet.Action) fleet.Result {
	return fleet.Result{ActionID: action.ID, Do: action.Do, Subject: action.Subject, For: action.For, Began: a.opts.Now()}
}

// performance is one task on its way to a result.
type performance struct {
	*Actor
	task
	action  Action
	able    fleet.Ability
	result  *fleet.Result
	settled bool            // another has begun or ended it: there is no result to write
	hung    <-chan struct{} // closed when what was left behind has ended
}

// end sets what became of it; the first end stays.
func (p *performance) end(status fleet.ResultStatus, why string) {
	if p.result.Status == "" {
		p.result.Status, p.result.Why = status, why
		p.result.Ended = p.opts.Now()
	}
}

func (p *performance) do() {
	if !p.begin() {
		return
	}
	run, err := p.prepare()
	if err != nil {
		p.endUnprepared(err)
		return
	}
	defer func() { p.release(run) }()
	if p.mayGoOn() && p.started() {
		p.change(run)
		p.learn(run)
	}
}

// learn takes what a run learned. One that hangs is not asked: it may be learning
// still.
func (p *performance) learn(run Run) {
	if p.hung != nil {
		return
	}
	ask := func() error {
		if l, ok := run.(learner); ok {
			p.result.Registration = l.Learned()
		}
		if a, ok := run.(arriver); ok {
			p.result.Arrival = a.Arrived()
		}
		if j, ok := run.(judged); ok {
			p.result.Verdict = j.Judged()
		}
		if m, ok := run.(merger); ok {
			p.result.Merge = m.Merged()
		}
		return nil
	}
	if err := safely(ask); err != nil {
		p.opts.Log.Error("cannot take what an action learned", "action", p.ID, "err", err)
	}
}

// begin settles what needs no look at the world.
func (p *performance) begin() bool {
	known := false
	if p.action, known = p.actions[p.Do]; known {
		p.able = ability(p.action)
	}
	switch {
	case p.after == afterPlanned:
		p.result.Unbegun = true
		p.end(fleet.ResultRefused, "custos stopped before it began")
	case p.after == afterStarted && !known:
		p.end(fleet.ResultInDoubt, "custos stopped while it was being done, and no action of this name is known now")
	case p.after == afterStarted && !p.able.Idempotent:
		p.end(fleet.ResultInDoubt, "custos stopped while it was being done, and it must not be done twice")
	case p.after == afterStarted:
		return true // Prepare tells whether it was done, frozen or not
	case !known:
		p.end(fleet.ResultFailed, "no action of this name is known")
	case p.able.Cannot != "":
		p.end(fleet.ResultRefused, p.able.Cannot)
	default:
		return p.mayGoOn()
	}
	return false
}

// mayGoOn asks the freeze, which holds at every instant before the world changes.
func (p *performance) mayGoOn() bool {
	if p.able.Harmless {
		return true // a message: the plan lets it pass a freeze too
	}
	why := ""
	if err := safely(func() error { why = p.opts.Frozen(); return nil }); err != nil {
		why = "cannot tell whether it is: " + reason(err)
	}
	if why != "" {
		why = "frozen: " + why
	} else if why = p.lapsed(true); why == "" {
		return true
	}
	switch {
	case p.after == afterStarted && !p.withdraw():
		p.end(fleet.ResultInDoubt, "custos stopped while it was being done, and it may not be done now: "+why)
	default:
		p.result.Unbegun = true
		p.end(fleet.ResultRefused, why)
	}
	return false
}

func (p *performance) prepare() (Run, error) {
	var run Run
	hung, err := p.bounded(func(ctx context.Context) (err error) {
		run, err = p.action.Prepare(ctx, p.Action)
		return err
	})
	if hung != nil {
		p.hung = whenClosed(hung, func() { p.close(run) })
		return nil, err
	}
	if err == nil && run == nil {
		err = errors.New("it prepared nothing")
	}
	return run, err
}

// endUnprepared: nothing was changed by us now, so the only question is why.
func (p *performance) endUnprepared(err error) {
	switch again := p.after == afterStarted; {
	case again && errors.Is(err, ErrUnneeded):
		p.result.Effect = "found done after a crash"
		p.end(fleet.ResultDone, "")
	case again && !(errors.Is(err, ErrRefused) && p.withdraw()):
		p.end(fleet.ResultInDoubt, "custos stopped while it was being done, and it cannot be told what became of it: "+reason(err))
	case errors.Is(err, ErrUnneeded):
		p.end(fleet.ResultUnneeded, strings.TrimPrefix(strings.TrimSuffix(reason(err), ": "+ErrUnneeded.Error()), ErrUnneeded.Error()+": "))
	case errors.Is(err, ErrRefused):
		p.result.Lasting = errors.Is(err, ErrLasting)
		p.end(fleet.ResultRefused, strings.TrimSuffix(reason(err), ": "+ErrRefused.Error()))
	default:
		p.end(fleet.ResultFailed, "nothing was done: "+reason(err))
	}
}

// withdraw says whether an action that an earlier Custos had begun is known not to be
// done, though it is refused now, and takes back what was written down of it.
func (p *performance) withdraw() bool {
	w, can := p.action.(Withdrawer)
	if !can {
		return false
	}
	err := safely(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return w.Withdraw(ctx, p.Action)
	})
	if err != nil {
		p.opts.Log.Error("cannot take back what was written down of an action", "action", p.ID, "err", err)
	}
	return true
}

// started writes down that the world is about to change. Without that nothing
// is changed.
func (p *performance) started() bool {
	if p.after == afterStarted {
		return true // it was written down by the Custos that stopped
	}
	err := safely(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return p.opts.Ledger.Start(ctx, p.ID, p.opts.Now())
	})
	switch {
	case err == nil:
		return true
	case isFenced(err):
		p.result.Unbegun = true
		p.end(fleet.ResultRefused, reason(err))
	case isSettled(err):
		p.settled = true
		p.opts.Log.Warn("an action has begun or ended elsewhere", "action", p.ID, "err", err)
	default:
		p.end(fleet.ResultFailed, "nothing was done: "+reason(err))
	}
	return false
}

// change does it and measures what came of it.
func (p *performance) change(run Run) {
	p.result.Ran = p.ran()
	p.foretell(run)
	var f fence
	hung, err := p.bounded(func(ctx context.Context) error { return run.Do(p.fenced(ctx, &f)) })
	switch {
	case err != nil && hung == nil && f.refused():
		p.endFenced(&f)
		return
	case err != nil:
		p.endUndone(hung, err)
		return
	}
	effect := ""
	hung, err = p.bounded(func(ctx context.Context) (err error) {
		effect, err = run.Verify(ctx)
		return err
	})
	p.hung = hung
	if err != nil {
		p.end(fleet.ResultUnverified, reason(err))
		return
	}
	p.result.Effect = fleet.Line(fleet.Redact(effect), longestText)
	p.end(fleet.ResultDone, "")
}

// foretell has the run tell what it learns while it goes on. What cannot be written
// down now is written down with the result.
func (p *performance) foretell(run Run) {
	f, ok := run.(Foreteller)
	if !ok {
		return
	}
	f.Foretell(func(r fleet.Registration) {
		err := safely(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return p.opts.Learned(ctx, p.ID, r)
		})
		if err != nil {
			p.opts.Log.Error("cannot note what an action has learned so far", "action", p.ID, "err", err)
		}
	})
}

// endUndone: an action that says what went wrong has failed; one that cannot tell,
// hangs or panicked may have done it, or may do it still.
func (p *performance) endUndone(hung <-chan struct{}, err error) {
	p.hung = hung
	var panicked *panicError
	if hung != nil || errors.Is(err, ErrInDoubt) || errors.As(err, &panicked) && !p.able.Idempotent {
		p.end(fleet.ResultInDoubt, strings.TrimSuffix(reason(err), ": "+ErrInDoubt.Error()))
		return
	}
	p.end(fleet.ResultFailed, reason(err))
}

// ran lists the commands as they were printed beforehand.
func (p *performance) ran() []string {
	var out []string
	for _, c := range p.Commands(p.Action) {
		out = append(out, commandLine(c.Argv))
	}
	return out
}

// commandLine is for people: arguments that hold more than plain characters are
// quoted, secrets redacted.
func commandLine(argv []string) string {
	var words []string
	for _, arg := range fleet.RedactArgs(argv) {
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`;&|<>()*?#~") {
			arg = strconv.Quote(arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// release closes the run once nothing of it goes on any more.
func (p *performance) release(run Run) {
	if p.hung == nil {
		p.close(run)
		return
	}
	p.hung = whenClosed(p.hung, func() { p.close(run) })
}

func (p *performance) close(run Run) {
	if run == nil {
		return
	}
	if err := safely(func() error { run.Close(); return nil }); err != nil {
		p.opts.Log.Error("cannot release what an action held", "action", p.ID, "err", err)
	}
}

// whenClosed runs do once c is closed, and returns a channel that is closed
// after that.
func whenClosed(c <-chan struct{}, do func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-c
		do()
	}()
	return done
}

// bounded runs do with the action's deadline. When do has not ended well after
// it, do is left behind: hung is closed when it ends at last.
func (p *performance) bounded(do func(context.Context) error) (hung <-chan struct{}, err error) {
	deadline := time.Duration(p.able.Deadline)
	if deadline <= 0 {
		deadline = noDeadline
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	ended := make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		defer cancel()
		failure = safely(func() error { return do(ctx) })
	}()
	late := time.NewTimer(deadline + patience)
	defer late.Stop()
	select {
	case <-ended:
		return nil, failure
	case <-late.C:
		return ended, fmt.Errorf("it did not end within %s, nor %s later", deadline, patience)
	}
}

// panicError is a panic made a value.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("it panicked: %v", e.value) }

// safely runs do; a panic becomes an error.
func safely(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return do()
}

// reason is an error as a fleet value may hold it.
func reason(err error) string { return fleet.Line(fleet.Redact(err.Error()), longestText) }
