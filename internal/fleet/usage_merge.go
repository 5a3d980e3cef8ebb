package fleet

import "cmp"

// Merged is what is known of a response that was seen again. Which came first changes no
// sum: the one with the most tokens tells what it used and cost, the earliest when it was.
// Whose it is was said by the first; what that did not know the next one says.
func (u Usage) Merged(again Usage) Usage {
	out := u
	if usedMore(again, u) {
		out.Tokens, out.Pricing, out.MicroUSD, out.Table = again.Tokens, again.Pricing, again.MicroUSD, again.Table
		out.Model, out.Source = cmp.Or(again.Model, u.Model), again.Source
	}
	if again.At.Before(u.At) {
		out.At = again.At
	}
	out.Side = u.Side || again.Side
	for _, p := range []struct{ to, from *string }{{&out.Kind, &again.Kind}, {&out.Session, &again.Session}, {&out.Model, &again.Model}, {&out.Agent, &again.Agent}, {&out.Instance, &again.Instance},
		{&out.Role, &again.Role}, {&out.Project, &again.Project}, {&out.Account, &again.Account}, {&out.Run, &again.Run}, {&out.Work, &again.Work}, {&out.CWD, &again.CWD}} {
		*p.to = cmp.Or(*p.to, *p.from)
	}
	return out
}

// usedMore says whether a tells more of a response than b: it has more tokens or, of
// the same, a better price. A price of a table stays, whatever tables come later.
func usedMore(a, b Usage) bool {
	x, y := a.Tokens, b.Tokens
	if c := cmp.Or(cmp.Compare(x.All(), y.All()), cmp.Compare(x.Output, y.Output), cmp.Compare(x.Input, y.Input), cmp.Compare(x.CacheRead, y.CacheRead),
		cmp.Compare(x.CacheWrite1h, y.CacheWrite1h), cmp.Compare(x.Reasoning, y.Reasoning)); c != 0 {
		return c > 0
	}
	if c := cmp.Compare(sureness(a.Pricing), sureness(b.Pricing)); c != 0 {
		return c > 0
	}
	return a.Pricing == PricedByCLI && a.MicroUSD > b.MicroUSD
}

// sureness orders where prices are from.
func sureness(p Pricing) int {
	switch p {
	case PricedByCLI:
		return 2
	case PricedByTable:
		return 1
	}
	return 0
}
