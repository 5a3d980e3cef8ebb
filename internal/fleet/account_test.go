package fleet

import (
	"testing"
	"time"
)

var accountNoon = Instant{Wall: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Up: Duration(100 * time.Hour), Boot: "b"}

// What the screen of one agent shows holds no other agent: its model may have said it.
func TestAScreenLimitsNoAccount(t *testing.T) {
	for source, want := range map[string]bool{SourceScreen: false, "hook": true, "transcript": true, "process+screen": true} {
		a := &Agent{Name: "a", State: StateRateLimited, Source: source}
		if l := LimitOf("work", []*Agent{a}, nil, Instant{}, accountNoon, accountNoon); l.Limited != want {
			t.Errorf("by %s: %+v", source, l)
		}
	}
}

func TestLimitOf(t *testing.T) {
	limited := func(until, since time.Duration) *Agent {
		a := &Agent{State: StateRateLimited, RateLimitedAt: accountNoon.Add(since)}
		if until != 0 {
			a.RateLimitedUntil = accountNoon.Add(until)
		}
		return a
	}
	kept := func(account string, percent float64, until, since time.Duration) []AccountQuota {
		limit := Quota{Window: WindowLimit, Percent: percent, Resets: accountNoon.Add(until).Wall, At: accountNoon.Add(since).Wall}
		return []AccountQuota{{account, Quota{Window: "5h", Percent: 100, Resets: accountNoon.Add(9 * time.Hour).Wall}}, {account, limit}}
	}
	for what, c := range map[string]struct {
		agents []*Agent
		kept   []AccountQuota
		lifted Instant
		want   AccountLimit
		spent  bool
	}{
		"nobody":            {want: AccountLimit{Told: true}},
		"none is limited":   {agents: []*Agent{{State: StateWorking}}, want: AccountLimit{Told: true}},
		"the latest reset":  {agents: []*Agent{limited(time.Hour, -time.Minute), limited(2*time.Hour, -time.Minute)}, want: AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(2 * time.Hour)}, spent: true},
		"one is not told":   {agents: []*Agent{limited(time.Hour, -time.Minute), limited(0, -time.Minute)}, want: AccountLimit{Limited: true, Until: accountNoon.Add(time.Hour)}, spent: true},
		"reset a while ago": {agents: []*Agent{limited(-59*time.Minute, -time.Hour)}, want: AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(-59 * time.Minute)}},
		"reset long ago":    {agents: []*Agent{limited(-time.Hour, -2*time.Hour)}, want: AccountLimit{Told: true}},
		"it is gone":        {kept: kept("a", 100, time.Hour, -time.Minute), want: AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(time.Hour)}, spent: true},
		"gone, and reset":   {kept: kept("a", 100, -59*time.Minute, -2*time.Hour), want: AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(-59 * time.Minute)}},
		"gone, long ago":    {kept: kept("a", 100, -time.Hour, -2*time.Hour), want: AccountLimit{Told: true}},
		"gone, and lifted":  {kept: kept("a", 100, time.Hour, -time.Minute), lifted: accountNoon, want: AccountLimit{Limited: true, Told: true, Until: accountNoon}},
		"gone, and over":    {kept: kept("a", 0, time.Hour, -time.Minute), want: AccountLimit{Told: true}},
		"another's":         {kept: kept("b", 100, time.Hour, -time.Minute), want: AccountLimit{Told: true}},
		"lifted since":      {agents: []*Agent{limited(time.Hour, -time.Minute)}, lifted: accountNoon, want: AccountLimit{Limited: true, Told: true, Until: accountNoon}},
		"lifted before":     {agents: []*Agent{limited(time.Hour, -time.Minute)}, lifted: accountNoon.Add(-time.Hour), want: AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(time.Hour)}, spent: true},
	} {
		if got := LimitOf("a", c.agents, c.kept, c.lifted, accountNoon, accountNoon); got != c.want || got.IsExhausted(accountNoon) != c.spent {
			t.Errorf("%s: %+v, exhausted %t", what, got, got.IsExhausted(accountNoon))
		}
	}
}
