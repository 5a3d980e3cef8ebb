package allowance

import (
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// quotaAgain is how much newer a word has to be that only says the same again, to be written down.
const quotaAgain = 10 * time.Minute

// QuotasTold are the quotas that agents tell of their accounts, of each window the newest, where that is
// news: they hold when those agents are gone.
func QuotasTold(past fleet.Past, seen fleet.Snapshot) (out []fleet.AccountQuota) {
	for _, told := range append(spenders(past, seen).windows(), limits(past, seen)...) {
		switch i := quotaOf(out, told); {
		case told.Account == "":
		case i < 0:
			out = append(out, told)
		case told.At.After(out[i].At):
			out[i] = told
		}
	}
	return slices.DeleteFunc(out, func(q fleet.AccountQuota) bool {
		i := quotaOf(past.Quotas, q)
		return i >= 0 && !isNews(past.Quotas[i].Quota, q.Quota)
	})
}

func (c spenderList) windows() (out []fleet.AccountQuota) {
	for _, s := range c {
		for _, q := range s.quota {
			out = append(out, fleet.AccountQuota{Account: s.Account, Quota: q})
		}
	}
	return out
}

// limits are those that agents tell of, and the ends of those that are kept: the model has answered
// an agent of the account since.
func limits(past fleet.Past, seen fleet.Snapshot) (out []fleet.AccountQuota) {
	if !seen.Agents.Usable() {
		return nil
	}
	registered := ledger.ByName(past.Registrations)
	for i := range seen.Agents.Value {
		a := &seen.Agents.Value[i]
		q := fleet.AccountQuota{Account: fleet.SpenderOf(registered[a.Name], a, nil).Account, Quota: fleet.Quota{Window: fleet.WindowLimit}}
		if !a.RateLimitedUntil.IsZero() {
			q.Percent, q.Resets, q.At = 100, a.RateLimitedUntil.Wall, a.RateLimitedAt.Wall
			out = append(out, q)
		} else if k := quotaOf(past.Quotas, q); k >= 0 && past.Quotas[k].Percent > 0 && a.Answered.Wall.After(past.Quotas[k].At) {
			q.Resets, q.At = a.Answered.Wall, a.Answered.Wall
			out = append(out, q)
		}
	}
	return out
}

func isNews(old, is fleet.Quota) bool {
	return is.At.After(old.At) && (is.Percent != old.Percent || !is.Resets.Equal(old.Resets) || is.At.Sub(old.At) >= quotaAgain)
}

// quotaOf is where the same window of the same account stands in a list, or less than 0.
func quotaOf(list []fleet.AccountQuota, of fleet.AccountQuota) int {
	return slices.IndexFunc(list, func(q fleet.AccountQuota) bool { return q.Account == of.Account && q.Window == of.Window })
}

// PlanOf is what is known of the plan of an account, of each window the newest word: what an agent of it tells
// itself, or any told before that may be gone.
func PlanOf(account string, own []fleet.Quota, past []fleet.AccountQuota) []fleet.Quota {
	plan := slices.Clone(own)
	for _, q := range past {
		if account == "" || q.Account != account {
			continue
		}
		switch i := slices.IndexFunc(plan, func(old fleet.Quota) bool { return old.Window == q.Window }); {
		case i < 0:
			plan = append(plan, q.Quota)
		case q.At.After(plan[i].At):
			plan[i] = q.Quota
		}
	}
	return plan
}

// remembered adds what was told by agents that may be gone, unless one that runs tells of the same window, and later.
func (c spenderList) remembered(past []fleet.AccountQuota, at time.Time) spenderList {
	for _, q := range past {
		if q.Window == fleet.WindowLimit {
			continue
		}
		newer := func(now fleet.Quota) bool { return now.Window == q.Window && !now.At.Before(q.At) }
		if !slices.ContainsFunc(c, func(s spender) bool { return s.Account == q.Account && slices.ContainsFunc(s.quota, newer) }) && at.Before(q.Resets) {
			c = append(c, spender{Spender: fleet.Spender{Account: q.Account}, quota: []fleet.Quota{q.Quota}})
		}
	}
	return c
}
