package fleet

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
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

func TestChooseAccount(t *testing.T) {
	at := func(d time.Duration) AccountLimit {
		return AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(d)}
	}
	free, untold := AccountLimit{Told: true}, AccountLimit{Limited: true}
	for what, c := range map[string]struct {
		current string
		limits  []AccountLimit // of a, b, c
		want    string
		until   time.Duration
	}{
		"the first":                                  {limits: []AccountLimit{free, free, free}, want: "a"},
		"the current one stays":                      {current: "b", limits: []AccountLimit{free, free, free}, want: "b"},
		"also when it was just reset":                {current: "b", limits: []AccountLimit{free, at(-time.Second), free}, want: "b"},
		"the next that is free":                      {current: "a", limits: []AccountLimit{at(time.Hour), free, free}, want: "b"},
		"one that rested before one just reset":      {current: "a", limits: []AccountLimit{at(time.Hour), at(-time.Minute), at(-11 * time.Minute)}, want: "c"},
		"one just reset where there is no other":     {current: "a", limits: []AccountLimit{at(time.Hour), at(-time.Minute), untold}, want: "b"},
		"an unknown end is an end that is not there": {current: "a", limits: []AccountLimit{untold, untold, free}, want: "c"},
		"all at their limits":                        {current: "a", limits: []AccountLimit{at(3 * time.Hour), at(time.Hour), untold}, until: time.Hour},
		"all, and of none it is told until when":     {current: "a", limits: []AccountLimit{untold, untold, untold}},
		"who is not among them is not current":       {current: "z", limits: []AccountLimit{free, free, free}, want: "a"},
	} {
		names := []string{"a", "b", "c"}
		got, until, ok := ChooseAccount(names, c.current, func(n string) AccountLimit { return c.limits[slices.Index(names, n)] }, accountNoon)
		want := Instant{}
		if c.until != 0 {
			want = accountNoon.Add(c.until)
		}
		if got != c.want || ok != (c.want != "") || until != want {
			t.Errorf("%s: %q, %v, %t", what, got, until, ok)
		}
	}
}

// Over a day of limits that come and go, an account that is at its limit is never chosen;
// another one is taken only when the one in use is at its limit; and none is only chosen when all are.
func TestChooseAccountProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "accounts")]
		limits, current := map[string]AccountLimit{}, ""
		for now, steps := accountNoon, rapid.IntRange(1, 60).Draw(t, "steps"); steps > 0; steps-- {
			now = now.Add(time.Duration(rapid.IntRange(1, 3600).Draw(t, "seconds")) * time.Second)
			if n := rapid.SampledFrom(names).Draw(t, "of"); rapid.Bool().Draw(t, "met") {
				limits[n] = AccountLimit{Limited: true, Told: rapid.Bool().Draw(t, "told"), Until: now.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "until")) * time.Second)}
			} else {
				limits[n] = AccountLimit{Told: true}
			}
			got, until, ok := ChooseAccount(names, current, func(n string) AccountLimit { return limits[n] }, now)
			spent := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !limits[n].IsExhausted(now) })
			switch {
			case ok == (len(spent) == len(names)) || ok != (got != ""):
				t.Fatalf("%q, %t: at their limits are %v of %v", got, ok, spent, names)
			case ok && slices.Contains(spent, got):
				t.Fatalf("%s is at its limit: %+v", got, limits[got])
			case ok && current != "" && got != current && !slices.Contains(spent, current):
				t.Fatalf("%s is left for %s, and is not at its limit", current, got)
			case !until.IsZero() && (ok || !now.Before(until)):
				t.Fatalf("until %v, at %v, %t", until, now, ok)
			}
			if ok {
				current = got
			}
		}
	})
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
