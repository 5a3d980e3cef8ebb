package fleet

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BudgetFacts is what one allowance of a budget means now.
type BudgetFacts struct {
	Name   string       `json:"name" help:"its name, that of its section; where each of several has an allowance of its own, with / and whose it is"`
	Budget string       `json:"budget" help:"the name of its section, [budget.NAME]"`
	By     SpendBy      `json:"scope" help:"what it counts together: agent, role, project, account, run, work, kind or fleet"`
	Of     string       `json:"of,omitempty" help:"whose spending it counts; empty for that of the whole fleet"`
	Window BudgetWindow `json:"window" help:"session, 1h, day, week, month or total"`
	Ends   Instant      `json:"ends,omitzero" help:"when its window ends; not known for one that slides, or has no end"`

	Metric  SpendMetric   `json:"metric" help:"the limit that is nearest: usd, tokens, quota_percent or hours"`
	Used    Leaf[float64] `json:"used" help:"how much of that is used: dollars, tokens, percent or hours"`
	Limit   float64       `json:"limit" help:"how much of that there is, what it was raised by included"`
	Percent Leaf[float64] `json:"percent" help:"the same as a share of the limit" unit:"percent"`
	Says    string        `json:"says" help:"the same in words"`
	Stage   BudgetStage   `json:"stage" help:"how far it has come: under, warn, hold, pause or stop"`
	Blind   string        `json:"blind,omitempty" help:"what of the spending is not known, so that more may be used; empty when all is"`
	Raised  string        `json:"raised,omitempty" help:"what it is raised by now, and until when; empty when it is not"`

	Rate        Leaf[float64]  `json:"rate" help:"what is used in an hour, as since the first response of the last hour"`
	TimeToLimit Leaf[Duration] `json:"time_to_limit" help:"until the limit is reached at that rate; not known when it is not before the window ends"`
	Quiet       Leaf[Duration] `json:"quiet" help:"time since the newest response that it counts; not known when there is none"`

	Agents  []string `json:"agents,omitempty" help:"names of the agents of ours that run and spend of it, sorted"`
	Foreign []string `json:"foreign,omitempty" help:"names of the agents that run, spend of it and are not ours, so that they are only told of; sorted"`
}

// Facts judges what one allowance of the budget has spent, with what a person raised it by.
// What is not known is not judged, but what is known to be spent counts: it can
// only be more.
func (b *Budget) Facts(s Spending, raised []Raise, at Instant) BudgetFacts {
	f := BudgetFacts{Name: b.AllowanceName(s.Of), Budget: b.Name, By: b.By, Of: s.Of, Window: b.Window, Stage: StageUnder,
		Rate: Unknown[float64]("nothing is limited"), TimeToLimit: Unknown[Duration]("nothing is limited"), Quiet: Unknown[Duration]("nothing was spent")}
	if !s.Until.IsZero() {
		f.Ends = at.Add(s.Until.Sub(at.Wall))
	}
	if !s.Last.IsZero() {
		f.Quiet = Known(Duration(max(0, at.Wall.Sub(s.Last))))
	}
	meters := b.meters(s, raised, at)
	if len(meters) == 0 {
		return f
	}
	first := meters[0]
	for _, m := range meters {
		if stage := b.Stage(m.percent()); !f.Stage.Reaches(stage) {
			f.Stage = stage
		}
		if m.blind != "" && f.Blind == "" {
			f.Blind = m.blind
		}
		if m.percent() > first.percent() {
			first = m
		}
	}
	f.tell(first, s, at)
	f.Raised = raisedWords(raised, b.Name, s.Of, at)
	return f
}

// meter is one limit of a budget, and how much of it is used at least.
type meter struct {
	metric      SpendMetric
	used, limit float64
	blind       string // why more may be used
	rate        Leaf[float64]
}

func (m meter) percent() float64 { return 100 * m.used / m.limit }

// meters are the limits of the budget.
func (b *Budget) meters(s Spending, raised []Raise, at Instant) (out []meter) {
	for _, metric := range SpendMetrics() {
		limit := b.Limit(metric)
		if limit <= 0 {
			continue
		}
		for _, r := range raised {
			if r.Counts(b.Name, s.Of, metric, at) {
				limit += r.Amount
			}
		}
		m := meter{metric: metric, limit: limit}
		m.used, m.blind = b.used(metric, s, at.Wall)
		m.blind = also(m.blind, SpendForgotten(s.Lost))
		if metric != MetricQuota { // a plan's quota is told, and not counted
			m.blind = also(m.blind, s.Uncounted)
		}
		m.rate = b.rate(metric, s, at.Wall)
		out = append(out, m)
	}
	return out
}

// used is how much is known to be used of a metric, and why it may be more.
func (b *Budget) used(m SpendMetric, s Spending, now time.Time) (used float64, blind string) {
	switch m {
	case MetricUSD:
		if s.Unpriced > 0 {
			blind = "the price of " + Counted(int(s.Unpriced), "response") + " is not known"
		}
		return float64(s.MicroUSD), blind
	case MetricTokens:
		return float64(b.counted(s.Tokens)), ""
	case MetricHours:
		return float64(s.Minutes), ""
	}
	used, blind, _ = QuotaUsed(s.Quota, now)
	return used, blind
}

// also adds to why more may be used one more reason.
func also(blind, why string) string {
	if blind != "" && why != "" {
		return blind + ", and " + why
	}
	return blind + why
}

// SpendForgotten says of what was spent that it is not known, for what became of what was written down; "" while that is there.
func SpendForgotten(lost string) string {
	if lost == "" {
		return ""
	}
	return "what was spent before is forgotten until a person acknowledges the alert self-amnesia (" + Line(lost, 200) + ")"
}

func (b *Budget) counted(t Tokens) int64 {
	if b.All {
		return t.All()
	}
	return t.Work()
}

// tell fills in what is said of the limit that is nearest.
func (f *BudgetFacts) tell(m meter, s Spending, at Instant) {
	unit := m.metric.unit()
	f.Metric, f.Limit = m.metric, m.limit/unit
	f.Used, f.Percent = Known(m.used/unit), Known(m.percent())
	f.Says = m.metric.words(m.used) + " of " + m.metric.words(m.limit)
	if m.blind != "" {
		f.Says = "at least " + f.Says
		if m.used < m.limit {
			f.Used, f.Percent = Unknown[float64](m.blind), Unknown[float64](m.blind)
		}
	}
	if m.metric == MetricQuota || m.metric == MetricHours {
		f.Rate, f.TimeToLimit = Unknown[float64]("only money and tokens have a rate"), Unknown[Duration]("only money and tokens have a rate")
		return
	}
	f.Rate = Unknown[float64](m.rate.Why())
	if rate, known := m.rate.Get(); known {
		f.Rate = Known(rate / unit)
	}
	f.TimeToLimit = m.timeToLimit(f.Ends, at)
}

// timeToLimit is when the limit is reached at its rate, unless its window ends before.
func (m meter) timeToLimit(ends, at Instant) Leaf[Duration] {
	left := TimeToLimit(m.used, m.limit, m.rate)
	if d, known := left.Get(); known && !ends.IsZero() && time.Duration(d) > ends.Since(at) {
		return Unknown[Duration]("its window ends before")
	}
	return left
}

// rate is what is used in an hour, as since the first response of the last one: what began ten minutes ago is not
// spread over the fifty before. What was used in a single minute, just now, is no rate; nor is what is dated later than
// now, by a clock that was ahead.
func (b *Budget) rate(m SpendMetric, s Spending, at time.Time) Leaf[float64] {
	recent := s.Recent
	if later := slices.IndexFunc(recent, func(r Spent) bool { return r.At.After(at) }); later >= 0 {
		recent = recent[:later]
	}
	if len(recent) == 0 {
		return Known(0.0)
	}
	if at.Sub(recent[0].At) < 2*SpendStep {
		return Unknown[float64]("too little was seen to tell a rate")
	}
	sum := 0.0
	points := []SpendPoint{{At: recent[0].At}}
	for _, r := range recent {
		sum += b.stepOf(m, r)
		points = append(points, SpendPoint{At: r.At.Add(SpendStep), Used: sum})
	}
	return BurnRate(append(points, SpendPoint{At: at, Used: sum}))
}

func (b *Budget) stepOf(m SpendMetric, s Spent) float64 {
	if m == MetricUSD {
		return float64(s.MicroUSD)
	}
	return float64(b.counted(s.Tokens))
}

// unit is how many of what is counted are one of what people speak of.
func (m SpendMetric) unit() float64 {
	switch m {
	case MetricUSD:
		return 1e6
	case MetricHours:
		return 60
	}
	return 1
}

func (m SpendMetric) words(n float64) string {
	switch m {
	case MetricUSD:
		return USDWords(n/1e6) + " USD"
	case MetricTokens:
		return TokenWords(int64(n)) + " tokens"
	case MetricHours:
		return strconv.FormatFloat(n/60, 'f', 1, 64) + " hours"
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " % of the plan"
}

// USDWords writes dollars for people: cents from a dollar on, and of less three digits that tell something, down to
// millionths. api.Dollars has the same digits, which is held by a test of view.
func USDWords(usd float64) string {
	digits := 2
	for least := 1.0; digits < 6 && usd != 0 && math.Abs(usd) < least; least /= 10 {
		digits++
	}
	text := strconv.FormatFloat(usd, 'f', digits, 64)
	for digits > 2 && strings.HasSuffix(text, "0") {
		text, digits = text[:len(text)-1], digits-1
	}
	return text
}

// TokenWords writes a number of tokens for people: 950, 12.3k, 4.56M. What two digits round up to 1000 of a unit is 1 of the next.
func TokenWords(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= u.of-u.of/200_000 {
			text := strconv.FormatFloat(float64(n)/float64(u.of), 'f', 2, 64)
			return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Holds is what is said where the budget holds something back: which budget, and what of it
// is used up. The words stay the same while more is spent.
func (f *BudgetFacts) Holds() string {
	of := "the fleet"
	if f.Of != "" {
		of = string(f.By) + " " + f.Of
	}
	how := "has come to its hold"
	if f.Percent.Or(0) >= 100 {
		how = "is used up"
	}
	return fmt.Sprintf("budget %s %s: %s for %s %s", f.Budget, how, f.Metric.words(f.Limit*f.Metric.unit()), of, f.Window.words())
}

// Left is how much of it is left, in words; empty where nothing is limited.
func (f *BudgetFacts) Left() string {
	used, known := f.Used.Get()
	switch {
	case f.Says == "":
		return ""
	case !known:
		return "what is left is not known: used is " + f.Says
	}
	unit := f.Metric.unit()
	return f.Metric.words(max(0, f.Limit-used)*unit) + " left of " + f.Metric.words(f.Limit*unit)
}

// HintRaise is how a person raises it.
func (f *BudgetFacts) HintRaise() string {
	return "custos budget raise " + f.Name + " " + f.Metric.more() + " --for 2h"
}

// more is how a person writes some more of a metric.
func (m SpendMetric) more() string {
	return map[SpendMetric]string{MetricUSD: "+10usd", MetricTokens: "+1Mtokens", MetricQuota: "+10%", MetricHours: "+1h"}[m]
}

// Limits says what the budget limits, and how a person writes more of that.
func (b *Budget) Limits() (limits, more string) {
	var all, by []string
	for _, m := range SpendMetrics() {
		if limit := b.Limit(m); limit > 0 {
			all, by = append(all, m.words(limit)), append(by, m.more())
		}
	}
	return strings.Join(all, " and "), strings.Join(by, " or ")
}

func (w BudgetWindow) words() string {
	switch w {
	case WindowSession:
		return "in one conversation"
	case WindowHour:
		return "within an hour"
	case WindowTotal:
		return "in all"
	}
	return "in this " + string(w)
}
