package ledger

import (
	"maps"
	"testing"
	"time"

	"custos/internal/fleet"
)

// crashedAgent is an agent of ours that ended by SIGSEGV in its own worktree an hour after
// base, and is never started again.
func crashedAgent(change func(*fleet.Registration)) fleet.Registration {
	r := fleet.Registration{Name: "a", Owner: fleet.OwnerCustos, Dir: "/w", Worktree: "/w", Repo: "/r",
		Restart: fleet.RestartNever, Desired: fleet.DesiredRunning, DesiredBy: "ann", DesiredAt: at(0),
		Exit: &fleet.Exit{Signal: fleet.Known(11), At: at(time.Hour), Source: "shim"}}
	change(&r)
	return r
}

func TestCrashedTrees(t *testing.T) {
	is := func(at fleet.Instant) map[string]fleet.Instant { return map[string]fleet.Instant{"/w": at} }
	person := func(d fleet.Desired, after time.Duration) func(*fleet.Registration) {
		return func(r *fleet.Registration) {
			r.Restart, r.Desired, r.DesiredAt = fleet.RestartOnFailure, d, at(after)
		}
	}
	for name, c := range map[string]struct {
		change func(*fleet.Registration)
		beside []fleet.Registration
		want   map[string]fleet.Instant
	}{
		"never started again":             {change: func(*fleet.Registration) {}, want: is(at(time.Hour))},
		"stopped since: from then on":     {change: person(fleet.DesiredStopped, 3*time.Hour), want: is(at(3 * time.Hour))},
		"retired since: from then on":     {change: person(fleet.DesiredRetired, 2*time.Hour), want: is(at(2 * time.Hour))},
		"was to be stopped before it did": {change: person(fleet.DesiredStopped, 0), want: is(at(time.Hour))},
		"to be started again":             {change: person(fleet.DesiredRunning, 0)},
		"paused":                          {change: person(fleet.DesiredPaused, 0)},
		"given up until its window opens": {change: func(r *fleet.Registration) { r.Restart, r.Failed = fleet.RestartOnFailure, "5 tries" }},
		"runs":                            {change: func(r *fleet.Registration) { r.Exit = nil }},
		"ended well":                      {change: func(r *fleet.Registration) { r.Exit.Signal, r.Exit.Status = fleet.Leaf[int]{}, fleet.Known(0) }},
		"was asked to end":                {change: func(r *fleet.Registration) { r.Exit.Asked = "ann" }},
		"ended with the machine":          {change: func(r *fleet.Registration) { r.Exit.Source = fleet.ExitReboot }},
		"nobody knows when":               {change: func(r *fleet.Registration) { r.Exit.At = fleet.Instant{} }},
		"no worktree of its own":          {change: func(r *fleet.Registration) { r.Worktree = "" }},
		"adopted":                         {change: func(r *fleet.Registration) { r.Owner = fleet.OwnerAdopted }},
		"another runs in a folder of it": {change: func(*fleet.Registration) {},
			beside: []fleet.Registration{{Name: "b", Owner: fleet.OwnerCustos, Dir: "/w/sub", Desired: fleet.DesiredRunning}}},
		"another runs in it by another path": {change: func(*fleet.Registration) {},
			beside: []fleet.Registration{{Name: "b", Owner: fleet.OwnerCustos, Dir: "/link/sub", Real: "/w/sub", Desired: fleet.DesiredRunning}}},
		"its record names it by a link": {change: func(r *fleet.Registration) { r.Dir, r.Worktree, r.Real = "/link", "/link", "/w" }, want: is(at(time.Hour))},
		"another that has it by a link comes back to it": {change: func(*fleet.Registration) {},
			beside: []fleet.Registration{crashedAgent(func(r *fleet.Registration) {
				r.Name, r.Dir, r.Worktree, r.Real, r.Restart = "b", "/link", "/link", "/w", fleet.RestartOnFailure
			})}},
		"another comes back to it, that its own record names by a link": {change: func(r *fleet.Registration) { r.Dir, r.Worktree, r.Real = "/link", "/link", "/w" },
			beside: []fleet.Registration{crashedAgent(func(r *fleet.Registration) { r.Name, r.Restart = "b", fleet.RestartOnFailure })}},
		"another that is adopted may come back to it": {change: func(*fleet.Registration) {},
			beside: []fleet.Registration{{Name: "b", Owner: fleet.OwnerAdopted, Worktree: "/w", Desired: fleet.DesiredStopped, Exit: &fleet.Exit{Status: fleet.Known(1), At: at(0)}}}},
		"another ended well in it later": {change: func(*fleet.Registration) {},
			beside: []fleet.Registration{crashedAgent(func(r *fleet.Registration) {
				r.Name, r.Exit = "b", &fleet.Exit{Status: fleet.Known(0), At: at(2 * time.Hour)}
			})}},
		"another ended in it, and nobody knows when": {change: func(*fleet.Registration) {},
			beside: []fleet.Registration{crashedAgent(func(r *fleet.Registration) {
				r.Name, r.Exit = "b", &fleet.Exit{Status: fleet.Known(0)}
			})}},
		"another ended well in it before": {change: func(*fleet.Registration) {}, want: is(at(time.Hour)),
			beside: []fleet.Registration{crashedAgent(func(r *fleet.Registration) {
				r.Name, r.Exit = "b", &fleet.Exit{Status: fleet.Known(0), At: at(0)}
			})}},
		"another elsewhere": {change: func(*fleet.Registration) {}, want: is(at(time.Hour)),
			beside: []fleet.Registration{{Name: "b", Owner: fleet.OwnerCustos, Dir: "/w2", Desired: fleet.DesiredRunning}}},
	} {
		got := CrashedTrees(append([]fleet.Registration{crashedAgent(c.change)}, c.beside...))
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
