package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func at(min int) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, min, 0, 0, time.UTC), Up: fleet.Duration(time.Duration(min) * time.Minute), Boot: "b"}
}

func alert(rule string, p fleet.Priority, s fleet.AlertStatus) fleet.Alert {
	return fleet.Alert{AlertKey: fleet.AlertKey{Rule: rule, Subject: fleet.Subject{Kind: fleet.KindHost, Name: "h"}}, Number: 3,
		Priority: p, Status: s, Summary: "it is so", Since: at(0), FiredAt: at(1)}
}

func pass(before, now []fleet.Alert) fleet.Pass {
	p := fleet.Pass{Past: fleet.Past{Alerts: before}, Assessment: fleet.Assessment{Alerts: now}}
	p.Snapshot.At, p.Snapshot.From.Host = at(5), "h"
	return p
}

func TestDraftTellsEachTransitionOnce(t *testing.T) {
	firing, pending := alert("r", fleet.P1, fleet.AlertFiring), alert("r", fleet.P1, fleet.AlertPending)
	resolved := alert("r", fleet.P1, fleet.AlertResolved)
	silenced, caused, flapping := firing, firing, firing
	silenced.SilencedUntil, caused.CausedBy, flapping.Flapping = at(9), []fleet.AlertKey{{Rule: "x"}}, true
	early, late, over := alert("r", fleet.P3, fleet.AlertFiring), alert("r", fleet.P3, fleet.AlertFiring), alert("r", fleet.P3, fleet.AlertResolved)
	early.Patrols, early.TellAfter, late.Patrols, late.TellAfter, over.TellAfter = 3, 4, 4, 4, 4
	const degraded = "[P2] r: it is so"
	ranOut := firing
	ranOut.SilencedUntil = at(4)
	const told = "[P1] r: it is so"
	for name, c := range map[string]struct {
		before, now []fleet.Alert
		want        string // the subject; empty: nothing is told
		over        bool
	}{
		"begins":               {nil, []fleet.Alert{firing}, told, false},
		"goes on":              {[]fleet.Alert{firing}, []fleet.Alert{firing}, "", false},
		"pending":              {nil, []fleet.Alert{pending}, "", false},
		"ends":                 {[]fleet.Alert{firing}, []fleet.Alert{resolved}, "ended: " + told, true},
		"pending ends":         {[]fleet.Alert{pending}, []fleet.Alert{resolved}, "", false},
		"housekeeping":         {nil, []fleet.Alert{alert("r", fleet.P4, fleet.AlertFiring)}, "", false},
		"silenced":             {nil, []fleet.Alert{silenced}, "", false},
		"silence ran out":      {nil, []fleet.Alert{ranOut}, told, false},
		"not for people yet":   {nil, []fleet.Alert{early}, "", false},
		"for people from now":  {[]fleet.Alert{early}, []fleet.Alert{late}, degraded, false},
		"ends untold":          {[]fleet.Alert{early}, []fleet.Alert{over}, "", false},
		"ends, told":           {[]fleet.Alert{late}, []fleet.Alert{over}, "ended: " + degraded, true},
		"explained by another": {nil, []fleet.Alert{caused}, "", false},
		"flapping":             {nil, []fleet.Alert{flapping}, told, false},
		"all quiet":            {nil, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			list := Draft(pass(c.before, c.now), nil)
			if c.want == "" {
				if len(list) != 0 {
					t.Errorf("told %+v", list)
				}
				return
			}
			if m := only(t, list); m.Subject != c.want || m.AllClear != c.over || m.Alert != c.now[0].AlertKey {
				t.Errorf("told %+v", m)
			}
		})
	}
}

// What is told of an alert says what is done about it and what a person can do;
// of its end, what mended it; and always how the host does.
func TestDraftSaysWhatIsDone(t *testing.T) {
	firing, resolved := alert("r", fleet.P1, fleet.AlertFiring), alert("r", fleet.P1, fleet.AlertResolved)
	firing.Runbook = "custos runbook r"
	p := pass(nil, []fleet.Alert{firing})
	p.Plan.Skipped = []fleet.Skipped{{Action: fleet.Action{Do: "stop-tree", For: firing.AlertKey}, Why: "mode observe", Hint: "custos patrol --apply"}}
	m := only(t, Draft(p, nil))
	for _, want := range []string{"stop-tree not done: mode observe", "to do: custos patrol --apply", "see custos runbook r", "Status: RAM=? Disk=? Load=?"} {
		if !strings.Contains(m.Body, want) {
			t.Errorf("%q is not in %q", want, m.Body)
		}
	}
	done := []fleet.Result{{Do: "stop-tree", Subject: firing.Subject, For: firing.AlertKey, Status: fleet.ResultDone, Effect: "freed 2 GiB"}}
	m = only(t, Draft(pass([]fleet.Alert{firing}, []fleet.Alert{resolved}), done))
	if !strings.Contains(m.Body, "stop-tree h: done freed 2 GiB") {
		t.Errorf("what mended it is not in %q", m.Body)
	}
}

// What mended an alert is told with its end, whenever in its life it was done, and
// once; what was done about an earlier one of the same name is not.
func TestDraftSaysWhatMendedEarlier(t *testing.T) {
	firing, resolved := alert("r", fleet.P1, fleet.AlertFiring), alert("r", fleet.P1, fleet.AlertResolved)
	result := func(id, effect string, ended int, status fleet.ResultStatus) fleet.Result {
		return fleet.Result{ActionID: id, Do: "stop-tree", Subject: firing.Subject, For: firing.AlertKey, Status: status, Effect: effect, Ended: at(ended)}
	}
	p := pass([]fleet.Alert{firing}, []fleet.Alert{resolved})
	for _, r := range []fleet.Result{result("a0", "of last time", 0, fleet.ResultDone), result("a1", "freed 2 GiB", 3, fleet.ResultDone), result("a2", "broke", 4, fleet.ResultFailed)} {
		p.Past.Actions = append(p.Past.Actions, fleet.ActionRecord{Action: fleet.Action{ID: r.ActionID, For: r.For}, Stage: fleet.StageEnded, Result: &r})
	}
	p.Past.Actions = append(p.Past.Actions, fleet.ActionRecord{Action: fleet.Action{ID: "a3", For: firing.AlertKey}, Stage: fleet.StageStarted})
	for name, done := range map[string][]fleet.Result{"earlier": nil, "just now, and recorded": {result("a1", "freed 2 GiB", 3, fleet.ResultDone)}} {
		body := only(t, Draft(p, done)).Body
		if strings.Count(body, "stop-tree") != 1 || !strings.Contains(body, "stop-tree h: done freed 2 GiB") {
			t.Errorf("%s: %q", name, body)
		}
	}
}

func TestDraftIsTheSameAgain(t *testing.T) {
	p := pass(nil, []fleet.Alert{alert("r", fleet.P1, fleet.AlertFiring)})
	a, b := Draft(p, nil), Draft(p, nil)
	if a[0].ID != b[0].ID || a[0].ID == "" {
		t.Errorf("the same news has the IDs %q and %q", a[0].ID, b[0].ID)
	}
	later := alert("r", fleet.P1, fleet.AlertFiring)
	later.FiredAt = at(30)
	if c := Draft(pass(nil, []fleet.Alert{later}), nil); c[0].ID == a[0].ID {
		t.Error("a second alert has the ID of the first: it would never be told")
	}
}

func TestEntryOfAHealthyPatrol(t *testing.T) {
	p := pass(nil, nil)
	p.Number = 7
	p.Snapshot.Host.Status = fleet.StatusUnknown
	p.Snapshot.Host.Why = "no /proc"
	got := Entry(p, nil, nil)
	for _, want := range []string{"## Supervisor run — 09:05 UTC", "Patrol 7 on h", "No issues found — all systems healthy", "No actions needed", "Not seen: host (unknown: no /proc)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the entry lacks %q:\n%s", want, got)
		}
	}
}

// The entry says who answered what, and what was done; where that cannot be read it
// says so.
func TestEntryTellsOfReplies(t *testing.T) {
	p := pass(nil, nil)
	p.Past.PatrolAt = at(-15)
	book := memoryJournal{}
	var asked [2]fleet.Instant
	lines, err := []string{"@ann:x: Acted on your reply: approve 3: begun: remove-lock"}, error(nil)
	r := New(Options{Journal: &book, Replies: func(from, until fleet.Instant) ([]string, error) {
		asked = [2]fleet.Instant{from, until}
		return lines, err
	}})
	section := func() string {
		t.Helper()
		if err := r.Journal(p, nil); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(book.last, "### Escalation replies processed\n")
		return strings.TrimSpace(after)
	}
	if got := section(); got != "- "+lines[0] || asked != [2]fleet.Instant{p.Past.PatrolAt, p.Snapshot.At} {
		t.Errorf("%q, asked %v", got, asked)
	}
	if lines = nil; section() != "- None" {
		t.Errorf("without any: %q", book.last)
	}
	if err = errors.New("disk I/O error"); section() != "- cannot be told: disk I/O error" {
		t.Errorf("unread: %q", book.last)
	}
	err, p.Past.PatrolAt, p.Past.Amnesia, p.Past.Lost = nil, fleet.Instant{}, true, "the database is damaged"
	if section() != "- cannot be told: what is remembered is lost: the database is damaged" {
		t.Errorf("after the ledger was lost: %q", book.last)
	}
}

type memoryJournal struct{ last string }

func (m *memoryJournal) Append(_ fleet.Instant, entry string) error { m.last = entry; return nil }

func TestEntryStaysShort(t *testing.T) {
	p := pass(nil, nil)
	for range 100 {
		f := fleet.Finding{Priority: fleet.P4, Firing: true, Summary: "full"}
		p.Assessment.Findings = append(p.Assessment.Findings, f)
	}
	if got := Entry(p, make([]fleet.Result, 100), nil); strings.Count(got, "\n") > 50 || !strings.Contains(got, "and 92 more") {
		t.Errorf("the entry has %d lines:\n%s", strings.Count(got, "\n"), got)
	}
}
