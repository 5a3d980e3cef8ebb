package store

import (
	"cmp"
	"time"

	"custos/internal/fleet"
)

// What one response can be, at most: no model's context holds a thousandth of it.
const (
	mostTokens   = 1 << 30
	mostMicroUSD = 1e12 // a million dollars
	aheadOfUs    = 10 * time.Minute
)

// sane returns a response as it is written down, and what of it cannot be: a moment that
// is not known, or lies ahead, is now. counts is false for what cannot be counted at all.
func sane(u fleet.Usage, now time.Time) (_ fleet.Usage, why string, counts bool) {
	t := u.Tokens
	for _, n := range []int64{t.Input, t.CacheRead, t.CacheWrite5m, t.CacheWrite1h, t.Output, t.Reasoning} {
		if n < 0 {
			return u, "it told fewer than no tokens", false
		}
		if n > mostTokens {
			return u, "it told more tokens than a response can have", false
		}
	}
	if u.Key == "" || len(u.Key) > 400 {
		return u, "it has no name, or one that is too long", false
	}
	switch {
	case u.At.IsZero():
		u.At, why = now, "it told no time: it counts when it was read"
	case u.At.After(now.Add(aheadOfUs)):
		u.At, why = now, "it told a time that is yet to come: it counts when it was read"
	}
	u.Tokens.Reasoning = min(t.Reasoning, t.Output)
	u.At = u.At.UTC()
	if u.MicroUSD < 0 || u.MicroUSD > mostMicroUSD {
		u.Pricing, why = fleet.Unpriced, "it told a price that cannot be: it is unpriced"
	}
	switch u.Pricing {
	case fleet.PricedByCLI, fleet.PricedByTable:
	default:
		u.Pricing, u.MicroUSD, u.Table = fleet.Unpriced, 0, ""
	}
	return bounded(u), why, true
}

// bounded shortens what others wrote, and is longer than any name.
func bounded(u fleet.Usage) fleet.Usage {
	for _, s := range []*string{&u.Kind, &u.Session, &u.Model, &u.Agent, &u.Instance, &u.Role, &u.Project, &u.Account, &u.Run, &u.Work, &u.CWD, &u.Table} {
		if len(*s) > 400 {
			*s = fleet.Line(*s, 200)
		}
	}
	return u
}

// merged is what is known of a response of which was known what old says, now that it was
// seen again. Which of two came first changes no sum: the one with the most tokens tells
// what it used and cost, the earliest when it was. Whose it is was said by the first; what
// that did not know the next one says.
func merged(old, u fleet.Usage) fleet.Usage {
	out := old
	if more := usedMore(u, old); more {
		out.Tokens, out.Pricing, out.MicroUSD, out.Table = u.Tokens, u.Pricing, u.MicroUSD, u.Table
		out.Model, out.Source = cmp.Or(u.Model, old.Model), u.Source
	}
	if u.At.Before(old.At) {
		out.At = u.At
	}
	out.Side = old.Side || u.Side
	for _, p := range []struct{ to, from *string }{{&out.Kind, &u.Kind}, {&out.Session, &u.Session}, {&out.Model, &u.Model}, {&out.Agent, &u.Agent}, {&out.Instance, &u.Instance},
		{&out.Role, &u.Role}, {&out.Project, &u.Project}, {&out.Account, &u.Account}, {&out.Run, &u.Run}, {&out.Work, &u.Work}, {&out.CWD, &u.CWD}} {
		*p.to = cmp.Or(*p.to, *p.from)
	}
	return out
}

// usedMore says whether a tells more of a response than b: it has more tokens or, of
// the same, a better price. A price of a table stays, whatever tables come later.
func usedMore(a, b fleet.Usage) bool {
	x, y := a.Tokens, b.Tokens
	if c := cmp.Or(cmp.Compare(x.All(), y.All()), cmp.Compare(x.Output, y.Output), cmp.Compare(x.Input, y.Input), cmp.Compare(x.CacheRead, y.CacheRead),
		cmp.Compare(x.CacheWrite1h, y.CacheWrite1h), cmp.Compare(x.Reasoning, y.Reasoning)); c != 0 {
		return c > 0
	}
	if c := cmp.Compare(sureness(a.Pricing), sureness(b.Pricing)); c != 0 {
		return c > 0
	}
	return a.Pricing == fleet.PricedByCLI && a.MicroUSD > b.MicroUSD
}

// sureness orders where prices are from.
func sureness(p fleet.Pricing) int {
	switch p {
	case fleet.PricedByCLI:
		return 2
	case fleet.PricedByTable:
		return 1
	}
	return 0
}
