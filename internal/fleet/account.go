package fleet

import (
	"slices"
	"time"
)

// Account is the section [account.NAME]: a login with the provider of a model, whose
// limits those share who use it.
type Account struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // of the agent CLI that is logged in
	// ConfigDir is the folder of the CLI's own that it is logged in from; empty: the one it
	// uses by itself. What is in it is the CLI's and the person's: Custos names it, and reads
	// conversations in it.
	ConfigDir string `json:"config_dir,omitempty"`
	Plan      string `json:"plan,omitempty"` // what the person calls the plan
}

// Accounts are the sections [account.NAME], in the order of their names.
type Accounts []Account

// Get returns the account of a name; ok is false where no section says anything of it.
func (l Accounts) Get(name string) (a Account, ok bool) {
	i := slices.IndexFunc(l, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return Account{}, false
	}
	return l[i], true
}

// Names lists them.
func (l Accounts) Names() (names []string) {
	for _, a := range l {
		names = append(names, a.Name)
	}
	return names
}

// SourceScreen is the source of a state that only what a screen shows tells.
const SourceScreen = "screen"

// AccountLimit is the rate limit of an account, as far as any of its agents tells.
type AccountLimit struct {
	Limited bool    // it is at its limit, or was within the last hour
	Told    bool    // when that is reset; false: some agent is limited, and it is not known until when
	Until   Instant // the latest reset that is told
}

// limitMemory is how long after its reset a limit is remembered.
const limitMemory = Duration(time.Hour)

// LimitOf is the limit of the account that these agents are of, which were seen at a moment, and of
// what is kept of those that are gone. A limit that was reset long ago is none; one that a person
// lifted was reset when they did.
func LimitOf(account string, agents []*Agent, kept []AccountQuota, lifted, seen, now Instant) AccountLimit {
	l := AccountLimit{Told: true}
	for _, a := range append(goneWith(account, kept, now), agents...) {
		reset := a.RateLimitedUntil
		if a.LimitIsLifted(lifted, seen) {
			reset = lifted
		}
		switch {
		case reset.IsZero():
			if a.State == StateRateLimited && a.Source != SourceScreen { // a screen shows what an agent says, too
				l.Limited, l.Told = true, false
			}
		case now.Before(reset) || now.Since(reset) < time.Duration(limitMemory):
			l.Limited = true
			if l.Until.IsZero() || l.Until.Before(reset) {
				l.Until = reset
			}
		}
	}
	return l
}

// goneWith are agents of an account that met a limit, as far as that is kept of them.
func goneWith(account string, kept []AccountQuota, now Instant) (gone []*Agent) {
	for _, q := range kept {
		if q.Account == account && q.Window == WindowLimit && q.Percent >= 100 {
			gone = append(gone, &Agent{RateLimitedUntil: now.Add(q.Resets.Sub(now.Wall)), RateLimitedAt: now.Add(q.At.Sub(now.Wall))})
		}
	}
	return gone
}

// IsExhausted says whether nothing is known to be had of the account now.
func (l AccountLimit) IsExhausted(now Instant) bool {
	return l.Limited && (!l.Told || now.Before(l.Until))
}

// LimitIsLifted says whether what an agent tells of a limit is from before a person
// lifted it. Of a limit that only its screen shows, that is since when it shows it.
func (a *Agent) LimitIsLifted(lifted, seen Instant) bool {
	told := a.RateLimitedAt
	if dwell, known := a.Dwell.Get(); told.IsZero() && known && a.State == StateRateLimited {
		told = seen.Add(-time.Duration(dwell))
	}
	return !told.IsZero() && told.Before(lifted)
}
