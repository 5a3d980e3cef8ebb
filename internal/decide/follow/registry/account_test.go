package registry

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

var accountNoon = fleet.Instant{Wall: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(100 * time.Hour), Boot: "b"}

// A pool of several accounts starts each worker with the one in use, with the next when that is
// at its limit, and none where all are, which it says. Who runs keeps the account it has.
func TestAPoolOfSeveralAccounts(t *testing.T) {
	y := newYard(0, 4)
	y.pool.Accounts = []string{"work", "own"}
	starts := func(what, account, held string) {
		t.Helper()
		out := y.pass()
		if len(out.Given) != 1 && account != "" || account != "" && out.Given[0].Spawn.Account != account || account == "" && len(out.Given) > 0 {
			t.Errorf("%s: given %+v; want one with account %q", what, out.Given, account)
		}
		if got := heldNow(out.Held); got != held {
			t.Errorf("%s: held back is %s; want %s", what, got, held)
		}
		y.carryOut()
		y.now += 10 * time.Minute
	}
	limit := func(name string, until time.Duration) {
		a := y.agents[name]
		a.Name, a.Instance, a.State, a.RateLimitedAt, a.RateLimitedUntil = name, y.regs[y.find(name)].Instance, fleet.StateRateLimited, y.at(), y.at().Add(until)
		y.agents[name] = a
	}
	busy := func(n int) { y.wait(n) }
	busy(1)
	starts("the first", "work", "")
	first := y.regs[0].Name
	limit(first, time.Hour)
	busy(1)
	starts("another, as the first is limited", "own", "")
	second := y.regs[1].Name
	limit(second, 30*time.Minute)
	busy(1)
	starts("none, as both are", "", "pool/dev 2 workers > 3 workers (gate: all its accounts are at their limits: work, own until 08:50; custos resume --account work)")
	if y.regs[0].Account != "work" || y.regs[1].Account != "own" {
		t.Errorf("an agent that runs has another account: %+v", y.regs)
	}
	y.now += 25 * time.Minute
	starts("the one that is reset", "own", "")
}

func TestTheAccountThatIsChosen(t *testing.T) {
	at := func(d time.Duration) fleet.AccountLimit {
		return fleet.AccountLimit{Limited: true, Told: true, Until: accountNoon.Add(d)}
	}
	free, untold := fleet.AccountLimit{Told: true}, fleet.AccountLimit{Limited: true}
	for what, c := range map[string]struct {
		current string
		limits  []fleet.AccountLimit // of a, b, c
		want    string
		until   time.Duration
	}{
		"the first":                                  {limits: []fleet.AccountLimit{free, free, free}, want: "a"},
		"the current one stays":                      {current: "b", limits: []fleet.AccountLimit{free, free, free}, want: "b"},
		"also when it was just reset":                {current: "b", limits: []fleet.AccountLimit{free, at(-time.Second), free}, want: "b"},
		"the next that is free":                      {current: "a", limits: []fleet.AccountLimit{at(time.Hour), free, free}, want: "b"},
		"one that rested before one just reset":      {current: "a", limits: []fleet.AccountLimit{at(time.Hour), at(-time.Minute), at(-11 * time.Minute)}, want: "c"},
		"one just reset where there is no other":     {current: "a", limits: []fleet.AccountLimit{at(time.Hour), at(-time.Minute), untold}, want: "b"},
		"an unknown end is an end that is not there": {current: "a", limits: []fleet.AccountLimit{untold, untold, free}, want: "c"},
		"all at their limits":                        {current: "a", limits: []fleet.AccountLimit{at(3 * time.Hour), at(time.Hour), untold}, until: time.Hour},
		"all, and of none it is told until when":     {current: "a", limits: []fleet.AccountLimit{untold, untold, untold}},
		"who is not among them is not current":       {current: "z", limits: []fleet.AccountLimit{free, free, free}, want: "a"},
	} {
		names := []string{"a", "b", "c"}
		got, until, ok := chooseAccount(names, c.current, func(n string) fleet.AccountLimit { return c.limits[slices.Index(names, n)] }, accountNoon)
		want := fleet.Instant{}
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
func TestTheAccountThatIsChosenProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "accounts")]
		limits, current := map[string]fleet.AccountLimit{}, ""
		for now, steps := accountNoon, rapid.IntRange(1, 60).Draw(t, "steps"); steps > 0; steps-- {
			now = now.Add(time.Duration(rapid.IntRange(1, 3600).Draw(t, "seconds")) * time.Second)
			if n := rapid.SampledFrom(names).Draw(t, "of"); rapid.Bool().Draw(t, "met") {
				limits[n] = fleet.AccountLimit{Limited: true, Told: rapid.Bool().Draw(t, "told"), Until: now.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "until")) * time.Second)}
			} else {
				limits[n] = fleet.AccountLimit{Told: true}
			}
			got, until, ok := chooseAccount(names, current, func(n string) fleet.AccountLimit { return limits[n] }, now)
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

// TestLimitsOfOtherHosts: who starts workers for all hosts uses no account that is at its limit at another one, also
// where that is silent by now, if it has said until when; and each host tells the others of its own.
func TestLimitsOfOtherHosts(t *testing.T) {
	spent := func(silent, until time.Duration, accounts ...string) fleet.Elsewhere {
		w := fleet.PoolWorkers{Pool: "dev"}
		for _, a := range accounts {
			l := fleet.SpentAccount{Account: a}
			if until != 0 {
				l.Until = newYard(0, 0).at().Wall.Add(until)
			}
			w.Limits = append(w.Limits, l)
		}
		return fleet.Elsewhere{Host: "box2", Silent: fleet.Known(fleet.Duration(silent)), Workers: []fleet.PoolWorkers{w}}
	}
	for name, c := range map[string]struct {
		accounts []string
		account  string
		box2     fleet.Elsewhere
		want     string
		held     string
	}{
		"none":                        {[]string{"work", "own"}, "", spent(0, 0), "work", ""},
		"the first":                   {[]string{"work", "own"}, "", spent(0, time.Hour, "work"), "own", ""},
		"both":                        {[]string{"work", "own"}, "", spent(0, time.Hour, "work", "own"), "", "all its accounts are at their limits: work, own; as other hosts say: own (box2), work (box2); custos resume --account NAME there ends that until 09:00"},
		"it was reset":                {[]string{"work", "own"}, "", spent(0, -time.Hour-time.Second, "work"), "work", ""},
		"it is not told until when":   {[]string{"work"}, "", spent(0, 0, "work"), "", "all its accounts are at their limits: work; as other hosts say: work (box2); custos resume --account NAME there ends that"},
		"silent, not told until when": {[]string{"work"}, "", spent(time.Minute, 0, "work"), "work", ""},
		"silent":                      {[]string{"work"}, "", spent(time.Minute, time.Hour, "work"), "", "all its accounts are at their limits: work; as other hosts say: work (box2); custos resume --account NAME there ends that until 09:00"},
		"silent and given up":         {[]string{"work"}, "", spent(time.Hour, time.Hour, "work"), "", "all its accounts are at their limits: work; as other hosts say: work (box2); custos resume --account NAME there ends that until 09:00"},
		"the only one":                {nil, "work", spent(0, time.Hour, "work"), "", "all its accounts are at their limits: work; as other hosts say: work (box2); custos resume --account NAME there ends that until 09:00"},
		"the only one, another's":     {nil, "work", spent(0, time.Hour, "own"), "work", ""},
		"both here and there":         {[]string{"work"}, "", spent(0, time.Hour, "own", "work"), "", "all its accounts are at their limits: work; as other hosts say: work (box2); custos resume --account NAME there ends that until 09:00"},
		"of no account, another's is": {nil, "", spent(0, time.Hour, "work"), "-", ""},
	} {
		y := newYard(1, 2)
		y.pool.Hosts, y.pool.LostAfter, y.pool.Accounts, y.pool.Account = fleet.HostsOne, fleet.Duration(time.Hour), c.accounts, c.account
		y.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Elsewhere: []fleet.Elsewhere{c.box2},
			Told: []fleet.PoolWorkers{{Pool: "dev", Present: 1}}, Leases: []fleet.Lease{{Key: "pool/dev", Mine: true, Left: fleet.Duration(fleet.LeaseTime)}}}}
		out, got := y.look(), ""
		for _, o := range out.Given {
			got = cmp.Or(o.Spawn.Account, "-")
		}
		held := ""
		for _, h := range out.Held {
			if h.Hint != "" {
				t.Errorf("%s: it hints at %s, which ends nothing here", name, h.Hint)
			}
			if held = h.Held; !h.Until.IsZero() {
				held += " until " + h.Until.Wall.Format("15:04")
			}
		}
		if got != c.want || held != c.held {
			t.Errorf("%s: it starts one of %q, want %q, and says %q, want %q", name, got, c.want, held, c.held)
		}
	}
	y := newYard(1, 2)
	y.pool.Hosts, y.pool.Accounts = fleet.HostsOne, []string{"work", "own"}
	y.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{{Key: "pool/dev", Mine: true, Left: fleet.Duration(fleet.LeaseTime)}}}}
	y.pass()
	y.carryOut()
	a := y.agents[y.regs[0].Name]
	a.State, a.RateLimitedAt, a.RateLimitedUntil = fleet.StateRateLimited, y.at(), y.at().Add(time.Hour)
	y.agents[a.Name] = a
	told := y.look().Workers
	if len(told) != 1 || !slices.Equal(told[0].Limits, []fleet.SpentAccount{{Account: "work", Until: y.at().Wall.Add(time.Hour)}}) {
		t.Errorf("it tells %+v", told)
	}
	y.now += time.Hour
	if told := y.look().Workers; len(told) != 1 || told[0].Limits != nil {
		t.Errorf("when it is reset it tells %+v", told)
	}
}

// TestWhoTellsOfALimit: of each account of the pool it is said which hosts tell of it, once; what a person may end here is
// hinted at where no other host tells of it.
func TestWhoTellsOfALimit(t *testing.T) {
	o := others{limits: []met{{host: "box2", account: "work"}, {host: "box3", account: "own"}, {host: "box2", account: "own"}, {host: "box2", account: "own"}}}
	for names, want := range map[string]string{"work": "work (box2)", "own": "own (box2), own (box3)", "work own": "own (box2), own (box3), work (box2)", "third": ""} {
		if want != "" {
			want = "; as other hosts say: " + want + "; custos resume --account NAME there ends that"
		}
		if got := o.say(strings.Fields(names)); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
	s := workers{others: o}
	for names, want := range map[string]string{"work": "", "work third": "custos resume --account third", "third work": "custos resume --account third"} {
		if got := s.endsHere(strings.Fields(names)); got != want {
			t.Errorf("%s: it hints at %q, want %q", names, got, want)
		}
	}
}
