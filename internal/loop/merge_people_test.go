package loop_test

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// addItem adds a branch to the queue of a Custos.
func (c *mqCustos) addItem(source, commit string, is mqChange, more ...func(*fleet.MergeItem)) error {
	c.w.remote.changes[commit], c.w.remote.branches[source] = is, commit
	i := fleet.MergeItem{Queue: c.queue.Name, Source: source, Commit: commit, Project: "shop"}
	for _, change := range more {
		change(&i)
	}
	return c.edit(func(all fleet.Records) (r fleet.Records, err error) {
		i, err := ledger.AddMerge(all, i, "ann", c.w.at())
		r.Merges = []fleet.MergeItem{i}
		return r, err
	})
}

// edit is what a person does to records.
func (c *mqCustos) edit(change func(fleet.Records) (fleet.Records, error)) error {
	r, err := change(c.book.past.Records)
	if err != nil {
		return err
	}
	c.happened()
	c.w.tell("%s: a person: %s", c.name, mqWords(r))
	if err := c.book.write(r, c.w.at()); err != nil {
		c.w.fail("a person's edit: %v", err)
	}
	return nil
}

// item is an item as it is on record.
func (c *mqCustos) item(id string) *fleet.MergeItem { return ledger.Merge(c.book.past.Records, id) }

// change is what a person does to an item.
func (c *mqCustos) change(id string, verb func(fleet.MergeItem) (fleet.MergeItem, error)) error {
	return c.edit(func(all fleet.Records) (r fleet.Records, err error) {
		i, err := verb(*ledger.Merge(all, id))
		r.Merges = []fleet.MergeItem{i}
		return r, err
	})
}

func (c *mqCustos) withdraw(id string) error {
	return c.change(id, func(i fleet.MergeItem) (fleet.MergeItem, error) { return ledger.WithdrawMerge(i, "", "ann", c.w.at()) })
}

func (c *mqCustos) holdItem(id string) error {
	return c.change(id, func(i fleet.MergeItem) (fleet.MergeItem, error) { return ledger.HoldMerge(i, "", "ann", c.w.at()) })
}

func (c *mqCustos) release(id string) error {
	return c.change(id, func(i fleet.MergeItem) (fleet.MergeItem, error) { return ledger.ReleaseMerge(i, "ann", c.w.at()) })
}

func (c *mqCustos) holdQueue() error {
	return c.edit(func(all fleet.Records) (r fleet.Records, err error) {
		h, err := ledger.HoldQueue(all, c.queue.Name, "a demonstration", "ann", c.w.at())
		r.MergeHolds = []fleet.MergeHold{h}
		return r, err
	})
}

func (c *mqCustos) releaseQueue() error {
	return c.edit(func(all fleet.Records) (r fleet.Records, err error) {
		h, err := ledger.ReleaseQueue(all, c.queue.Name, "ann", 0, c.w.at())
		r.MergeHolds = []fleet.MergeHold{h}
		return r, err
	})
}

// cancelRun cancels the run of gates that goes on; it says whether there is one.
func (c *mqCustos) cancelRun() bool {
	for _, r := range c.book.past.Runs {
		if !r.IsOver() && r.Cancel == "" {
			run, err := ledger.CancelRun(r, "ann", c.w.at())
			if err == nil {
				err = c.book.writeRuns([]fleet.Run{run})
			}
			if err != nil {
				c.w.fail("cancel: %v", err)
			}
			c.happened()
			return true
		}
	}
	return false
}

// mqWords is what a person has changed, in a line.
func mqWords(r fleet.Records) (text string) {
	for _, i := range r.Merges {
		text += fmt.Sprintf("%s %s at %s, %s %s, needs %v", i.ID, i.Source, i.Commit, i.Priority, i.State, i.Needs)
	}
	for _, h := range r.MergeHolds {
		text += fmt.Sprintf("queue held: %v", h.Held)
	}
	return text
}
