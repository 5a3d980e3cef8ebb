package ledger

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

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
		"one host":         {fleet.Schedule{Name: "s", Cron: "0 3 * * *", Hosts: fleet.HostsOne, Run: run}, true},
		"each host":        {fleet.Schedule{Name: "s", Every: 1e9, Hosts: fleet.HostsEach, Run: run}, true},
		"one, every":       {fleet.Schedule{Name: "s", Every: 1e9, Hosts: fleet.HostsOne, Run: run}, false},
		"one, condition":   {fleet.Schedule{Name: "s", When: "host.cpus > 1", Hosts: fleet.HostsOne, Run: run}, false},
		"two hosts":        {fleet.Schedule{Name: "s", Cron: "0 3 * * *", Hosts: "two", Run: run}, false},
		"patrol":           {fleet.Schedule{Name: "s", On: "patrol", Run: run}, true},
		"patrol of patrol": {fleet.Schedule{Name: "s", On: "patrol", Run: uses}, false},
		"condition":        {fleet.Schedule{Name: "s", When: "host.cpus > 1", Run: run}, true},
	} {
		if err := CheckSchedule(c.s); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
