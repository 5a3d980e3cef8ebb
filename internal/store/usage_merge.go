package store

import (
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
