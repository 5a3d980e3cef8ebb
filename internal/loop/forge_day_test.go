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
	"custos/internal/fleet/fleettest"
)

var updateForgeDay = flag.Bool("update-forge-day", false, "rewrite testdata/forge_day.md")

// TestForgeDay: 24 hours of three projects with 40 issues and 12 pull requests, and
// a CI that goes wrong in every way it can. Exactly what is wrong is found, each
// once; what may be mended is; and the journal is one that a person would read.
func TestForgeDay(t *testing.T) {
	fleettest.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		d := newForgeDay(t)
		d.shop()
		d.bank()
		d.docs()
		d.pulls()
		d.pipelines()
		d.weather()
		d.live(t, 24*time.Hour-time.Minute) // not on the stroke of a patrol
		d.wantWorld(t)
		d.wantFound(t)
		d.wantDone(t)
		d.wantJournal(t)
	})
}

// found are the findings of the day, each once.
func found() []string {
	return []string{
		"blind-part part/ci",
		"blind-part part/forge",
		"blocked-exhausted issue/shop#11",
		"ci-blocked pipeline/gh/shop#7000000098",
		"ci-infra-failed pipeline/fj/bank#51",
		"ci-infra-failed pipeline/wp/docs#20",
		"ci-infra-failed pipeline/wp/docs#21",
		"ci-infra-failed pipeline/wp/docs#22",
		"ci-pending pipeline/fj/bank#70",
		"ci-red-on-primary pipeline/fj/bank#60",
		"ci-stuck pipeline/gh/shop#7000000101",
		"ci-worker-unhealthy worker/wp/one",
		"dependency-stale issue/docs#2",
		"fleet-stalled project/docs",
		"issue-cycle issue/shop#5",
		"orphaned-work issue/shop#9",
		"polls-blocked project/bank",
		"pr-conflict pr/shop!25",
		"pr-stale pr/shop!22",
		"pr-stale pr/shop!23",
		"pr-unreviewed pr/shop!26",
		"probe-hung part/ci",
	}
}

// wantWorld looks that the day was as large as it is to be.
func (d *forgeDay) wantWorld(t *testing.T) {
	t.Helper()
	issues, pulls := 0, 0
	for _, r := range d.repos {
		issues, pulls = issues+len(r.Issues), pulls+len(r.Pulls)
	}
	if issues != 40 || pulls != 12 {
		t.Errorf("%d issues and %d pull requests", issues, pulls)
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
	for _, n := range []int{9, 11} {
		if i := d.repos["shop"].Issues[n]; len(i.Comments) != 1 {
			t.Errorf("comments on shop#%d: %v", n, i.Comments)
		}
	}
	if i := d.repos["shop"].Issues[9]; len(i.Assignees) > 0 || !slices.Equal(i.Labels, []string{"backlog"}) {
		t.Errorf("shop#9 was given back with %v, %v", i.Assignees, i.Labels)
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
	if err != nil || ageless(got.String()) != ageless(string(want)) {
		t.Errorf("the journal is not that of %s (%v); look, then run with -update-forge-day:\n%s", golden, err, got.String())
	}
}

// ageless is a journal without ages to the second, counts of looks and moments: a look that
// sees something new is judged at once, and which of several comes first is not settled.
func ageless(text string) string {
	return entryMoment.ReplaceAllString(entryAge.ReplaceAllString(text, "some"), "then")
}

var entryMoment = regexp.MustCompile(`\d\d:\d\d:\d\dZ`)

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
