package recover

import (
	"context"
	"slices"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// before returns the registration as it was when the recovery was planned. One that
// is taken up after a crash of Custos finds its own instance in the ledger; how the
// conversation goes on is a matter of the one that ended. What people want of the
// agent is as it is now.
func before(now fleet.Registration, planned *fleet.Registration, mine []string) fleet.Registration {
	if planned == nil || !slices.Contains(mine, now.Instance) || slices.Contains(mine, planned.Instance) {
		return now
	}
	was := now
	was.Instance, was.Process, was.StartedAt, was.Exit = planned.Instance, planned.Process, planned.StartedAt, planned.Exit
	was.ConfigDir, was.SessionID, was.Prompt, was.PromptState, was.Handoff = planned.ConfigDir, planned.SessionID, planned.Prompt, planned.PromptState, planned.Handoff
	return was
}

// isBegun says whether an instance was begun, in this try or an earlier one.
func (x *Action) isBegun(instance string) bool {
	_, err := shim.ReadClaim(shim.Dir(x.Shims, instance))
	return err == nil
}

// isSecond says whether an earlier try had come to beginning afresh.
func (r *run) isSecond() bool { return r.plan.second != nil && r.x.isBegun(r.instances[1]) }

// exit is how what was started ended, as the ledger keeps it.
func (r *run) exit() *fleet.Exit {
	const why = "it cannot be told how it ended"
	out := fleet.Exit{Instance: r.begin.Launch.Instance, At: r.x.Now(), Source: "none", Status: fleet.Unknown[int](why), Signal: fleet.Unknown[int](why)}
	if s, x, err := shim.Read(r.begin.Launch.Shim); err == nil && x != nil {
		out = agentrun.Exit(s, *x, "")
	}
	return &out
}

// afresh begins a new conversation, where the one there was cannot be resumed.
func (r *run) afresh(ctx context.Context) error {
	r.unresumed = r.exit()
	r.says = append(r.says, "its conversation could not be resumed ("+r.ending()+"), so it begins afresh")
	if err := r.closeLeft(ctx, r.begin.Launch.Instance); err != nil {
		return err
	}
	r.begin = r.spare
	return r.start(ctx, *r.plan.second)
}
