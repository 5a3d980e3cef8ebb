package work

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func at(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC).Add(d), Boot: "b", Up: fleet.Duration(d)}
}

func slungWork(begun bool) fleet.WorkItem {
	return fleet.WorkItem{Head: fleet.Head{ID: "w1", Revision: 2}, Title: "a", Project: "shop", State: fleet.WorkTaken, Agent: "builder-w1", By: "ann", Begun: begun,
		Begin: []fleet.Order{{ID: "sling-w1-1", Do: fleet.OrderSpawn, Agent: "builder-w1", By: "ann", State: fleet.OrderOpen}, {ID: "sling-w1-1-prompt", Do: fleet.OrderNudge, Agent: "builder-w1", By: "ann", State: fleet.OrderOpen}}}
}

// The orders of work that was handed out are given once, with the note that they were.
func TestSlungWorkIsBegunOnce(t *testing.T) {
	p := fleet.Pass{Past: fleet.Past{Records: fleet.Records{Work: []fleet.WorkItem{slungWork(false)}}}, Snapshot: fleet.Snapshot{At: at(0)}}
	out := Follow(p)
	if len(out.Given) != 2 || out.Given[0].ID != "sling-w1-1" || len(out.Records.Work) != 1 || !out.Records.Work[0].Begun {
		t.Fatalf("%+v", out)
	}
	p.Past.Records.Work[0] = out.Records.Work[0]
	p.Past.Orders = out.Given
	if out := Follow(p); len(out.Given)+len(out.Records.Work) != 0 {
		t.Errorf("while it is under way: %+v", out)
	}
}

// What became of the order decides: work whose agent lives is that agent's, any other is given
// back with the reason, and nothing that is not known gives it back.
func TestWhatBecameOfSlungWork(t *testing.T) {
	result := func(s fleet.ResultStatus, why string) []fleet.ActionRecord {
		return []fleet.ActionRecord{{Action: fleet.Action{ID: "a1", Order: "sling-w1-1"}, Stage: fleet.StageEnded, Result: &fleet.Result{Status: s, Why: why}}}
	}
	open := []fleet.Order{{ID: "sling-w1-1", State: fleet.OrderOpen}}
	alive := []fleet.Registration{{Name: "builder-w1", Desired: fleet.DesiredRunning}}
	for name, x := range map[string]struct {
		past fleet.Past
		plan []fleet.Order
		want string // why it is given back; "begun"; "" for neither
	}{
		"under way":                {past: fleet.Past{Orders: open}},
		"started":                  {past: fleet.Past{Actions: result(fleet.ResultDone, ""), Registrations: alive}, want: "begun"},
		"not shown to have":        {past: fleet.Past{Actions: result(fleet.ResultUnverified, "x"), Registrations: alive}, want: "begun"},
		"in doubt":                 {past: fleet.Past{Actions: result(fleet.ResultInDoubt, "x"), Registrations: alive}, want: "begun"},
		"failed":                   {past: fleet.Past{Actions: result(fleet.ResultFailed, "no disk")}, want: "no disk"},
		"failed, and tried again":  {past: fleet.Past{Actions: result(fleet.ResultFailed, "no disk"), Orders: open}},
		"failed, then started":     {past: fleet.Past{Actions: append(result(fleet.ResultFailed, "no disk"), result(fleet.ResultDone, "")...), Registrations: alive}, want: "begun"},
		"refused by this pass":     {past: fleet.Past{Orders: open}, plan: []fleet.Order{{ID: "sling-w1-1", State: fleet.OrderRefused, Why: "the name is taken"}}, want: "the name is taken"},
		"its time is over":         {past: fleet.Past{Orders: open}, plan: []fleet.Order{{ID: "sling-w1-1", State: fleet.OrderExpired, Why: "expired"}}, want: "expired"},
		"forgotten, and it lives":  {past: fleet.Past{Registrations: alive}, want: "begun"},
		"forgotten, and none does": {want: "on record no more"},
	} {
		t.Run(name, func(t *testing.T) {
			x.past.Records.Work = []fleet.WorkItem{slungWork(true)}
			out := Follow(fleet.Pass{Past: x.past, Snapshot: fleet.Snapshot{At: at(time.Minute)}, Plan: fleet.Plan{Orders: x.plan}})
			got := ""
			if len(out.Records.Work) == 1 {
				w := out.Records.Work[0]
				if got = "begun"; w.State == fleet.WorkOpen {
					got = w.Why
				}
				if len(w.Begin) > 0 || (w.State == fleet.WorkOpen) != (len(out.Records.Mails) == 1) {
					t.Errorf("%+v, %d mails", w, len(out.Records.Mails))
				}
			}
			if (x.want == "") != (got == "") || !strings.Contains(got, x.want) {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}

// Work that this very pass has closed, with its merge, is nothing else's to change.
func TestClosedInThisPass(t *testing.T) {
	p := fleet.Pass{Past: fleet.Past{Records: fleet.Records{Work: []fleet.WorkItem{slungWork(true)}}}, Snapshot: fleet.Snapshot{At: at(0)}}
	p.Plan.Records.Work = []fleet.WorkItem{{Head: fleet.Head{ID: "w1", Revision: 2}, State: fleet.WorkClosed}}
	if out := Follow(p); len(out.Records.Work) != 0 {
		t.Errorf("%+v", out.Records.Work)
	}
}
