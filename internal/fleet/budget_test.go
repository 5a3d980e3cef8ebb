package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = Instant{Wall: time.Date(2026, 3, 29, 10, 0, 0, 0, time.UTC), Up: Duration(time.Hour), Boot: "b"}

// TestWindows: a day has as many hours as the zone gives it, and a week begins on Monday.
func TestWindows(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no zones here")
	}
	for _, c := range []struct {
		window      BudgetWindow
		at          string
		from, until string
	}{
		{WindowDay, "2026-03-29T10:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}, // 23 hours
		{WindowDay, "2026-10-25T00:30:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 hours
		{WindowDay, "2026-03-28T22:59:59Z", "2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z"},
		{WindowWeek, "2026-03-29T10:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"}, // a Sunday
		{WindowWeek, "2026-03-30T10:00:00Z", "2026-03-29T22:00:00Z", "2026-04-05T22:00:00Z"}, // and the Monday after it
		{WindowMonth, "2026-12-31T22:59:59Z", "2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z"},
		{WindowHour, "2026-03-29T10:00:00Z", "2026-03-29T09:00:00Z", ""},
		{WindowTotal, "2026-03-29T10:00:00Z", "", ""},
		{WindowSession, "2026-03-29T10:00:00Z", "", ""},
	} {
		at, _ := time.Parse(time.RFC3339, c.at)
		from, until := c.window.Bounds(at, berlin)
		if got := stamp(from) + " " + stamp(until); got != c.from+" "+c.until {
			t.Errorf("%s of %s: %s, want %s %s", c.window, c.at, got, c.from, c.until)
		}
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

func dollars(n float64) int64 { return int64(n * 1e6) }

// TestBudgetFacts: what is known to be spent counts, and of what is not known nothing is
// made up.
func TestBudgetFacts(t *testing.T) {
	ten := Budget{Name: "b", By: SpendByFleet, Window: WindowDay, MicroUSD: dollars(10), Warn: 80, Hold: 100, Pause: 100}
	both := ten
	both.Tokens, both.Hold, both.Stop = 1000, 90, 150
	all := Budget{Name: "b", By: SpendByFleet, Tokens: 1000, All: true, Warn: 80, Hold: 100}
	quota := Budget{Name: "b", By: SpendByFleet, Quota: 50, Warn: 80, Hold: 100}
	cached := Tokens{Input: 100, CacheRead: 5000, Output: 100}
	const forgotten = "what was spent before is forgotten until a person acknowledges the alert self-amnesia (the database is damaged)"
	for _, c := range []struct {
		name  string
		of    Budget
		spent Spending
		raise string
		want  string
	}{
		{"nothing", ten, Spending{}, "", "under 0 0.00 USD of 10.00 USD"},
		{"less than a cent", Budget{Name: "b", By: SpendByFleet, Window: WindowDay, MicroUSD: 100, Warn: 80}, Spending{MicroUSD: 312}, "", "warn 312 0.000312 USD of 0.0001 USD"},
		{"cents", Budget{Name: "b", By: SpendByFleet, Window: WindowDay, MicroUSD: dollars(0.06), Warn: 80}, Spending{MicroUSD: dollars(0.03)}, "", "under 50 0.03 USD of 0.06 USD"},
		{"a cent below", ten, Spending{MicroUSD: dollars(7.999999)}, "", "under 80 8.00 USD of 10.00 USD"},
		{"warned", ten, Spending{MicroUSD: dollars(8)}, "", "warn 80 8.00 USD of 10.00 USD"},
		{"reached", ten, Spending{MicroUSD: dollars(10)}, "", "pause 100 10.00 USD of 10.00 USD"},
		{"raised", ten, Spending{MicroUSD: dollars(10)}, "+10usd", "under 50 10.00 USD of 20.00 USD"},
		{"raised in tokens", ten, Spending{MicroUSD: dollars(10)}, "+10k", "pause 100 10.00 USD of 10.00 USD"},
		{"unpriced, below", ten, Spending{MicroUSD: dollars(1), Unpriced: 2}, "", "under ? at least 1.00 USD of 10.00 USD; the price of 2 responses is not known"},
		{"unpriced, and warned for what is known", ten, Spending{MicroUSD: dollars(9), Unpriced: 1}, "", "warn ? at least 9.00 USD of 10.00 USD; the price of 1 response is not known"},
		{"unpriced, and reached all the same", ten, Spending{MicroUSD: dollars(11), Unpriced: 1}, "", "pause 110 at least 11.00 USD of 10.00 USD; the price of 1 response is not known"},
		{"unpriced trips tokens", both, Spending{Unpriced: 3, Tokens: Tokens{Input: 600, Output: 300}}, "", "hold 90 900 tokens of 1k tokens; the price of 3 responses is not known"},
		{"stop", both, Spending{MicroUSD: dollars(15)}, "", "stop 150 15.00 USD of 10.00 USD"},
		{"what came from the cache is no work", both, Spending{Tokens: cached}, "", "under 20 200 tokens of 1k tokens"},
		{"but counts among all", all, Spending{Tokens: cached}, "", "hold 520 5.2k tokens of 1k tokens"},
		{"lost, and little since", ten, Spending{MicroUSD: dollars(1), Lost: "the database is damaged"}, "", "under ? at least 1.00 USD of 10.00 USD; " + forgotten},
		{"lost, and nothing since", both, Spending{Lost: "the database is damaged"}, "", "under ? at least 0.00 USD of 10.00 USD; " + forgotten},
		{"lost, and enough since", ten, Spending{MicroUSD: dollars(12), Lost: "the database is damaged"}, "", "pause 120 at least 12.00 USD of 10.00 USD; " + forgotten},
		{"lost, and a price not known", ten, Spending{Unpriced: 1, Lost: "the database is damaged"}, "", "under ? at least 0.00 USD of 10.00 USD; the price of 1 response is not known, and " + forgotten},
		{"nobody tells the quota", quota, Spending{MicroUSD: dollars(99)}, "", "under ? at least 0 % of the plan of 50 % of the plan; no agent tells how much of its plan is used"},
	} {
		var raised []Raise
		if c.raise != "" {
			m, n, err := ParseRaise(c.raise)
			if err != nil {
				t.Fatal(err)
			}
			raised = []Raise{{Name: "b", Metric: m, Amount: n, By: "ann", From: noon, Until: noon.Add(time.Hour)}}
		}
		f := c.of.Facts(c.spent, raised, noon)
		percent := "?"
		if p, known := f.Percent.Get(); known {
			percent = strings.TrimSuffix(MetricQuota.words(p), " % of the plan")
		}
		got := string(f.Stage) + " " + percent + " " + f.Says
		if f.Blind != "" {
			got += "; " + f.Blind
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBudgetOnlyGrows: within a window more spending never brings a budget back, and a raise
// never brings it further.
func TestBudgetOnlyGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(what string) int64 { return rapid.Int64Range(0, 2000).Draw(t, what) }
		b := Budget{Name: "b", By: SpendByFleet, MicroUSD: n("usd"), Tokens: n("tokens"), All: rapid.Bool().Draw(t, "all"), Minutes: n("minutes"),
			Warn: float64(n("warn")) / 10, Hold: float64(n("hold")) / 10, Pause: float64(n("pause")) / 10, Stop: float64(n("stop")) / 10}
		spent := func(from Spending) Spending {
			from.MicroUSD += n("spent")
			from.Unpriced += n("unpriced")
			from.Minutes += n("for")
			from.Tokens = from.Tokens.Add(Tokens{Input: n("in"), CacheRead: n("read"), Output: n("out")})
			return from
		}
		before := spent(Spending{})
		after := spent(before)
		was, is := b.Facts(before, nil, noon), b.Facts(after, nil, noon)
		if !is.Stage.Reaches(was.Stage) {
			t.Fatalf("%s, and with more spent %s", was.Stage, is.Stage)
		}
		raise := Raise{Name: "b", Metric: SpendMetrics()[n("metric")%4], Amount: float64(1 + n("raise")), From: noon, Until: noon.Add(time.Hour)}
		if raised := b.Facts(after, []Raise{raise}, noon); !is.Stage.Reaches(raised.Stage) {
			t.Fatalf("%s, and raised %s", is.Stage, raised.Stage)
		}
	})
}

// TestBudgetRate: when it is used up is told, unless its window ends before.
func TestBudgetRate(t *testing.T) {
	b := Budget{Name: "b", By: SpendByFleet, Window: WindowDay, MicroUSD: dollars(10), Hold: 100}
	steady := Spending{MicroUSD: dollars(4), Until: noon.Wall.Add(10 * time.Hour)}
	for i := range 60 {
		steady.Recent = append(steady.Recent, Spent{At: noon.Wall.Add(-time.Hour).Add(time.Duration(i) * SpendStep), MicroUSD: dollars(0.05)})
	}
	f := b.Facts(steady, nil, noon)
	if rate, _ := f.Rate.Get(); rate < 2.9 || rate > 3.1 {
		t.Errorf("rate %v, want 3 dollars an hour", rate)
	}
	if left, known := f.TimeToLimit.Get(); !known || left < Duration(110*time.Minute) || left > Duration(130*time.Minute) {
		t.Errorf("%s to the limit, want two hours", left)
	}
	begun := Spending{MicroUSD: dollars(4), Recent: steady.Recent[48:]} // twelve minutes ago
	if rate, _ := b.Facts(begun, nil, noon).Rate.Get(); rate < 2.9 || rate > 3.1 {
		t.Errorf("rate %v of what began within the hour, want 3 dollars an hour", rate)
	}
	once := Spending{MicroUSD: dollars(4), Recent: []Spent{{At: noon.Wall.Truncate(SpendStep), MicroUSD: dollars(4)}}}
	if f := b.Facts(once, nil, noon.Add(40*time.Second)); f.Rate.IsKnown() || f.TimeToLimit.IsKnown() {
		t.Errorf("one minute is taken for a rate: %v", f.Rate)
	}
	soon := steady
	soon.Until = noon.Wall.Add(time.Hour)
	if f := b.Facts(soon, nil, noon); f.TimeToLimit.IsKnown() {
		t.Error("its window ends before, and a time to the limit is told")
	}
	if f := b.Facts(Spending{MicroUSD: dollars(11)}, nil, noon); f.TimeToLimit.Or(1) != 0 {
		t.Error("it is reached, and the time to that is not 0")
	}
}

// TestBudgetRateOfAClockThatWentBack: what was used while the clock was ahead is used, and says nothing of
// how fast it is used now.
func TestBudgetRateOfAClockThatWentBack(t *testing.T) {
	b := Budget{Name: "b", By: SpendByFleet, Window: WindowDay, MicroUSD: dollars(100), Hold: 100}
	now := Spending{MicroUSD: dollars(20)}
	for i := range 20 {
		now.Recent = append(now.Recent, Spent{At: noon.Wall.Add(time.Duration(i-20) * SpendStep), MicroUSD: dollars(0.05)})
	}
	want := b.Facts(now, nil, noon)
	for _, hours := range []int{1, 3, 11} {
		ahead := now
		for i := range 60 {
			ahead.Recent = append(slices.Clip(ahead.Recent), Spent{At: noon.Wall.Add(time.Duration(hours)*time.Hour + time.Duration(i)*SpendStep), MicroUSD: dollars(0.3)})
		}
		ahead.Last = noon.Wall.Add(time.Duration(hours+1) * time.Hour)
		got := b.Facts(ahead, nil, noon)
		if got.Says != want.Says || got.Rate != want.Rate || got.TimeToLimit != want.TimeToLimit {
			t.Errorf("the clock was %d hours ahead: %s, %v an hour, %v to the limit; want %s, %v, %v", hours, got.Says, got.Rate, got.TimeToLimit, want.Says, want.Rate, want.TimeToLimit)
		}
	}
}

func TestParseRaise(t *testing.T) {
	for in, want := range map[string]string{"+10usd": "+10.00 USD", "+0.5 USD": "+0.50 USD", "+500": "+500 tokens", "+500k": "+500k tokens", "+2Mtokens": "+2M tokens",
		"+3h": "+3.0 hours", "+20%": "+20 % of the plan"} {
		m, n, err := ParseRaise(in)
		if got := (Raise{Metric: m, Amount: n}).String(); err != nil || got != want {
			t.Errorf("%q: %s %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "10usd", "+", "+usd", "+-1usd", "+NaNusd", "+Infusd", "+0usd", "+1e300usd", "+10eur", "+1usd2", "+0.0000001usd", "+0.004usd", "+0.4tokens", "+0.01h"} {
		if m, n, err := ParseRaise(in); err == nil {
			t.Errorf("%q is read as %v %s", in, n, m)
		}
	}
}

// TestRaises: a raise outlives being written down, counts for its budget alone, and ends.
func TestRaises(t *testing.T) {
	one := Raise{Name: "b", Metric: MetricUSD, Amount: 5e6, By: "ann", Why: "the release", Key: "k1", From: noon, Until: noon.Add(2 * time.Hour)}
	allowance := Raise{Name: "each/builder", Metric: MetricTokens, Amount: 1000, By: "ann", Key: "k2", From: noon, Until: noon.Add(time.Hour)}
	silences := []Silence{one.Silence(), allowance.Silence(), {Rule: "agent-stuck"}, {Rule: "@raised x"}, {Rule: "@raised usd -5 x", Subject: Subject{KindBudget, "b"}, Until: noon.Add(time.Hour)}}
	got := Raises(silences, noon)
	if len(got) != 2 || got[0] != one || got[1] != allowance {
		t.Fatalf("%+v", got)
	}
	for _, c := range []struct {
		budget, of string
		m          SpendMetric
		at         Instant
		want       int
	}{
		{"b", "", MetricUSD, noon, 1}, {"b", "x", MetricUSD, noon, 1}, {"b", "", MetricTokens, noon, 0}, {"c", "", MetricUSD, noon, 0},
		{"each", "builder", MetricTokens, noon, 1}, {"each", "other", MetricTokens, noon, 0},
		{"b", "", MetricUSD, noon.Add(2 * time.Hour), 0}, {"b", "", MetricUSD, noon.Add(-time.Second), 0},
	} {
		n := 0
		for _, r := range got {
			if r.Counts(c.budget, c.of, c.m, c.at) {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%+v: %d count", c, n)
		}
	}
	silences[0] = one.End(noon.Add(time.Minute), "bob")
	if left := Raises(silences, noon.Add(time.Minute)); len(left) != 1 {
		t.Errorf("one was ended, and %d are in force", len(left))
	}
}

func TestPurse(t *testing.T) {
	who := Spender{Agent: "build-1", Role: "builder", Kind: "claude"}
	for _, c := range []struct {
		b    Budget
		of   string
		want bool
	}{
		{Budget{By: SpendByFleet}, "", true}, {Budget{By: SpendByFleet, Of: "x"}, "", true},
		{Budget{By: SpendByAgent}, "build-1", true}, {Budget{By: SpendByAgent, Of: "build-*"}, "build-1", true}, {Budget{By: SpendByAgent, Of: "test-*"}, "build-1", false},
		{Budget{By: SpendByRole, Of: "builder"}, "builder", true}, {Budget{By: SpendByProject}, "", false}, {Budget{By: SpendByKind, Of: "c*"}, "claude", true},
	} {
		if of, ok := c.b.Allowance(who); of != c.of || ok != c.want {
			t.Errorf("%+v: %q %v", c.b, of, ok)
		}
	}
}

// What an agent has taken is its work, else its task: as its rows in the ledger have it, so that a budget for each
// piece of work holds who spends of it.
func TestSpenderOf(t *testing.T) {
	seen, reg := &Agent{Name: "a", Role: "r", Account: "seen", Task: "t1", Kind: "k"}, &Registration{Name: "a", Kind: "k", Task: "t2", Run: "n"}
	for _, c := range []struct {
		reg     *Registration
		seen    *Agent
		working map[string]string
		want    Spender
	}{
		{nil, nil, map[string]string{"": "w"}, Spender{}}, {nil, seen, nil, Spender{Agent: "a", Role: "r", Account: "seen", Work: "t1", Kind: "k"}},
		{reg, seen, nil, Spender{Agent: "a", Account: "seen", Run: "n", Work: "t2", Kind: "k"}}, {reg, nil, map[string]string{"b": "w"}, Spender{Agent: "a", Run: "n", Work: "t2", Kind: "k"}},
		{reg, nil, map[string]string{"a": "w"}, Spender{Agent: "a", Run: "n", Work: "w", Kind: "k"}},
	} {
		if got := SpenderOf(c.reg, c.seen, c.working); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}

func TestTokenWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 1234: "1.23k", 999_994: "999.99k", 999_995: "1M", 999_999: "1M", 1_500_000: "1.5M",
		999_994_999: "999.99M", 999_995_000: "1G", 2_000_000_000: "2G"} {
		if got := TokenWords(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
