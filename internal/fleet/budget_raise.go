package fleet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// raises begins the rule of a silence that is a raise of a budget: no rule has such a
// name, so that it silences nothing. What follows is which raise it is, and by how much.
const raises = "@raised "

// Raise is what a person raised a budget by, for a time.
type Raise struct {
	Name   string // of the budget: all of its allowances; or of one allowance
	Metric SpendMetric
	Amount float64 // millionths of a dollar, tokens, percent or minutes
	By     string
	Why    string
	Key    string // which raise it is: a word; empty: its moment tells
	From   Instant
	Until  Instant
}

// Counts says whether the raise is of that allowance and metric, and in force.
func (r Raise) Counts(budget, of string, m SpendMetric, at Instant) bool {
	return r.Metric == m && (r.Name == budget || of != "" && r.Name == budget+"/"+of) && !at.Before(r.From) && at.Before(r.Until)
}

// String is how a person writes the amount.
func (r Raise) String() string { return "+" + r.Metric.words(r.Amount) }

// ParseRaise reads what a person wrote: +10usd, +500k, +2Mtokens, +3h or +20%.
func ParseRaise(s string) (m SpendMetric, amount float64, err error) {
	bad := func() (SpendMetric, float64, error) {
		return "", 0, fmt.Errorf("cannot raise by %q: write +10usd, +500ktokens, +2h or +20%%", Line(s, 40))
	}
	rest, plus := strings.CutPrefix(strings.TrimSpace(s), "+")
	if !plus {
		return bad()
	}
	rest = strings.ToLower(strings.ReplaceAll(rest, " ", ""))
	unit, scale := MetricTokens, 1.0
	for _, u := range []struct {
		end    string
		metric SpendMetric
		scale  float64
	}{{"usd", MetricUSD, 1e6}, {"hours", MetricHours, 60}, {"h", MetricHours, 60}, {"%", MetricQuota, 1}, {"ktokens", MetricTokens, 1e3}, {"mtokens", MetricTokens, 1e6},
		{"tokens", MetricTokens, 1}, {"k", MetricTokens, 1e3}, {"m", MetricTokens, 1e6}} {
		if number, ok := strings.CutSuffix(rest, u.end); ok {
			rest, unit, scale = number, u.metric, u.scale
			break
		}
	}
	n, err := strconv.ParseFloat(rest, 64)
	least := 1.0
	if unit == MetricUSD {
		least = 1e4 // a cent: less is shown as nothing
	}
	if err != nil || !(n*scale >= least && n*scale < 1e15) { // NaN is not either
		return bad()
	}
	return unit, n * scale, nil
}

// Silence is the record of a raise, which lies where silences lie; each raise is one.
func (r Raise) Silence() Silence {
	amount := strconv.FormatFloat(r.Amount, 'f', -1, 64)
	rule := raises + string(r.Metric) + " " + amount + " " + cmp.Or(r.Key, r.From.Wall.UTC().Format(time.RFC3339Nano))
	return Silence{Rule: rule, Subject: Subject{KindBudget, r.Name}, By: r.By, Why: r.Why, From: r.From, Until: r.Until}
}

// End is the record that ends a raise.
func (r Raise) End(at Instant, by string) Silence {
	s := r.Silence()
	s.By, s.Until = by, at
	return s
}

// Raises returns the raises among silences that are in force, in the order of the silences.
func Raises(silences []Silence, at Instant) (out []Raise) {
	for _, s := range silences {
		if r, ok := raiseIn(s); ok && at.Before(r.Until) {
			out = append(out, r)
		}
	}
	return out
}

// RaiseOf finds the raise of a budget or allowance that has a key, though it is over.
func RaiseOf(silences []Silence, name, key string) (Raise, bool) {
	for _, s := range silences {
		if r, ok := raiseIn(s); ok && key != "" && r.Key == key && r.Name == name {
			return r, true
		}
	}
	return Raise{}, false
}

// raiseIn reads a raise of the record that Raise.Silence makes.
func raiseIn(s Silence) (Raise, bool) {
	words := strings.Fields(strings.TrimPrefix(s.Rule, raises))
	if !strings.HasPrefix(s.Rule, raises) || len(words) != 3 || s.Subject.Kind != KindBudget {
		return Raise{}, false
	}
	amount, err := strconv.ParseFloat(words[1], 64)
	return Raise{Name: s.Subject.Name, Metric: SpendMetric(words[0]), Amount: amount, By: s.By, Why: s.Why, Key: words[2], From: s.From, Until: s.Until}, err == nil && amount > 0
}

// raisedWords says by how much an allowance is raised now, and until when.
func raisedWords(raised []Raise, budget, of string, at Instant) string {
	var parts []string
	for _, r := range raised {
		if r.Counts(budget, of, r.Metric, at) {
			parts = append(parts, fmt.Sprintf("%s until %s by %s", r, r.Until.Wall.UTC().Format("2006-01-02 15:04Z"), r.By))
		}
	}
	return strings.Join(parts, ", ")
}
