package fleet

import (
	"slices"
	"time"
)

// Move is one change of a record that a plan makes by itself: a gate closes, a step is
// overdue, mail reaches its reader, a pool orders a worker.
type Move struct {
	Record Subject  `json:"record"`
	From   string   `json:"from,omitempty"` // state that it leaves; empty: the record is new
	To     string   `json:"to"`             // as From: what is known of it changes, its state does not
	Why    string   `json:"why,omitempty"`
	Told   []string `json:"told,omitempty"` // addresses that are notified of it
}

// Noted says whether nothing but what is known of the record changes.
func (m Move) Noted() bool { return m.From == m.To }

// HeldMove is a move that would follow by itself and does not: what holds it back, why,
// and until when. Its record stays in From.
type HeldMove struct {
	Move
	Guard Guard   `json:"guard"`
	Held  string  `json:"held"`           // why it does not follow; Why says why it would
	Until Instant `json:"until,omitzero"` // zero: until something changes
	Hint  string  `json:"hint,omitempty"` // the command a person can type
}

// Changes are the rows behind a plan's moves, as they are committed with it.
type Changes struct {
	// Registrations are new, or changed. One whose Revision is not the stored one was
	// changed by another meanwhile: the turn is then not committed, and the next pass
	// thinks again.
	Registrations []Registration `json:"registrations,omitempty"`
	// Runs are new, or changed; a Revision works as in Registrations.
	Runs []Run `json:"runs,omitempty"`
	// Given are orders that follow from records (a run's session is to start): they
	// are written down open, and the next pass answers them. One that is known by
	// its ID stays as it is.
	Given []Order `json:"given,omitempty"`
	// Records are new, or changed; a Revision works as in Registrations. A new one
	// whose Key is known is left out.
	Records Records `json:"records,omitzero"`
	// Messages for the outbox that follow from records, or that a person or an agent has sent.
	Messages []Message `json:"messages,omitempty"`
	// Verdicts are calls of a judge beside the actions, about what a person said: the
	// receipt of a call, written before it is made and again when it has ended.
	Verdicts []Verdict `json:"verdicts,omitempty"`
}

// Plan is the one that changes these rows and does nothing.
func (c Changes) Plan(at Instant) Plan { return Plan{At: at, Follows: Follows{Changes: c}} }

// IsZero says whether nothing changes.
func (c Changes) IsZero() bool {
	return len(c.Registrations)+len(c.Runs)+len(c.Given)+len(c.Messages)+len(c.Verdicts) == 0 && c.Records.IsZero()
}

// Follows is what follows from records, and from what a plan does, by itself.
type Follows struct {
	Changes `json:"-"`
	Patrol  bool    `json:"patrol,omitempty"` // a step of a run awaits a patrol
	Wake    bool    `json:"wake,omitempty"`   // the next pass has something to go on from
	Until   Instant `json:"until,omitzero"`   // when the next pass has something to do, if nothing happens before; zero: never
	// Held would follow, and does not: nothing of it is committed.
	Held []HeldMove `json:"held,omitempty"`
	// Claims are the keys of what is done once for all hosts, and waits for this host's claim.
	Claims []string `json:"claims,omitempty"`
	// Leases are the keys of what several hosts share and is acted on, or would be if this host held its lease.
	Leases []string `json:"leases,omitempty"`
	// Workers are those that this host has for pools of which one host starts the workers, for the others to know.
	Workers []PoolWorkers `json:"workers,omitempty"`
}

// Add adds what follows besides. Of a registration the later one holds:
// it was made of the one before.
func (f *Follows) Add(more Follows) {
	for _, r := range more.Registrations {
		f.Registrations = with(f.Registrations, r)
	}
	f.Runs, f.Given = append(f.Runs, more.Runs...), append(f.Given, more.Given...)
	f.Records, f.Messages = f.Records.And(more.Records), append(f.Messages, more.Messages...)
	f.Verdicts = append(f.Verdicts, more.Verdicts...)
	f.Held, f.Claims = append(f.Held, more.Held...), append(f.Claims, more.Claims...)
	f.Leases, f.Workers = append(f.Leases, more.Leases...), append(f.Workers, more.Workers...)
	f.Patrol, f.Wake = f.Patrol || more.Patrol, f.Wake || more.Wake
	if f.Until.IsZero() || !more.Until.IsZero() && more.Until.Before(f.Until) {
		f.Until = more.Until
	}
}

// with puts a registration in the place of the one of its name, or adds it.
func with(list []Registration, r Registration) []Registration {
	if i := slices.IndexFunc(list, func(s Registration) bool { return s.Name == r.Name }); i >= 0 {
		list[i] = r
		return list
	}
	return append(list, r)
}

// Tell adds a mail.
func (f *Follows) Tell(m Mail) { f.Records.Mails = append(f.Records.Mails, m) }

// Hold notes what would follow, and does not.
func (f *Follows) Hold(m HeldMove) { f.Held = append(f.Held, m) }

// Due says whether a moment has come; if not, the next pass is at that moment at the
// latest. The zero moment never comes.
func (f *Follows) Due(at, t Instant) bool {
	if t.IsZero() {
		return false
	}
	if !at.Before(t) {
		return true
	}
	if f.Until.IsZero() || t.Before(f.Until) {
		f.Until = t
	}
	return false
}

// Passed says whether so much time has passed since a moment, as Due does.
func (f *Follows) Passed(at, since Instant, d time.Duration) bool {
	return at.Since(since) >= d || f.Due(at, at.Add(d-at.Since(since)))
}
