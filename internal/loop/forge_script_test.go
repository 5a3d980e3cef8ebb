package loop_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
)

// at has something happen at a moment of the day.
func (d *forgeDay) at(when time.Duration, do func()) {
	time.AfterFunc(when-d.clock(), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		do()
	})
}

// ---- issues ------------------------------------------------------------------

// open opens issues of a project, numbered from a number on.
func (d *forgeDay) open(project string, from, to int, labels ...string) (list []*forgetest.Issue) {
	for n := from; n <= to; n++ {
		i := forgetest.Issue{Title: "Issue " + strconv.Itoa(n), Author: "ann", Labels: slices.Clone(labels)}
		list = append(list, d.repos[project].Open(n, time.Duration(n)*5*time.Hour, i))
	}
	return list
}

// edits changes an issue, as somebody would by hand.
func (d *forgeDay) edits(when time.Duration, i *forgetest.Issue, how func()) {
	d.at(when, func() {
		d.forge.Change(func() {
			how()
			i.Updated = d.forge.Clock()
		})
	})
}

func (d *forgeDay) closes(when time.Duration, project string, number int) {
	d.at(when, func() { d.repos[project].Close(number, 0) })
}

func (d *forgeDay) hire(m mate) *mate {
	m.since = -time.Minute
	d.crews = append(d.crews, &m)
	return &m
}

func (m *mate) turn(d *forgeDay, at time.Duration, state fleet.AgentState) {
	d.at(at, func() { m.state, m.since = state, d.clock() })
}

// shop: work goes on all day. Three issues come to wait for each other, by what they
// say and by what the forge keeps; an agent goes without a word; and one issue has
// used up its attempts.
func (d *forgeDay) shop() {
	d.repos["shop"].Labels = append(d.repos["shop"].Labels, "ci_exhausted")
	d.open("shop", 1, 4, "backlog")
	ring := d.open("shop", 5, 7, "backlog")
	worked := d.open("shop", 8, 9, "in-progress")
	d.open("shop", 10, 10)
	spent := d.open("shop", 11, 11, "backlog")[0]
	d.open("shop", 12, 12, "in-progress")[0].Assignees = []string{"ann"}
	d.open("shop", 13, 16)
	worked[0].Assignees, worked[1].Assignees = []string{"dev-bot"}, []string{"dev-bot"}
	d.hire(mate{name: "shop-one", project: "shop", task: "Work on shop#8.", branch: "work-21", state: fleet.StateWorking})
	d.hire(mate{name: "shop-two", project: "shop", task: "shop#4", branch: "work-22", state: fleet.StateIdle, makes: []int{22, 25}})
	d.hire(mate{name: "dev-shop-9", project: "shop", state: fleet.StateWorking}).turn(d, 12*hour, fleet.StateFinished)
	d.closes(9*hour, "shop", 12)
	d.edits(10*hour, ring[0], func() { ring[0].Body = "Depends on #6, they say." })
	d.edits(10*hour, ring[1], func() { ring[1].Body = "## Dependencies\n\n- [ ] acme/shop#7\n- [x] #1\n" })
	d.edits(10*hour, ring[2], func() { ring[2].DependsOn = []string{"#5"} })
	d.edits(11*hour+30*time.Minute, ring[2], func() { ring[2].DependsOn = nil })
	d.edits(15*hour, spent, func() { spent.Labels = []string{"blocked", "ci_exhausted"} })
	d.edits(20*hour, spent, func() { spent.Labels = []string{"backlog"} })
}

// bank: from 8 to 14 everything waits for an issue that nobody has said may be
// taken up.
func (d *forgeDay) bank() {
	first := d.open("bank", 1, 1)[0]
	d.open("bank", 2, 2, "in-progress")[0].Assignees = []string{"dev-bot"}
	for n, i := range d.open("bank", 3, 10, "backlog") {
		if i.Body = "Blocked by: #1"; n%2 == 0 {
			i.Body, i.DependsOn = "", []string{"#1"}
		}
	}
	d.open("bank", 11, 14)
	one := d.hire(mate{name: "bank-one", project: "bank", task: "bank#2 bank!21 bank!22", state: fleet.StateWorking})
	one.turn(d, 8*hour, fleet.StateIdle)
	d.closes(8*hour, "bank", 2)
	d.edits(14*hour, first, func() { first.Labels = []string{"backlog"} })
	one.turn(d, 14*hour+5*time.Minute, fleet.StateWorking)
}

// docs: its agent rests from 2 to 3 though there is work; an issue waits for one
// that turns 30 days old at 6.
func (d *forgeDay) docs() {
	old := d.open("docs", 1, 1)[0]
	d.open("docs", 2, 2, "backlog")[0].Body = "It depends on https://forge.test/acme/docs, see below.\n\nDepends on acme/docs#1"
	d.open("docs", 3, 4, "backlog")
	d.open("docs", 5, 10)
	old.Created = d.forge.Clock().Add(-(29*24 + 18) * hour)
	one := d.hire(mate{name: "docs-one", project: "docs", branch: "work-22", state: fleet.StateWorking})
	one.turn(d, 2*hour, fleet.StateIdle)
	one.turn(d, 3*hour, fleet.StateWorking)
	d.closes(5*hour, "docs", 10)
	d.closes(18*hour, "docs", 1)
}

// ---- pull requests -------------------------------------------------------------
//
// They are numbered from 21: a forge numbers issues and pull requests together.

// proposes opens a pull request. One of the past has been there for an hour.
func (d *forgeDay) proposes(when time.Duration, project string, number int, p forgetest.Pull) {
	p.Title, p.Author, p.Base, p.Branch, p.Head = "Pull "+strconv.Itoa(number), "dev-bot", "main", "work-"+strconv.Itoa(number), commit(project, number, 1)
	if when < 0 {
		d.repos[project].Propose(number, -when, p)
		return
	}
	d.at(when, func() { d.repos[project].Propose(number, 0, p) })
}

func commit(project string, number, push int) string {
	return fmt.Sprintf("%040x", project+strconv.Itoa(number)+"."+strconv.Itoa(push))[:40]
}

// with changes a pull request that is there.
func (d *forgeDay) with(when time.Duration, project string, number int, how func(*forgetest.Pull)) {
	d.at(when, func() {
		d.forge.Change(func() {
			p := d.repos[project].Pulls[number]
			how(p)
			p.Updated = d.forge.Clock()
		})
	})
}

// checked is what the checks of a pull request have come to.
func (d *forgeDay) checked(state string) []forgetest.Check {
	return []forgetest.Check{{Context: "ci/test", State: state, At: d.forge.Clock()}}
}

func (d *forgeDay) ends(when time.Duration, project string, number int, how string) {
	d.with(when, project, number, func(p *forgetest.Pull) { p.Checks = d.checked(how) })
}

// push brings a new commit. mu is held.
func (d *forgeDay) push(project string, number int) {
	d.forge.Change(func() {
		if p := d.repos[project].Pulls[number]; p != nil && p.Closed.IsZero() {
			p.Head, p.Committed, p.Checks, p.Conflict, p.Updated = commit(project, number, 2), d.forge.Clock(), d.checked("pending"), false, d.forge.Clock()
		}
	})
}

// gone is a pull request that a person merged, or closed. mu is held.
func (d *forgeDay) gone(project string, number int) {
	if p := d.repos[project].Pulls[number]; p != nil && p.Closed.IsZero() {
		d.repos[project].Close(number, 0)
	}
}

func (d *forgeDay) goes(when time.Duration, project string, number int) {
	d.at(when, func() { d.gone(project, number) })
}

// pulls: one is mended by a nudge, one only by a person, one is in conflict, one
// waits for a review; the others are as they should be.
func (d *forgeDay) pulls() {
	yes := []forgetest.Review{{Author: "ann", State: "APPROVED", At: d.forge.Clock()}}
	pending := d.checked("pending")
	d.proposes(-hour, "shop", 21, forgetest.Pull{Checks: d.checked("success"), Reviews: yes}) // its agent is at work
	d.proposes(3*hour, "shop", 22, forgetest.Pull{Checks: pending})
	d.ends(3*hour+10*time.Minute, "shop", 22, "failure")
	d.proposes(3*hour+50*time.Minute, "shop", 23, forgetest.Pull{Checks: pending}) // nobody's
	d.ends(4*hour, "shop", 23, "failure")
	d.goes(7*hour, "shop", 23)
	d.proposes(-hour, "shop", 24, forgetest.Pull{Draft: true, Checks: d.checked("failure")})
	d.proposes(12*hour, "shop", 25, forgetest.Pull{Issue: forgetest.Issue{Body: "Closes #4"}})
	d.with(13*hour, "shop", 25, func(p *forgetest.Pull) { p.Conflict = true })
	d.proposes(8*hour, "shop", 26, forgetest.Pull{Issue: forgetest.Issue{Body: "fixes #8"}, Checks: pending})
	d.ends(8*hour+5*time.Minute, "shop", 26, "success")
	d.with(9*hour+30*time.Minute, "shop", 26, func(p *forgetest.Pull) { p.Reviews = yes })
	d.goes(10*hour, "shop", 26)
	for n := 21; n <= 22; n++ {
		d.proposes(-hour, "bank", n, forgetest.Pull{Checks: pending, Reviews: yes})
		d.ends(7*hour+30*time.Minute, "bank", n, "success")
		d.goes(7*hour+50*time.Minute, "bank", n)
	}
	d.proposes(-hour, "bank", 23, forgetest.Pull{Draft: true, Checks: pending})
	d.proposes(-hour, "bank", 24, forgetest.Pull{Checks: pending}) // they never end
	d.proposes(-hour, "docs", 21, forgetest.Pull{Reviews: []forgetest.Review{{Author: "bob", State: "COMMENT", At: d.forge.Clock()}}})
	d.proposes(-hour, "docs", 22, forgetest.Pull{Checks: pending})
}
