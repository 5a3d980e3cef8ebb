package registry

import (
	"strings"
	"time"

	"custos/internal/fleet"
)

// account is the account of workers that are started now; ok is false, and said, where all
// that the pool may use are at their limits.
func (s *workers) account(present, want int) (name string, ok bool) {
	names, limit := s.pool.Accounts, s.limit
	if len(names) == 0 { // whether it is at its limit here is asked when a worker is started, by guard gate
		names, limit = s.accounts(), s.others.limit
	}
	if len(names) == 0 {
		return "", true
	}
	name, until, ok := chooseAccount(names, s.inUse(), limit, s.snap.At)
	if !ok {
		s.hold(present, counted(want), fleet.HeldMove{Guard: fleet.GuardGate, Until: until, Hint: s.endsHere(names),
			Held: "all its accounts are at their limits: " + strings.Join(names, ", ") + s.others.say(names)})
	}
	return name, ok
}

// accounts are those that its workers may use.
func (s *workers) accounts() []string {
	if len(s.pool.Accounts) == 0 && s.pool.Account != "" {
		return []string{s.pool.Account}
	}
	return s.pool.Accounts
}

// inUse is the account of the worker that was begun last.
func (s *workers) inUse() (name string) {
	var last fleet.Instant
	for _, r := range s.past.Registrations {
		if r.Pool == s.pool.Name && r.Account != "" && (last.IsZero() || !r.CreatedAt.Before(last)) {
			name, last = r.Account, r.CreatedAt
		}
	}
	return name
}

// limit is the limit of an account, as this host or another one knows it.
func (s *workers) limit(account string) fleet.AccountLimit {
	here, there := s.limitHere(account), s.others.limit(account)
	if !there.Limited {
		return here
	}
	there.Told = here.Told && there.Told
	if here.Limited && there.Until.Before(here.Until) {
		there.Until = here.Until
	}
	return there
}

// limitHere is the limit of an account, as all its agents tell, whatever they work at.
func (s *workers) limitHere(account string) fleet.AccountLimit {
	of, lifted := map[string]string{}, fleet.Instant{}
	for _, r := range s.past.Registrations {
		of[r.Name] = r.Account
		if r.Account == account && (lifted.IsZero() || lifted.Before(r.LimitLifted)) {
			lifted = r.LimitLifted
		}
	}
	var agents []*fleet.Agent
	for i := range s.snap.Agents.Value {
		a := &s.snap.Agents.Value[i]
		name := of[a.Name]
		if name == "" {
			name = a.Account
		}
		if name == account {
			agents = append(agents, a)
		}
	}
	return fleet.LimitOf(account, agents, s.past.Quotas, lifted, s.snap.Agents.At, s.snap.At)
}

// accountRest is how long an account that was at its limit is left alone after the reset,
// where there is another one.
const accountRest = 10 * time.Minute

// chooseAccount says which of some accounts is used next, the one that was used last being
// current: that one until it is at its limit, then the first that is not, and of these one that
// was at its limit just now only where there is no other. ok is false where all are at their limits: then until is
// the earliest reset, zero where none is told.
func chooseAccount(names []string, current string, limit func(string) fleet.AccountLimit, now fleet.Instant) (name string, until fleet.Instant, ok bool) {
	rested := ""
	for _, n := range names {
		switch l := limit(n); {
		case l.IsExhausted(now):
			if l.Told && (until.IsZero() || l.Until.Before(until)) {
				until = l.Until
			}
		case n == current:
			return n, fleet.Instant{}, true
		case rested == "" && (!l.Limited || now.Since(l.Until) >= accountRest):
			rested = n
		case name == "":
			name = n
		}
	}
	if rested != "" {
		name = rested
	}
	if name != "" {
		until = fleet.Instant{}
	}
	return name, until, name != ""
}
