package work

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

const (
	// nearly is how much earlier than it was written down that work waits, what it
	// waits for may have been closed and count as closed since: a forge tells its
	// times to the second, by a clock of its own.
	nearly = time.Minute
	// month is how long a dependency is kept of which nothing more is to come.
	month = 30 * 24 * time.Hour
)

// dependencies writes down what trackers tell that work waits for, resolves what
// waits for work that is seen to be closed, once for each closing, and has it told.
func (c *pass) dependencies() {
	all := slices.Clone(c.past.Records.Dependencies)
	was := len(all)
	all = c.noted(all)
	for i := range all {
		c.follow(&all[i])
	}
	c.free(all)
	for i, d := range all {
		if i >= was || d != c.past.Records.Dependencies[i] {
			c.out.Records.Dependencies = append(c.out.Records.Dependencies, d)
		}
	}
}

// noted adds what trackers tell that work waits for. It is written down while both
// are seen to be open: what was closed before is no news for anybody.
func (c *pass) noted(all []fleet.Dependency) []fleet.Dependency {
	at := map[string]int{}
	for i, d := range all {
		at[d.Key] = i
	}
	for _, of := range c.trackers.Everywhere(c.snap) {
		list, told := c.trackers.Needs(of)
		if !told || !c.trackers.Seen(of).IsOpen() {
			continue
		}
		for _, needs := range list {
			if needs == of || !c.trackers.Seen(needs).IsOpen() {
				continue
			}
			key := fleet.DependencyKey(of, needs)
			i, known := at[key]
			if !known {
				i, at[key] = len(all), len(all)
				all = append(all, fleet.Dependency{Head: fleet.Head{Key: key}, Of: of, Needs: needs, By: fleet.ByCustos, At: c.at})
			}
			if d := &all[i]; !known || d.State == fleet.DependencyDropped {
				d.Source, d.Open = of.Tracker(), true
				c.setDependency(d, fleet.DependencyWaits, "")
				d.Told = d.Times
			}
		}
	}
	return all
}

func (c *pass) setDependency(d *fleet.Dependency, to fleet.DependencyState, why string) {
	d.State, d.Since, d.Why = to, c.at, fleet.Line(why, 400)
}

// follow moves one dependency on. What is not seen moves nothing.
func (c *pass) follow(d *fleet.Dependency) {
	of, needs := c.trackers.Seen(d.Of), c.trackers.Seen(d.Needs)
	switch {
	case d.State == fleet.DependencyDropped:
	case c.isSpent(d, of):
		c.setDependency(d, fleet.DependencyDropped, "nothing became of it for a month")
	case c.isTakenBack(d, of, needs):
		c.setDependency(d, fleet.DependencyDropped, "its tracker tells of it no more")
	case d.State == fleet.DependencyWaits && needs.IsClosed():
		c.resolve(d, needs)
	case d.State == fleet.DependencyWaits && needs.IsOpen():
		d.Open = true
	case d.State == fleet.DependencyResolved && needs.IsOpen():
		c.setDependency(d, fleet.DependencyWaits, "what it waits for was opened again")
		d.Told, d.Open = d.Times, true
	}
}

// resolve notes a closing. One that was before anybody wrote down that work waits
// for it, and was not seen to be open since, is no news.
func (c *pass) resolve(d *fleet.Dependency, needs ledger.Seen) {
	waited := d.Since
	c.setDependency(d, fleet.DependencyResolved, strings.TrimSuffix("closed: "+needs.Outcome, ": "))
	if !d.Open && !needs.ClosedAt.IsZero() && waited.Since(needs.ClosedAt) > nearly {
		d.Why = "it was closed already"
		return
	}
	d.Times++
}

// isTakenBack says whether the tracker that told of a dependency shows both ends as
// open, and tells of it no more.
func (c *pass) isTakenBack(d *fleet.Dependency, of, needs ledger.Seen) bool {
	if d.Source == fleet.TrackerOwn || !of.IsOpen() || !needs.IsOpen() {
		return false
	}
	list, told := c.trackers.Needs(d.Of)
	return told && !slices.Contains(list, d.Needs)
}

// isSpent says whether nothing more is to come of a dependency: it is resolved and
// told, or what waits is closed, or no more on record, and has been for long.
func (c *pass) isSpent(d *fleet.Dependency, of ledger.Seen) bool {
	if c.at.Since(d.Since) < month {
		return false
	}
	forgotten := d.Of.Tracker() == fleet.TrackerOwn && of.Why != ""
	return of.IsClosed() || forgotten || d.State == fleet.DependencyResolved && d.Told == d.Times
}

// free tells of work that waits for nothing any more, once.
func (c *pass) free(all []fleet.Dependency) {
	news := map[fleet.Ref][]*fleet.Dependency{}
	waits := map[fleet.Ref]bool{}
	var order []fleet.Ref
	for i := range all {
		d := &all[i]
		waits[d.Of] = waits[d.Of] || d.State == fleet.DependencyWaits
		if d.State == fleet.DependencyResolved && d.Told < d.Times {
			if news[d.Of] == nil {
				order = append(order, d.Of)
			}
			news[d.Of] = append(news[d.Of], d)
		}
	}
	for _, of := range order {
		seen := c.trackers.Seen(of)
		if seen.IsOpen() && !waits[of] && c.waitsForNothing(of) {
			c.tellFree(of, seen, news[of])
		} else if !seen.IsClosed() {
			continue
		}
		for _, d := range news[of] {
			d.Told = d.Times
		}
	}
}

// waitsForNothing says whether a tracker tells that work waits for nothing. Of work
// of the ledger's own there is nothing but the dependencies on record.
func (c *pass) waitsForNothing(of fleet.Ref) bool {
	if of.Tracker() == fleet.TrackerOwn {
		return true
	}
	list, told := c.trackers.Needs(of)
	return told && len(list) == 0
}

func (c *pass) tellFree(of fleet.Ref, seen ledger.Seen, resolved []*fleet.Dependency) {
	last := resolved[len(resolved)-1]
	var body strings.Builder
	fmt.Fprintf(&body, "%s waits for nothing any more.\n", ledger.Titled(of, seen.Title))
	for _, d := range resolved {
		need := c.trackers.Seen(d.Needs)
		fmt.Fprintf(&body, "Closed: %s\n", strings.TrimSuffix(ledger.Titled(d.Needs, need.Title)+", "+need.Outcome, ", "))
	}
	if seen.Held != "" {
		fmt.Fprintf(&body, "Its tracker still says that it waits: %s.\n", seen.Held)
	}
	c.out.Tell(ledger.News(fmt.Sprintf("dep/%s/%d", last.Key, last.Times), c.listeners(seen), fleet.Mail{Type: fleet.MailDependency, Priority: cmp.Or(seen.Priority, fleet.P3),
		Subject: "Unblocked: " + ledger.Titled(of, seen.Title), Body: body.String(), Project: seen.Project, About: string(of)}, c.at))
}
