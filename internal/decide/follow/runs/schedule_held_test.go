package runs

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestHeldSchedules: of what would begin, and does not, it is told what holds it back
// and until when; of what only waits for its time nothing is told.
func TestHeldSchedules(t *testing.T) {
	yes, no := true, false
	over := func(formula string, ago time.Duration) fleet.Run {
		r := template(formula, "")
		r.ID, r.Schedule, r.At, r.Slot, r.State, r.EndedAt = formula+"-0", formula, at(-ago), at(-ago), fleet.RunDone, at(-ago)
		return r
	}
	open := func(formula, queue string, state fleet.RunState) fleet.Run {
		r := over(formula, time.Hour)
		r.State, r.EndedAt, r.Queue = state, fleet.Instant{}, queue
		return r
	}
	every := func(change func(*fleet.Schedule)) fleet.Schedule {
		s := fleet.Schedule{Name: "a", Every: fleet.Duration(time.Hour), Run: template("a", "shop"), Enabled: true}
		if change != nil {
			change(&s)
		}
		return s
	}
	plugin := resting("plugin:tidy", time.Hour, "")
	for name, c := range map[string]struct {
		schedules []fleet.Schedule
		disabled  []string
		past      fleet.Past
		begin     int
		held      string
	}{
		"due":          {schedules: []fleet.Schedule{every(nil)}, begin: 1},
		"not due":      {schedules: []fleet.Schedule{every(nil)}, past: fleet.Past{StartedAt: at(0), Runs: []fleet.Run{over("a", time.Minute)}}},
		"its section":  {schedules: []fleet.Schedule{every(func(s *fleet.Schedule) { s.Enabled = false })}, held: "schedule/a > run (person-stopped: its section says enabled = false)"},
		"switched off": {schedules: []fleet.Schedule{every(func(s *fleet.Schedule) { s.Enabled = false })}, disabled: []string{"a"}, held: "schedule/a > run (person-stopped: it is switched off) custos formula enable a"},
		"switched off, not due": {schedules: []fleet.Schedule{every(func(s *fleet.Schedule) { s.Enabled = false })}, disabled: []string{"a"},
			past: fleet.Past{Runs: []fleet.Run{over("a", time.Minute)}}},
		"broken": {schedules: []fleet.Schedule{every(func(s *fleet.Schedule) { s.Broken = "there is no formula a" })}, held: "schedule/a > run (cannot: there is no formula a)"},
		"paused": {schedules: []fleet.Schedule{every(nil)}, past: fleet.Past{Silences: []fleet.Silence{fleet.PauseProject("shop", "ann", "move", at(0))}},
			held: "schedule/a > run (paused: project shop is paused) custos resume --project shop"},
		"it runs": {schedules: []fleet.Schedule{resting("a", time.Hour, "")}, past: fleet.Past{Runs: []fleet.Run{open("a", "", fleet.RunOpen)}}, held: "schedule/a > run (in-flight: run a-0 of it is running)"},
		"a person is to end it": {schedules: []fleet.Schedule{resting("a", time.Hour, "")}, past: fleet.Past{Runs: []fleet.Run{open("a", "", fleet.RunPerson)}},
			held: "schedule/a > run (in-flight: run a-0 of it needs a person)"},
		"a plugin cools down": {schedules: []fleet.Schedule{plugin}, past: fleet.Past{Runs: []fleet.Run{over("plugin:tidy", 20*time.Minute)}},
			held: "plugin/tidy > run (cooldown: run plugin:tidy-0 of it ended 20m0s ago, and it rests 1h0m0s until 10:40)"},
		"a plugin is switched off": {schedules: []fleet.Schedule{func() fleet.Schedule { p := plugin; p.Enabled = false; return p }()}, disabled: []string{"plugin:tidy"},
			held: "plugin/tidy > run (person-stopped: it is switched off) custos formula enable plugin:tidy"},
		"a plugin says so": {schedules: []fleet.Schedule{func() fleet.Schedule { p := plugin; p.Enabled = false; return p }()}, held: "plugin/tidy > run (person-stopped: its plugin.md says disabled)"},
		"its queue":        {schedules: []fleet.Schedule{resting("a", time.Hour, "q")}, past: fleet.Past{Runs: []fleet.Run{open("b", "q", fleet.RunOpen)}}, held: "schedule/a > run (limit: run b-0 is running, and one of queue q runs at a time)"},
		"behind in line":   {schedules: []fleet.Schedule{resting("a", time.Hour, "q"), resting("b", time.Hour, "q")}, begin: 1, held: "schedule/b > run (limit: schedule/a goes first, and one of queue q runs at a time)"},
		"cannot be told":   {schedules: []fleet.Schedule{{Name: "a", When: "x", Run: template("a", ""), Enabled: true}}, held: "schedule/a > run (evidence: it cannot be told whether its condition holds)"},
		"does not hold":    {schedules: []fleet.Schedule{{Name: "a", When: "x", Holds: &no, Run: template("a", ""), Enabled: true}}},
		"holds, and rests": {schedules: []fleet.Schedule{{Name: "a", When: "x", Holds: &yes, Rest: fleet.Duration(time.Hour), Run: template("a", ""), Enabled: true}}, past: fleet.Past{Runs: []fleet.Run{over("a", 20*time.Minute)}},
			held: "schedule/a > run (cooldown: run a-0 of it ended 20m0s ago, and it rests 1h0m0s until 10:40)"},
		"by the clock of its own": {schedules: []fleet.Schedule{resting("a", time.Hour, "")}, past: fleet.Past{Runs: []fleet.Run{over("a", 20*time.Minute)}},
			held: "schedule/a > run (cooldown: run a-0 of it ended 20m0s ago, and it rests 1h0m0s until 10:40)"},
	} {
		p := fleet.Pass{Past: c.past, Snapshot: fleet.Snapshot{At: at(0)}}
		p.Policy.Runs = fleet.RunPolicy{Schedules: c.schedules, Disabled: c.disabled}
		out := Begin(p)
		held := ""
		for _, h := range out.Held {
			until := ""
			if !h.Until.IsZero() {
				until = " until " + h.Until.Wall.Format("15:04")
			}
			held += fmt.Sprintf("%s%s > %s (%s: %s%s)", h.Record, h.From, h.To, h.Guard, h.Held, until)
			if h.Hint != "" {
				held += " " + h.Hint
			}
		}
		if len(out.Runs) != c.begin || held != c.held {
			t.Errorf("%s: %d begin, and held back is\n %s\nwant %d, and\n %s", name, len(out.Runs), held, c.begin, c.held)
		}
	}
}
