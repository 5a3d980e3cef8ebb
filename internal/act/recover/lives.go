package recover

import (
	"fmt"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// isOver says whether nothing more becomes of what was started: it is told how it
// ended, or it has ended and its shim, which would tell, is gone as well.
func (r *run) isOver() bool {
	s, exit, err := shim.Read(r.begin.Launch.Shim)
	if exit != nil || err != nil {
		return true
	}
	return r.isGone(r.got.Agent) && r.isGone(fleet.ProcessID{PID: s.Shim.PID, Start: s.Shim.Start, Boot: s.At.Boot})
}

func (r *run) isGone(p fleet.ProcessID) bool {
	alive, err := r.x.Lives(p)
	return err == nil && !alive
}

// lives is an error when the very process that was started does not live any more, or
// when that cannot be told. One that answers what it was given and ends may have
// ended well.
func (r *run) lives(exit *shim.Exit) error {
	if _, _, err := shim.Read(r.begin.Launch.Shim); err != nil {
		return err
	}
	if exit != nil {
		if exit.Status != nil && *exit.Status == 0 && r.endsByItself() {
			return nil
		}
		return fmt.Errorf("it was started and has ended again: %s", r.ending())
	}
	switch alive, err := r.x.Lives(r.got.Agent); {
	case err != nil:
		return fmt.Errorf("it was started, and it cannot be told whether it lives: %w", err)
	case !alive:
		return fmt.Errorf("it was started and has ended again: %s", r.ending())
	}
	return nil
}

// endedEarly notes the end of what was to show that it lives: whatever its status, it
// has not done what it was started for. Where nothing says how it ended, nothing is noted.
func (r *run) endedEarly(exit *shim.Exit) {
	if exit != nil && r.learned != nil {
		r.learned.Exit = r.exit()
		r.learned.Exit.Early = true
	}
}

// endsByItself says whether it was given all that it reads, and ends when it has
// answered.
func (r *run) endsByItself() bool {
	kind, _ := r.x.Kinds.Get(r.old.Kind)
	return r.begin.Where == fleet.WhereHeadless && !agentrun.Converses(kind, r.old)
}
