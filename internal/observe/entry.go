package observe

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
)

// outcome is how a look ended.
type outcome int

const (
	never   outcome = iota // no look has ended yet
	good                   // a Put and no error
	partial                // a Put and an error
	failed                 // an error
	absent                 // ErrAbsent
	crashed                // the probe panicked, or its look was left behind
)

// entry is one probe and what it last saw.
type entry struct {
	probe Probe
	spec  Spec
	made  time.Time     // of the board: from here the clocks of all probes are counted
	kick  chan struct{} // asks for a look at once

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a look ends or is left behind
	want    int           // raised when the part is touched
	have    int           // want at the beginning of the newest look that ended
	running *look         // nil between looks
	begun   int           // number of the newest look that began, from 1
	goodOf  int           // number of the newest look that ended well
	asked   bool          // somebody waits for the next look
	partly  bool          // the newest look was cut short by its caller, and saw a part: the next who waits has it looked at again
	hurry   bool          // and it does not wait for Spec.Rest
	lately  time.Time     // when the newest look began
	again   *time.Timer   // asks for a look when what was seen ends; nil: nothing of it was to end

	last  outcome
	why   string        // why the last look was not good
	cut   string        // what of it was left out
	hung  bool          // it did not answer by its deadline
	took  time.Duration // of the last look
	since fleet.Instant // since when it has not been good; zero when it is
	put   Put           // what was last seen, in full or in part
	putAt fleet.Instant // when that look began
	putOf int           // want at that time
	sum   uint64        // of what does not move by itself in what was last seen
	calm  int           // so many looks in a row were calm, and saw the same
}

// look is one look in progress.
type look struct {
	number int
	want   int
	began  fleet.Instant
	asked  bool
	left   bool // left behind
	calm   bool // as the probe says
}

func newEntry(p Probe, at fleet.Instant, made time.Time) *entry {
	spec := p.Spec()
	if spec.Every <= 0 {
		spec.Every = defaultEvery
	}
	if spec.Deadline <= 0 {
		spec.Deadline = defaultDeadline
	}
	return &entry{probe: p, spec: spec, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		made: made, want: 1, since: at}
}

// pending says whether no look that began since the last touch has ended.
func (e *entry) pending() bool {
	p, _ := e.watch()
	return p
}

// watch is pending, with a channel that is closed when that may have changed.
// A probe whose look was left behind is not waited for.
func (e *entry) watch() (bool, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return (e.have < e.want || e.partly) && !e.isLeft(), e.changed
}

// after says how many looks have begun, whether one that came after so many has ended,
// or is not waited for, and returns a channel that is closed when that may have changed.
func (e *entry) after(begun int) (int, bool, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	over := e.begun
	if e.running != nil {
		over--
	}
	return e.begun, over > begun || e.isLeft(), e.changed
}

func (e *entry) isLeft() bool { return e.running != nil && e.running.left }

// due is how long it is until the next look: to the next multiple of Spec.Every since the
// board was made, and half of Spec.Every at least. So looks that are due together are taken
// together, and read the process table, the panes and the ledger once for all of them. While
// all is calm it is every second of those moments.
func (e *entry) due() time.Duration {
	every, passed := e.spec.Every, time.Since(e.made)
	if wait := 2*every - passed%(2*every); e.isCalm() && wait >= every/2 {
		return wait
	}
	wait := every - passed%every
	if wait < every/2 {
		wait += every
	}
	return wait
}

// calmAfter is how many looks in a row have to be calm.
const calmAfter = 4

func (e *entry) isCalm() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calm >= calmAfter
}

// rest waits until the next look is due or asked for; false when ctx ended.
func (e *entry) rest(ctx context.Context) bool {
	timer := time.NewTimer(e.due())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case <-e.kick:
			wait, asked := e.isAsked()
			if asked && wait <= 0 {
				return true
			}
			if asked { // else a First has looked meanwhile
				timer.Reset(wait)
			}
		case <-ctx.Done():
			return false
		}
	}
}

// isAsked says whether a look is asked for, and how long it is to wait.
func (e *entry) isAsked() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hurry || e.lately.IsZero() {
		return 0, e.asked
	}
	return e.rests() - time.Since(e.lately), e.asked
}

// rests is how long the probe rests: by what its last look took, where its Spec says so.
func (e *entry) rests() time.Duration {
	if e.spec.Ease == 0 {
		return e.spec.Rest
	}
	return min(e.spec.Rest, max(soonest, time.Duration(e.spec.Ease)*e.took))
}

// soonest is the least time from a look to one that it brings about itself: a probe that
// always expects something at once is no busy loop.
const soonest = 100 * time.Millisecond

// expect has a look asked for in so much time, and no more when the look before wanted
// it; 0 asks for none.
func (e *entry) expect(again time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.again != nil {
		e.again.Stop()
		e.again = nil
	}
	if again > 0 {
		e.again = time.AfterFunc(max(again, soonest), e.ask)
	}
}

func (e *entry) touch(at fleet.Instant) {
	e.mu.Lock()
	e.want++
	if e.since.IsZero() {
		e.since = at
	}
	e.hurry = true
	e.mu.Unlock()
	e.ask()
}

func (e *entry) ask() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = true
	e.nudge()
}

// nudge wakes the driver; when a nudge is waiting already, that one will do.
func (e *entry) nudge() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

func (e *entry) begin(at fleet.Instant) (*look, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != nil {
		return nil, false
	}
	e.begun++
	e.running = &look{number: e.begun, want: e.want, began: at, asked: e.asked}
	e.asked, e.hurry, e.partly, e.lately = false, false, false, time.Now()
	return e.running, true
}

// end records the look and says whether that is news. What a look that was left
// behind brings is dropped: nobody knows how old it is. One that its caller cut short
// before it saw anything is no look: the part is as pending as it was.
func (e *entry) end(l *look, at fleet.Instant, put Put, err error) bool {
	sum := steady(put)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = nil
	e.notify()
	e.partly = put != nil && errors.Is(err, errUnawaited)
	if e.partly || isCutShort(put, err) {
		e.asked = true // the driver, if there is one, gives the next look its time
	}
	if l.left || isCutShort(put, err) {
		if e.asked {
			e.nudge()
		}
		return false
	}
	if e.partly {
		e.nudge()
	}
	was, now := e.last, judge(put, err)
	differs := put != nil && was == now && sum != e.sum
	if put != nil {
		e.sum = sum
	}
	if e.calm++; !l.calm || now != good || was != now || differs {
		e.calm = 0
	}
	e.settle(l, at, now, err)
	switch now {
	case good, partial:
		e.put, e.putAt, e.putOf, e.cut = put, l.began, l.want, cutOf(err)
	case absent:
		e.put, e.putAt, e.putOf, e.cut = nil, l.began, l.want, ""
	}
	if now == good || now == absent {
		e.goodOf = l.number
	}
	return l.asked || was != never && was != now || differs
}

// isCutShort says whether a look saw nothing because its caller ended.
func isCutShort(put Put, err error) bool { return put == nil && errors.Is(err, errUnawaited) }

// abandon records that the look did not end, and says that this is news; not
// when it ended at the last moment.
func (e *entry) abandon(l *look, at fleet.Instant, why error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != l {
		return false
	}
	l.left = true
	e.calm = 0
	e.settle(l, at, crashed, why)
	e.notify()
	return true
}

func (e *entry) settle(l *look, at fleet.Instant, now outcome, err error) {
	e.have = max(e.have, l.want)
	e.took = at.Since(l.began)
	switch fine := now == good || now == absent; {
	case fine && l.want == e.want:
		e.since = fleet.Instant{}
	case !fine && e.since.IsZero():
		e.since = at
	}
	e.last, e.why, e.hung = now, "", isLate(err) && !errors.Is(err, errUnawaited)
	if err != nil && now != good {
		e.why = fleet.Redact(fleet.Line(err.Error(), 300))
	}
}

// cutOf says what of a look was left out; "" when nothing was.
func cutOf(err error) string {
	var c Cut
	if !errors.As(err, &c) {
		return ""
	}
	return fleet.Redact(fleet.Line(c.Error(), 300))
}

func (e *entry) notify() {
	close(e.changed)
	e.changed = make(chan struct{})
}

var (
	errLeft      = errors.New("the look did not end and was left behind")
	errUnawaited = errors.New("whoever asked for the look did not wait for its end")
	errPanic     = errors.New("the probe panicked")
	errEmpty     = errors.New("the probe returned neither facts nor an error")
)

// isLate says whether a look ended, or was left, because its time was over.
func isLate(err error) bool {
	return errors.Is(err, errLeft) || errors.Is(err, context.DeadlineExceeded)
}

func judge(put Put, err error) outcome {
	switch {
	case errors.Is(err, errPanic):
		return crashed
	case errors.Is(err, ErrAbsent):
		return absent
	case put != nil && (err == nil || isCut(err)):
		return good
	case put != nil:
		return partial
	}
	return failed
}

// isCut says whether an error tells of nothing else than a Cut.
func isCut(err error) bool {
	_, is := err.(Cut)
	return is
}

// hints are what a probe says of its newest look.
type hints struct {
	again time.Duration // Expecting
	calm  bool          // Calming
}

// safely looks, and turns a panic into an error that says where.
func safely(ctx context.Context, p Probe) (put Put, says hints, err error) {
	defer func() {
		if r := recover(); r != nil {
			put, says, err = nil, hints{}, fmt.Errorf("%w: %v (%s)", errPanic, r, culprit(string(debug.Stack())))
		}
	}()
	put, err = p.Look(ctx)
	if put == nil && err == nil {
		err = errEmpty
	}
	if x, ok := p.(Expecting); ok && put != nil {
		says.again = x.Again()
	}
	if x, ok := p.(Calming); ok && put != nil {
		says.calm = x.Calm()
	}
	return put, says, err
}

// culprit returns the first line of code below the panic, as file:line.
func culprit(stack string) string {
	lines := strings.Split(stack, "\n")
	below := false
	for _, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			below = true
		}
		place, isPlace := strings.CutPrefix(line, "\t")
		if !below || !isPlace || strings.Contains(place, "/runtime/") {
			continue
		}
		place, _, _ = strings.Cut(place, " ")
		return place[strings.LastIndexByte(place, '/')+1:]
	}
	return "somewhere"
}
