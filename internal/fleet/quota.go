package fleet

import "time"

// Quota is how much is used of what a plan allows in one of its windows, as a CLI tells.
type Quota struct {
	Window  string    `json:"window"`          // 5h, 7d, spend; or WindowLimit
	Percent float64   `json:"percent"`         // used, 100 at most
	Resets  time.Time `json:"resets,omitzero"` // when the window ends; zero where that is not told
	At      time.Time `json:"at,omitzero"`     // when it was told
}

// AccountQuota is what was told last of one window of an account's plan: it holds when who told it is gone.
type AccountQuota struct {
	Account string `json:"account"`
	Quota
}

// WindowLimit is no window of a plan: it is a limit that an agent met, all used until that is reset.
const WindowLimit = "limit"

// quotaTold is for how long what was told of a quota is all that is known of it: it may grow,
// by other devices too.
const quotaTold = time.Hour

// IsOld says whether it was told so long ago that more may be used since.
func (q Quota) IsOld(now time.Time) bool { return now.Sub(q.At) >= quotaTold }

// QuotaUsed is the most that is used of any window that has not ended by now, and why more may
// be; ok is false where nothing is known of any. Within one window use only grows, so that what
// was told long ago is the least.
func QuotaUsed(all []Quota, now time.Time) (percent float64, blind string, ok bool) {
	var newest time.Time
	for _, q := range all {
		if q.Resets.IsZero() && now.Sub(q.At) >= quotaTold || !q.Resets.IsZero() && !now.Before(q.Resets) {
			continue
		}
		percent, ok = max(percent, q.Percent), true
		if q.At.After(newest) {
			newest = q.At
		}
	}
	switch {
	case !ok:
		blind = "no agent tells how much of its plan is used"
	case Quota{At: newest}.IsOld(now):
		blind = "how much of the plan is used was last told at " + newest.UTC().Format("15:04") + " UTC"
	}
	return percent, blind, ok
}
