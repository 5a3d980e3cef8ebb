package ledger

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestCheckCron(t *testing.T) {
	for expr, ok := range map[string]bool{
		"0 3 * * *": true, "*/5 * * * *": true, "0 0 29 2 *": true, "30 2 1,15 * MON-FRI": true, "@daily": true, "0 0 31 1,3 *": true,
		"0 0 31 2 *": false, "0 0 30 2 *": false, "0 0 31 4,6,9,11 *": false, "* * * *": false, "* * * * * *": false, "@everysecond": false,
		"60 * * * *": false, "* 24 * * *": false, "* * 0 * *": false, "* * * 13 *": false, "x * * * *": false, "*/0 * * * *": false,
		"": false, "@never": false, "1,,2 * * * *": false, "5- * * * *": false, "1/x * * * *": false, "* * * * 8": false,
	} {
		err := CheckCron(expr, "")
		if (err == nil) != ok {
			t.Errorf("%q: %v", expr, err)
		}
	}
	if CheckCron("0 3 * * *", "Europe/Berlin") != nil || CheckCron("0 3 * * *", "Mars/Olympus") == nil {
		t.Error("zones")
	}
}

func FuzzCheckCron(f *testing.F) {
	f.Add("0 0 31 2 *")
	f.Add("*/5 1-3,7 * JAN MON")
	f.Fuzz(func(t *testing.T, expr string) {
		if len(expr) < 200 && CheckCron(expr, "") == nil {
			if _, ok := NextSlot(expr, at(0).Wall); !ok && strings.Contains(expr, "* * * *") {
				t.Errorf("%q is sound and never due", expr)
			}
		}
	})
}

func TestCheckSchedule(t *testing.T) {
	run := template("f", "p")
	uses := template("f", "p")
	uses.Steps = []fleet.RunStep{{ID: "a", Do: fleet.StepUses, Uses: "patrol"}}
	for name, c := range map[string]struct {
		s  fleet.Schedule
		ok bool
	}{
		"every":            {fleet.Schedule{Name: "s", Every: fleet.Duration(time.Minute), Run: run}, true},
		"no way":           {fleet.Schedule{Name: "s", Run: run}, false},
		"two ways":         {fleet.Schedule{Name: "s", Every: 1e9, Cron: "* * * * *", Run: run}, false},
		"no name":          {fleet.Schedule{Every: 1e9, Run: run}, false},
		"too often":        {fleet.Schedule{Name: "s", Every: 5, Run: run}, false},
		"never":            {fleet.Schedule{Name: "s", Cron: "0 0 31 2 *", Run: run}, false},
		"alert":            {fleet.Schedule{Name: "s", On: "alert:low-disk", Run: run}, true},
		"alert of nothing": {fleet.Schedule{Name: "s", On: "alert:", Run: run}, false},
		"other run":        {fleet.Schedule{Name: "s", On: "run:g:failed", Run: run}, true},
		"own run":          {fleet.Schedule{Name: "s", On: "run:f:done", Run: run}, false},
		"no such state":    {fleet.Schedule{Name: "s", On: "run:g:running", Run: run}, false},
		"no such event":    {fleet.Schedule{Name: "s", On: "full-moon", Run: run}, false},
		"patrol":           {fleet.Schedule{Name: "s", On: "patrol", Run: run}, true},
		"patrol of patrol": {fleet.Schedule{Name: "s", On: "patrol", Run: uses}, false},
		"condition":        {fleet.Schedule{Name: "s", When: "host.cpus > 1", Run: run}, true},
	} {
		if err := CheckSchedule(c.s); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
