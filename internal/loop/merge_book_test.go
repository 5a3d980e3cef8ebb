package loop_test

import (
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// mqBook is the ledger of one Custos, in memory: it writes a turn down as the store does, and
// hands over what counts.
type mqBook struct {
	past    fleet.Past
	changed map[string]fleet.Instant // records, when they were written last
	ids     map[string]bool          // of actions, all that ever were
	mails   map[string]bool          // keys
	next    map[string]int
	trimmed fleet.Instant
}

func newMQBook(at fleet.Instant) *mqBook {
	b := &mqBook{changed: map[string]fleet.Instant{}, ids: map[string]bool{}, mails: map[string]bool{}, next: map[string]int{}}
	b.past.StartedAt, b.past.NextAlert = at, 1
	return b
}

// write writes records down; one that was changed meanwhile, or twice, is an error.
func (b *mqBook) write(r fleet.Records, at fleet.Instant) error {
	all := &b.past.Records
	for _, err := range []error{
		mqPut(b, "mq", &all.Merges, r.Merges, at), mqPut(b, "mg", &all.MergeGroups, r.MergeGroups, at),
		mqPut(b, "mh", &all.MergeHolds, r.MergeHolds, at), mqPut(b, "w", &all.Work, r.Work, at),
	} {
		if err != nil {
			return err
		}
	}
	for _, m := range r.Mails {
		if b.mails[m.Key] {
			return fmt.Errorf("mail %s is written twice", m.Key)
		}
		b.mails[m.Key] = true
	}
	return nil
}

func mqPut[T any, P interface {
	*T
	Front() *fleet.Head
}](b *mqBook, prefix string, all *[]T, list []T, at fleet.Instant) error {
	for _, v := range list {
		head := P(&v).Front()
		n := slices.IndexFunc(*all, func(o T) bool {
			was := P(&o).Front()
			return head.ID != "" && was.ID == head.ID || head.Revision == 0 && head.Key != "" && was.Key == head.Key
		})
		switch {
		case n >= 0 && head.Revision == 0:
			continue
		case n >= 0 && P(&(*all)[n]).Front().Revision != head.Revision, n < 0 && head.Revision != 0:
			return fmt.Errorf("%s was changed by another meanwhile, or twice", head.ID)
		case n < 0:
			b.next[prefix]++
			head.ID, head.Revision = fmt.Sprint(prefix, b.next[prefix]), 1
			*all = append(*all, v)
		default:
			head.Revision++
			(*all)[n] = v
		}
		b.changed[head.ID] = at
	}
	return nil
}

// writeRuns writes runs down.
func (b *mqBook) writeRuns(list []fleet.Run) error {
	for _, r := range list {
		n := slices.IndexFunc(b.past.Runs, func(o fleet.Run) bool { return o.ID == r.ID })
		switch {
		case n < 0 && r.Revision == 0:
			r.Revision = 1
			b.past.Runs = append(b.past.Runs, r)
		case n < 0 || b.past.Runs[n].Revision != r.Revision:
			return fmt.Errorf("run %s was changed by another meanwhile, or twice", r.ID)
		default:
			r.Revision++
			b.past.Runs[n] = r
		}
	}
	return nil
}

// commit writes a plan down, whole: the error is the store's ErrConflict.
func (b *mqBook) commit(p fleet.Plan) error {
	if err := b.write(p.Records, p.At); err != nil {
		return err
	}
	if err := b.writeRuns(p.Runs); err != nil {
		return err
	}
	for _, a := range p.Actions {
		if b.ids[a.ID] {
			return fmt.Errorf("action %s (%s %s) is planned twice", a.ID, a.Do, a.Subject)
		}
		b.ids[a.ID] = true
		b.past.Actions = append(b.past.Actions, fleet.ActionRecord{Action: a, Stage: fleet.StagePlanned, PlannedAt: p.At})
	}
	b.past.Newest = p.At
	b.forget(p.At)
	return nil
}

// action is the record of an action.
func (b *mqBook) action(id string) *fleet.ActionRecord {
	return fleet.Find(b.past.Actions, func(a *fleet.ActionRecord) bool { return a.ID == id })
}

// forget leaves out what is not handed over any more. Groups are kept as items are, until they are
// trimmed: of one day alone nobody can tell flaky gates from culprits.
func (b *mqBook) forget(at fleet.Instant) {
	const day = 24 * time.Hour
	if at.Since(b.trimmed) < time.Hour {
		return
	}
	b.trimmed = at
	b.past.Actions = slices.DeleteFunc(b.past.Actions, func(a fleet.ActionRecord) bool { return a.Result != nil && at.Since(a.Result.Ended) > day })
	b.past.Runs = slices.DeleteFunc(b.past.Runs, func(r fleet.Run) bool { return r.IsOver() && at.Since(r.EndedAt) > day })
	b.past.Records.MergeGroups = slices.DeleteFunc(b.past.Records.MergeGroups, func(g fleet.MergeGroup) bool { return g.Over() && at.Since(b.changed[g.ID]) > 30*day })
	b.past.Records.Merges = slices.DeleteFunc(b.past.Records.Merges, func(i fleet.MergeItem) bool { return i.Over() && at.Since(b.changed[i.ID]) > 30*day })
}
