package work

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// teams brings work of teams on: the roles before the last have one part each, one after another, and what consists of
// parts is done when they are.
func (c *pass) teams() {
	for i := range c.past.Records.Work {
		w := c.past.Records.Work[i]
		if w.Team == "" || w.State != fleet.WorkOpen || c.isChanged(w.ID) || c.isNow(w.ID) {
			continue
		}
		if t := c.team(w.Team); w.Part == "" && (t == nil || c.before(w, t)) {
			continue // what a team is for is not known while custos.toml has it not
		}
		c.whole(w)
	}
}

func (c *pass) team(name string) *fleet.Team {
	return fleet.Find(c.policy.Teams, func(t *fleet.Team) bool { return t.Name == name })
}

// before writes down the part of the next role that comes before the last one. It says whether there is one that is not
// done.
func (c *pass) before(w fleet.WorkItem, t *fleet.Team) bool {
	n, p := c.stage(w, t)
	switch {
	case p != nil && p.State != fleet.WorkClosed:
		return true
	case p != nil && p.Outcome != ledger.Completed:
		c.stops(w, p)
		return true
	case n+1 >= len(t.Roles)-1:
		return false
	}
	role := t.Roles[n+1]
	part, err := ledger.AddWork(fleet.WorkItem{Head: fleet.Head{Key: partKey(w, n+1)}, Title: role + ": " + w.Title, Body: w.Body, Project: w.Project, Role: role, Priority: w.Priority, Part: w.Ref(), Team: w.Team}, fleet.ByCustos, c.at)
	if err == nil {
		c.out.Records.Work = append(c.out.Records.Work, part)
	}
	return true
}

// stage is the part of a whole that was written down last for a role before the last one, and which of them that is; -1 and
// nil where there is none yet. What is so old that its parts may be forgotten is past them all.
func (c *pass) stage(w fleet.WorkItem, t *fleet.Team) (int, *fleet.WorkItem) {
	for n := len(t.Roles) - 2; n >= 0; n-- {
		key := partKey(w, n)
		if p := fleet.Find(c.past.Records.Work, func(p *fleet.WorkItem) bool { return p.Key == key }); p != nil {
			return n, p
		}
	}
	if c.at.Since(w.At) > month {
		return len(t.Roles), nil
	}
	return -1, nil
}

// partKey is the key of the part that a role before the last one has of a whole.
func partKey(w fleet.WorkItem, n int) string { return fmt.Sprintf("team/%s/%d", w.ID, n) }

// told is how long a mail is remembered that was read: what is older is not told again.
const told = 24 * time.Hour

// stops tells once that a team does not go on: a part was closed, and is not done.
func (c *pass) stops(w fleet.WorkItem, p *fleet.WorkItem) {
	key := fmt.Sprintf("team-stopped/%s/%d", p.ID, p.Revision)
	if slices.ContainsFunc(c.past.Records.Mails, func(m fleet.Mail) bool { return m.Key == key }) || !c.at.Before(p.Since.Add(told)) {
		return
	}
	c.out.Tell(ledger.News(key, c.listeners(ledger.OwnSeen(&w)), fleet.Mail{Type: fleet.MailNews, Priority: w.Priority, Project: w.Project, About: w.ID,
		Subject: fmt.Sprintf("Team %s does not go on with %s: %s was closed as %s", w.Team, ledger.Titled(w.Ref(), w.Title), p.ID, p.Outcome),
		Body:    p.Why + "\ncustos work reopen " + p.ID + " has it done again; custos team stop " + w.ID + " takes the work away from the team.\n"}, c.at))
}

// whole closes work that consists of parts once all of them are done.
func (c *pass) whole(w fleet.WorkItem) {
	parts, done := 0, 0
	for i := range c.past.Records.Work {
		p := &c.past.Records.Work[i]
		if p.Part != w.Ref() || isStage(p, w) {
			continue
		}
		parts++
		if p.State == fleet.WorkClosed && p.Outcome == ledger.Completed {
			done++
		}
	}
	if parts == 0 || done < parts {
		return
	}
	if closed, err := ledger.CloseWork(w, "", fmt.Sprintf("all of its %s are done", fleet.Counted(parts, "part")), fleet.ByCustos, c.at); err == nil {
		c.out.Records.Work = append(c.out.Records.Work, closed)
	}
}

// isStage says whether a part is that of a role before the last one.
func isStage(p *fleet.WorkItem, w fleet.WorkItem) bool {
	return strings.HasPrefix(p.Key, "team/"+w.ID+"/")
}

// hasParts says whether work consists of parts that are its own to do.
func (c *pass) hasParts(w *fleet.WorkItem) bool {
	return slices.ContainsFunc(c.past.Records.Work, func(p fleet.WorkItem) bool { return p.Part == w.Ref() && !isStage(&p, *w) })
}

// isBefore says whether a role that comes before the last one has not done its part of a whole, or that is not known.
func (c *pass) isBefore(w *fleet.WorkItem) bool {
	t := c.team(w.Team)
	if w.Part != "" || t == nil {
		return w.Part == ""
	}
	n, p := c.stage(*w, t)
	return n < len(t.Roles)-2 || p != nil && (p.State != fleet.WorkClosed || p.Outcome != ledger.Completed)
}
