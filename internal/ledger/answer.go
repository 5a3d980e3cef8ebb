package ledger

import "custos/internal/fleet"

// Answers returns, of each order, the action that answers it. An order may have been
// tried more often: a try that never began, or was held back, left it open. The one
// that counts did it, may have done it, or is at it; where there is none, the order came to nothing.
func Answers(actions []fleet.ActionRecord) map[string]*fleet.ActionRecord {
	of := map[string]*fleet.ActionRecord{}
	for i := range actions {
		if r := &actions[i]; r.Order != "" && !isArrival(of[r.Order]) {
			of[r.Order] = r
		}
	}
	return of
}

// isArrival says whether an action is being done, was done, or may have been.
func isArrival(r *fleet.ActionRecord) bool {
	return r != nil && (r.Open() || r.Result != nil && MayHaveArrived(r.Result.Status))
}

// MayHaveArrived says whether a result leaves it possible that it was done.
func MayHaveArrived(s fleet.ResultStatus) bool {
	return IsCarriedOut(s) || s == fleet.ResultInDoubt
}

// IsCarriedOut says whether a result is that it was done, or was so already.
func IsCarriedOut(s fleet.ResultStatus) bool {
	return s == fleet.ResultDone || s == fleet.ResultUnneeded || s == fleet.ResultUnverified
}
