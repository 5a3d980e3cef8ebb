package library

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// RunID names a run that a person asks for: its formula, and what they chose, or
// something that no other run is called.
func RunID(name, chosen string) string {
	plain := func(s string) string {
		return strings.Trim(strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
				return c
			}
			return '-'
		}, s), "-_.")
	}
	if chosen == "" {
		var b [4]byte
		_, _ = rand.Read(b[:]) // it never fails
		chosen = hex.EncodeToString(b[:])
	}
	name, chosen = plain(name), plain(chosen)
	return plain(name[:min(len(name), 40)] + "-" + chosen[:min(len(chosen), 20)])
}

// LastRun is the newest run of a schedule; nil when it has none.
func LastRun(runs []fleet.Run, schedule string) (last *fleet.Run) {
	for i := range runs {
		if runs[i].Schedule == schedule && (last == nil || last.At.Before(runs[i].At)) {
			last = &runs[i]
		}
	}
	return last
}

// RunsCounted is how many runs of a plugin are looked at for how many failed in a
// row.
const RunsCounted = 50

// Outcome is the state of the newest run, and why the newest failure failed.
func Outcome(runs []fleet.Run) (state fleet.RunState, why string) {
	for _, r := range slices.Backward(runs) {
		if state == "" {
			state = r.State
		}
		if r.State == fleet.RunFailed {
			return state, fleet.Line(r.Why, 300)
		}
	}
	return state, ""
}

// FailuresInARow counts those since one went well. What was skipped or cancelled counts for
// nothing.
func FailuresInARow(runs []fleet.Run) (n int) {
	for _, r := range slices.Backward(runs) {
		switch r.State {
		case fleet.RunFailed:
			n++
		case fleet.RunDone:
			return n
		}
	}
	return n
}
