package loop_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

var updateForgeDay = flag.Bool("update-forge-day", false, "rewrite testdata/forge_day.md")

// TestForgeDay: 24 hours of three projects with 40 issues and 12 pull requests, and
// a CI that goes wrong in every way it can. Exactly what is wrong is found, each
// once; what may be mended is; and the journal is one that a person would read.
func TestForgeDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newForgeDay(t)
		d.shop()
		d.bank()
		d.docs()
		d.pulls()
		d.pipelines()
		d.weather()
		if i, p := len(d.tickets), len(d.changes); i != 40 || p != 12 {
			t.Fatalf("%d issues and %d pull requests", i, p)
		}
		d.hours(t, 24*time.Hour)
		d.wantFound(t)
		d.wantDone(t)
		d.wantJournal(t)
	})
}

// found are the findings of the day, each once.
func found() []string {
	return []string{
		"blocked-exhausted issue/shop#11",
		"ci-infra-failed pipeline/wp/bank#51",
		"ci-infra-failed pipeline/wp/docs#20",
		"ci-infra-failed pipeline/wp/docs#21",
		"ci-infra-failed pipeline/wp/docs#22",
		"ci-pending pipeline/wp/bank#70",
		"ci-red-on-primary pipeline/wp/bank#60",
		"ci-stuck pipeline/wp/shop#101",
		"ci-worker-unhealthy worker/wp/one",
		"dependency-stale issue/docs#2",
		"fleet-stalled project/docs",
		"issue-cycle issue/shop#5",
		"orphaned-work issue/shop#9",
		"polls-blocked project/bank",
		"pr-conflict pr/shop!5",
		"pr-stale pr/shop!2",
		"pr-stale pr/shop!3",
		"pr-unreviewed pr/shop!6",
	}
}

func (d *forgeDay) wantFound(t *testing.T) {
	t.Helper()
	began, firing := map[string]int{}, map[string]bool{}
	for _, turn := range d.turns {
		for _, a := range turn.Assessment.Alerts {
			key, is := a.AlertKey.String(), a.Status == fleet.AlertFiring
			if is && !firing[key] {
				began[key]++
			}
			firing[key] = is
		}
	}
	if got := slices.Sorted(maps.Keys(began)); !slices.Equal(got, found()) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(found(), "\n"))
	}
	for key, n := range began {
		if n != 1 || firing[key] {
			t.Errorf("%s began %d times; is it over: %v", key, n, !firing[key])
		}
	}
}

func (d *forgeDay) wantDone(t *testing.T) {
	t.Helper()
	want := map[string]int{"cancel-pipeline": 1, "retrigger": 3, "restart-container": 1, "nudge": 2, "comment": 2, "assign": 1, "label": 1}
	if got := d.deeds(); !maps.Equal(got, want) {
		t.Errorf("done: %v, want %v", got, want)
	}
	for _, name := range []string{"shop#9", "shop#11"} {
		if n := d.ticket(name).comments; n != 1 {
			t.Errorf("%d comments on %s", n, name)
		}
	}
}

// wantJournal reads the journal of the day back. Entries that say the same as the
// one before are counted; what the phone was told stands at the end.
func (d *forgeDay) wantJournal(t *testing.T) {
	t.Helper()
	const golden = "testdata/forge_day.md"
	var got strings.Builder
	days, err := d.dir.Days()
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range days {
		text, _, err := d.dir.Read(day)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(condensed(text))
	}
	fmt.Fprintf(&got, "# The phone\n\n")
	for _, m := range d.messages {
		fmt.Fprintf(&got, "- %s\n", m)
	}
	if *updateForgeDay {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got.String() != string(want) {
		t.Errorf("the journal is not that of %s (%v); look, then run with -update-forge-day:\n%s", golden, err, got.String())
	}
}

var entryAge = regexp.MustCompile(`\b(\d+[dhms])+\b|\d+ looks`)

var entryHead = regexp.MustCompile(`(?m)^## Supervisor run — .*\n\nPatrol .*\n`)

// condensed drops the entries that only repeat the one before, ages apart.
func condensed(text string) string {
	heads := entryHead.FindAllStringIndex(text, -1)
	out, last, same := text[:heads[0][0]], "", 0
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := text[h[1]:end]
		if ageless := entryAge.ReplaceAllString(body, "AGE"); ageless == last {
			same++
		} else {
			out, last, same = out+repeated(same)+text[h[0]:end], ageless, 0
		}
	}
	return out + repeated(same)
}

func repeated(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("(The same again: %d)\n\n", n)
}

// ---- the script ------------------------------------------------------------------

// open opens issues of a project, numbered from a number on.
func (d *forgeDay) open(project string, from, to int, labels ...string) (list []*ticket) {
	for n := from; n <= to; n++ {
		t := &ticket{project: project, number: n, opened: -time.Duration(n) * 5 * time.Hour, touched: -time.Hour, labels: slices.Clone(labels)}
		d.tickets, list = append(d.tickets, t), append(list, t)
	}
	return list
}

func (t *ticket) close(at time.Duration) { t.closed, t.closedAt = true, at }

func (d *forgeDay) hire(name, project string, state fleet.AgentState) *mate {
	m := &mate{name: name, project: project, state: state, since: -time.Minute}
	d.crews = append(d.crews, m)
	return m
}

func (m *mate) turn(d *forgeDay, at time.Duration, state fleet.AgentState) {
	d.at(at, func() { m.state, m.since = state, d.clock() })
}

// shop: work goes on all day. Three issues come to wait for each other, an agent
// goes without a word, and one issue has used up its attempts.
func (d *forgeDay) shop() {
	d.open("shop", 1, 4, "backlog")
	ring := d.open("shop", 5, 7, "backlog")
	worked := d.open("shop", 8, 9, "in-progress")
	d.open("shop", 10, 10)
	spent := d.open("shop", 11, 11, "backlog")[0]
	merged := d.open("shop", 12, 12, "in-progress")[0]
	d.open("shop", 13, 16)
	worked[0].agent, worked[0].assignees = "shop-one", []string{"dev-bot"}
	worked[1].agent, worked[1].assignees = "shop-three", []string{"dev-bot"}
	merged.assignees = []string{"ann"}
	d.hire("shop-one", "shop", fleet.StateWorking)
	d.hire("shop-two", "shop", fleet.StateIdle)
	d.hire("shop-three", "shop", fleet.StateWorking).turn(d, 12*hour, fleet.StateFinished)
	d.at(9*hour, func() { merged.close(9 * hour) })
	d.at(10*hour, func() {
		for i, t := range ring {
			t.waits = []*ticket{ring[(i+1)%3]}
		}
		ring[0].circle = []string{"shop#5", "shop#6", "shop#7"}
	})
	d.at(11*hour+30*time.Minute, func() { ring[2].waits, ring[0].circle = nil, nil })
	d.at(15*hour, func() { spent.labels = []string{"blocked", "ci_exhausted"} })
	d.at(20*hour, func() { spent.labels = []string{"backlog"} })
}

// bank: from 8 to 14 everything waits for an issue that nobody has said may be
// taken up.
func (d *forgeDay) bank() {
	first := d.open("bank", 1, 1)[0]
	begun := d.open("bank", 2, 2, "in-progress")[0]
	for _, t := range d.open("bank", 3, 10, "backlog") {
		t.waits = []*ticket{first}
	}
	d.open("bank", 11, 14)
	begun.agent, begun.assignees = "bank-one", []string{"dev-bot"}
	one := d.hire("bank-one", "bank", fleet.StateWorking)
	one.turn(d, 8*hour, fleet.StateIdle)
	d.at(8*hour, func() { begun.close(8 * hour) })
	d.at(14*hour, func() { first.labels = []string{"backlog"} })
	one.turn(d, 14*hour+5*time.Minute, fleet.StateWorking)
}

// docs: its agent rests from 2 to 3 though there is work; an issue waits for one
// that turns 30 days old at 6.
func (d *forgeDay) docs() {
	old := d.open("docs", 1, 1)[0]
	d.open("docs", 2, 2, "backlog")[0].waits = []*ticket{old}
	d.open("docs", 3, 4, "backlog")
	d.open("docs", 5, 9)
	done := d.open("docs", 10, 10)[0]
	old.opened = -(29*24 + 18) * hour
	one := d.hire("docs-one", "docs", fleet.StateWorking)
	one.turn(d, 2*hour, fleet.StateIdle)
	one.turn(d, 3*hour, fleet.StateWorking)
	d.at(5*hour, func() { done.close(5 * hour) })
	d.at(18*hour, func() { old.close(18 * hour) })
}

func (d *forgeDay) propose(project string, number int, at time.Duration, agent string) *proposal {
	c := &proposal{project: project, number: number, opened: at, pushed: at, checks: "pending", review: "none", agent: agent}
	d.changes = append(d.changes, c)
	return c
}

// checked ends the checks of a pull request.
func (c *proposal) ends(d *forgeDay, at time.Duration, how string) {
	d.at(at, func() { c.checks, c.checked = how, at })
}

// pulls: one is mended by a nudge, one only by a person, one is in conflict, one
// waits for a review; the others are as they should be.
func (d *forgeDay) pulls() {
	good := d.propose("shop", 1, -hour, "shop-one") // its agent is at work
	good.review = "approved"
	good.ends(d, 0, "success")
	d.propose("shop", 2, 3*hour, "shop-two").ends(d, 3*hour+10*time.Minute, "failure")
	lonely := d.propose("shop", 3, 3*hour+50*time.Minute, "")
	lonely.ends(d, 4*hour, "failure")
	d.at(7*hour, func() { lonely.gone = true })
	draft := d.propose("shop", 4, -hour, "")
	draft.draft = true
	draft.ends(d, 0, "failure")
	torn := d.propose("shop", 5, 12*hour, "shop-two")
	torn.checks = "none"
	d.at(13*hour, func() { torn.conflict = true })
	alone := d.propose("shop", 6, 8*hour, "shop-one")
	alone.ends(d, 8*hour+5*time.Minute, "success")
	d.at(9*hour+30*time.Minute, func() { alone.review = "approved" })
	d.at(10*hour, func() { alone.gone = true })
	for n := 1; n <= 2; n++ {
		mine := d.propose("bank", n, -hour, "bank-one")
		mine.review = "approved"
		mine.ends(d, 7*hour+30*time.Minute, "success")
		d.at(7*hour+50*time.Minute, func() { mine.gone = true })
	}
	d.propose("bank", 3, -hour, "").draft = true
	d.propose("bank", 4, -hour, "") // its checks never end
	said := d.propose("docs", 1, -hour, "")
	said.checks, said.review = "none", "commented"
	d.propose("docs", 2, -hour, "docs-one")
}

func (d *forgeDay) began(project string, number int64, branch, state string) *build {
	b := &build{project: project, branch: branch, number: number, state: state, changed: d.clock(), attempt: 1}
	for _, old := range d.builds {
		if old.project == project && old.branch == branch {
			old.old = true
		}
	}
	d.builds = append(d.builds, b)
	return b
}

// pipelines: one hangs, one waits for a worker, a worker dies, one fails for want
// of a network and is well at the second try, one fails for want of disk again and
// again, and the primary branch is red for two hours.
func (d *forgeDay) pipelines() {
	d.began("shop", 100, "main", "success")
	d.began("shop", 99, "wip", "cancelled")
	d.began("shop", 98, "release", "blocked") // it waits for a person
	d.began("bank", 49, "experiment", "failure")
	d.at(hour, func() { d.began("shop", 101, "fix-1", "running") })
	d.at(5*hour, func() { d.sick = true })
	d.at(7*hour, func() { d.began("bank", 51, "fix-2", "failure").cause = "connection refused by the registry" })
	d.at(11*hour, func() { d.began("docs", 20, "fix-3", "failure").cause = diskFull })
	d.at(12*hour+30*time.Minute, func() { d.began("docs", 30, "fix-3", "success") }) // a person made room, and began it again
	d.at(17*hour, func() { d.began("bank", 60, "main", "failure") })
	d.at(19*hour, func() { d.began("bank", 61, "main", "success") })
	var waits *build
	d.at(21*hour, func() { waits = d.began("bank", 70, "fix-4", "pending") })
	d.at(21*hour+40*time.Minute, func() { waits.state, waits.changed = "running", d.clock() })
	d.at(21*hour+50*time.Minute, func() { waits.state, waits.changed = "success", d.clock() })
}

// weather: the forge is down for 40 minutes, while an alert stands, and so is the
// CI for 20.
func (d *forgeDay) weather() {
	d.at(16*hour, func() { d.forge = "the forge answered 502" })
	d.at(16*hour+40*time.Minute, func() { d.forge = "" })
	d.at(18*hour, func() { d.ci = "the CI did not answer within 10s" })
	d.at(18*hour+20*time.Minute, func() { d.ci = "" })
}
