package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
)

// ErrPermanent is wrapped by a notifier when trying again cannot help: it is the
// message that is refused, not the moment or the key.
var ErrPermanent = errors.New("permanent")

// Outbox is where messages wait, committed with the alerts they tell of.
type Outbox interface {
	// Due returns messages for people that are to be told now.
	Due(ctx context.Context, at fleet.Instant, limit int) ([]fleet.Message, error)
	// Sent strikes a message off.
	Sent(ctx context.Context, id string, at fleet.Instant) error
}

// Memory keeps what each receiver was told.
type Memory interface {
	// Told returns what was kept last for a receiver; nothing when it is a new one.
	Told(ctx context.Context, to string) ([]byte, error)
	// Keep keeps it.
	Keep(ctx context.Context, to string, told []byte, at fleet.Instant) error
}

// History is what is true of alerts now.
type History interface {
	Past(ctx context.Context, at fleet.Instant) (fleet.Past, error)
}

// Journal keeps what each patrol saw and did.
type Journal interface {
	// Append adds an entry to the file of its day.
	Append(at fleet.Instant, entry string) error
}

// Pulse tells a dead man's switch elsewhere that Custos lives.
type Pulse interface {
	Beat(ctx context.Context) error
}

// Options are what a Reporter is made of.
type Options struct {
	Notifiers []Notifier
	Routes    []Route // none: all are sent P2 and worse
	Outbox    Outbox
	Memory    Memory  // nil: what was told is forgotten when this process ends
	History   History // nil: messages are told as they are, and no end of an alert is inferred
	Journal   Journal
	// Asks are what people may approve or deny now, and Answering the notifiers whose
	// people can. Nil: it is not asked.
	Asks      func(ctx context.Context) (map[fleet.AlertKey]fleet.Ask, error)
	Answering []string
	Pulses    []Pulse
	Mirrors   []Mirror
	Windows   []Window      // of maintenance
	Status    func() string // how the host does, in one line; nil: that is not told
	// Replies lists what people answered between two moments, and what was done, one line
	// each; nil: no replies are read.
	Replies func(from, until fleet.Instant) ([]string, error)
	// Trouble says why the ledger cannot be written, "" when it can; nil: nobody knows.
	Trouble func() string
	// Full says that the disk of the ledger takes nothing more, "" when it does: that
	// waits for nothing. nil: nobody knows.
	Full      func() string
	Now       func() fleet.Instant
	Host      string        // whose news it is, for the subject
	Patience  time.Duration // how long one notifier may take; default 10 s
	Every     time.Duration // between two looks at what is to be told; default 5 s
	BeatEvery time.Duration // between two pulses, at least; default 1 min
}

// Reporter delivers messages and writes the journal.
type Reporter struct {
	o     Options
	posts []*post
	beat  heart

	straight straight
	hurried  chan struct{} // a round is wanted at once

	mirrors []*looking
	shown   []fleet.Alert // to the mirrors: as they could be read last

	errs   sync.Mutex
	failed []error // of the deliveries since they were last asked for
}

// New returns a Reporter.
func New(o Options) *Reporter {
	o.Patience = orElse(o.Patience, 10*time.Second)
	o.Every = orElse(o.Every, 5*time.Second)
	o.BeatEvery = orElse(o.BeatEvery, time.Minute)
	r := &Reporter{o: o, hurried: make(chan struct{}, 1)}
	if len(o.Routes) == 0 {
		r.o.Routes = []Route{Everybody(o.Notifiers)}
	}
	for _, n := range o.Notifiers {
		r.posts = append(r.posts, &post{n: n, to: n.Name()})
	}
	for _, m := range o.Mirrors {
		r.mirrors = append(r.mirrors, &looking{m: m})
	}
	return r
}

func orElse(d, other time.Duration) time.Duration {
	if d <= 0 {
		return other
	}
	return d
}

// Everyone is the route where none is configured: all notifiers are told of P2
// and worse.
func Everybody(all []Notifier) Route {
	r := Route{Name: "everybody", Priority: DefaultPriority, Wait: DefaultWait, Interval: DefaultInterval, Louder: DefaultLouder}
	for _, n := range all {
		r.To = append(r.To, n.Name())
	}
	return r
}

// Journal appends the entry of a patrol. done are the results since the last one.
func (r *Reporter) Journal(p fleet.Pass, done []fleet.Result) error {
	if err := r.o.Journal.Append(p.Snapshot.At, Entry(p, done, r.repliesOf(p))); err != nil {
		return fmt.Errorf("cannot write the journal of patrol %d: %w", p.Number, err)
	}
	return nil
}

// repliesOf lists what people said between the patrol before and this one. That it
// cannot be told is not that there was none: neither where the ledger is not read, nor
// where the one that would tell is lost.
func (r *Reporter) repliesOf(p fleet.Pass) []string {
	switch {
	case r.o.Replies == nil:
		return nil
	case p.Past.Amnesia && p.Past.PatrolAt.IsZero():
		return []string{"cannot be told: what is remembered is lost: " + p.Past.Lost}
	}
	lines, err := r.o.Replies(p.Past.PatrolAt, p.Snapshot.At)
	if err != nil {
		return []string{"cannot be told: " + fleet.Line(fleet.Redact(err.Error()), 200)}
	}
	return lines
}

// Run tells people what there is to tell until ctx ends. Each receiver is told on
// its own: one that does not answer holds up no other. told is given what went
// wrong; it may be nil.
func (r *Reporter) Run(ctx context.Context, told func(error)) error {
	clock := time.NewTicker(r.o.Every)
	defer clock.Stop()
	var sending sync.WaitGroup
	defer sending.Wait()
	for {
		ledger := r.round(ctx, false, &sending)
		if ctx.Err() == nil {
			why, full := r.unwritten(ledger)
			r.outcry(ctx, why, full, &sending)
		}
		err := errors.Join(ledger, r.reflect(ctx, &sending), r.trouble())
		if err != nil && ctx.Err() == nil && told != nil {
			told(err)
		}
		r.pulse(ctx, &sending)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clock.C:
		case <-r.hurried:
		}
	}
}

// Hurry has Run look at once at what there is to tell.
func (r *Reporter) Hurry() {
	select {
	case r.hurried <- struct{}{}:
	default:
	}
}

// unwritten says why nothing can be read or written down, "" when all can, and whether
// that is a disk that is full.
func (r *Reporter) unwritten(err error) (why string, full bool) {
	if r.o.Full != nil {
		why = r.o.Full()
	}
	switch {
	case why != "":
		return fleet.Line(why, 300), true
	case err != nil:
		return fleet.Line(err.Error(), 300), false
	case r.o.Trouble != nil:
		return fleet.Line(r.o.Trouble(), 300), false
	}
	return "", false
}

// Deliver tells what there is to tell, once, waits for it, and returns what went
// wrong: for a command that ends then. Mirrors are shown what it found, if it has
// taken a whole pass: what an older one found may have ended.
func (r *Reporter) Deliver(ctx context.Context) error {
	var sending sync.WaitGroup
	err := r.round(ctx, true, &sending)
	if r.beat.passed.Load() {
		err = errors.Join(err, r.reflect(ctx, &sending))
	}
	sending.Wait()
	return errors.Join(err, r.trouble())
}

// round looks once at what is to be told, and begins to tell it.
func (r *Reporter) round(ctx context.Context, hurry bool, sending *sync.WaitGroup) error {
	if len(r.posts) == 0 {
		return nil
	}
	for _, p := range r.posts {
		r.prove(ctx, p, sending)
	}
	scene, err := r.scene(ctx)
	if err != nil {
		return err
	}
	scene.Hurry = hurry
	over := map[string]int{}
	var errs []error
	for _, p := range r.posts {
		ids, err := r.attend(ctx, p, scene, sending)
		errs = append(errs, err)
		for _, id := range ids {
			over[id]++
		}
	}
	for id, n := range over {
		if n == len(r.posts) {
			errs = append(errs, r.o.Outbox.Sent(ctx, id, scene.At))
		}
	}
	return errors.Join(errs...)
}

// mostDue is how many messages are looked at at once. Alerts are told whether or
// not there is a message of them.
const mostDue = 2000

func (r *Reporter) scene(ctx context.Context) (Scene, error) {
	s := Scene{At: r.o.Now(), Host: r.o.Host, Blind: true, Windows: r.o.Windows}
	var err error
	if s.News, err = r.o.Outbox.Due(ctx, s.At, mostDue); err != nil {
		return s, fmt.Errorf("cannot read the outbox: %w", err)
	}
	if r.o.History == nil {
		s.Alerts = asTold(s.News)
		return s, nil
	}
	past, err := r.o.History.Past(ctx, s.At)
	if err != nil {
		return s, fmt.Errorf("cannot tell what is still true: %w", err)
	}
	s.Alerts, s.Blind, s.Aside = past.Alerts, past.Blind != "" || past.Amnesia, past.Aside
	if r.o.Status != nil && len(s.News)+len(s.Alerts) > 0 {
		s.Status = r.o.Status()
	}
	s.Asks = r.asksNow(ctx)
	return s, nil
}

// asTold takes the messages at their word, for want of better.
func asTold(news []fleet.Message) (out []fleet.Alert) {
	for k, e := range edgesOf(news) {
		if m := e.began; m != nil && (e.ended == nil || e.ended.At.Before(m.At)) {
			out = append(out, fleet.Alert{AlertKey: k, Status: fleet.AlertFiring, Priority: m.Priority, Summary: summary(*m), Since: m.At, FiredAt: m.At})
		}
	}
	return out
}

// fail keeps what went wrong beside the round.
func (r *Reporter) fail(err error) {
	if err == nil {
		return
	}
	r.errs.Lock()
	defer r.errs.Unlock()
	r.failed = append(r.failed, err)
}

func (r *Reporter) trouble() error {
	r.errs.Lock()
	defer r.errs.Unlock()
	err := errors.Join(r.failed...)
	r.failed = nil
	return err
}

// heart is when the dead man's switches were last told that Custos lives.
type heart struct {
	passed atomic.Bool // a whole pass has succeeded since
	busy   atomic.Bool
	last   fleet.Instant
}

// Passed notes that a whole pass has succeeded. It never waits.
func (r *Reporter) Passed() { r.beat.passed.Store(true) }

// pulse tells the dead man's switches that Custos lives, if it does.
func (r *Reporter) pulse(ctx context.Context, sending *sync.WaitGroup) {
	now := r.o.Now()
	due := r.beat.last.IsZero() || elapsed(now, r.beat.last, r.o.BeatEvery)
	if len(r.o.Pulses) == 0 || !due || r.beat.busy.Load() || !r.beat.passed.Swap(false) {
		return
	}
	r.beat.last = now
	r.beat.busy.Store(true)
	sending.Go(func() {
		defer r.beat.busy.Store(false)
		ctx, cancel := context.WithTimeout(ctx, r.o.Patience)
		defer cancel()
		for _, p := range r.o.Pulses {
			r.fail(p.Beat(ctx))
		}
	})
}
