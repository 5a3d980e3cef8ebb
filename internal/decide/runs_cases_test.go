package decide

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// readRun takes what a case tells of runs, each line about the run before it:
//
//	run ID [lock=] [holding=] [by=] [state=] [parallel=] [prepared=] [cancel=] [agent=] [worktree=] [keep=] [removal=] [order=] [stop=]
//		[answer=due|sent|told] [filing=]
//	step ID [do=run|prose|uses] [state=] [attempt=] [end=] [due=HH:MM]   of the last run
//	run-fact ID [held=none|ours|left|unknown] [locked=]            the run was looked at
//	fact STEP ATTEMPT STATE [left=7] [why=]                      of the last run-fact
func (w *world) readRun(what string, args []string, set map[string]string) error {
	switch what {
	case "run":
		w.past.Runs = append(w.past.Runs, runOfCase(args[0], set))
	case "step":
		run := &w.past.Runs[len(w.past.Runs)-1]
		run.Steps = append(run.Steps, stepOfCase(args[0], set))
	case "run-fact":
		w.snap.Runs.Value = append(w.snap.Runs.Value, lockOfCase(fleet.RunFacts{ID: args[0]}, set))
	case "fact":
		if len(args) < 3 {
			return fmt.Errorf("cannot read fact %v", args)
		}
		f := fleet.StepFacts{Step: args[0], Attempt: integer(args[1]), State: fleet.ProcState(strings.ReplaceAll(args[2], "-", " ")), Why: set["why"]}
		for _, pid := range integers(set["left"]) {
			f.Left = append(f.Left, fleet.ProcessID{PID: pid})
		}
		facts := &w.snap.Runs.Value[len(w.snap.Runs.Value)-1]
		facts.Steps = append(facts.Steps, f)
	}
	return nil
}

// lockOfCase adds what was seen of the factory's lock.
func lockOfCase(f fleet.RunFacts, set map[string]string) fleet.RunFacts {
	switch held := set["held"]; held {
	case "unknown", "":
	case "none":
		f.Held, f.Locked = fleet.Known(fleet.Hold("")), fleet.Known(set["locked"])
	default:
		f.Held, f.Locked = fleet.Known(fleet.Hold(held)), fleet.Known(set["locked"])
	}
	return f
}

func runOfCase(id string, set map[string]string) fleet.Run {
	r := fleet.Run{ID: id, Formula: "f", By: "ann", At: at("09:00"), State: fleet.RunOpen, Parallel: integer(set["parallel"]),
		Work: set["work"], Lock: set["lock"], Holding: set["holding"], Prepared: set["prepared"], Cancel: set["cancel"]}
	if set["by"] != "" {
		r.By = set["by"]
	}
	if set["state"] != "" {
		r.State = fleet.RunState(set["state"])
	}
	if set["ended"] != "" {
		r.EndedAt = at(set["ended"])
	}
	if set["agent"] != "" {
		r.Session = &fleet.RunSession{Agent: set["agent"], Worktree: set["worktree"], Keep: set["keep"], Removal: set["removal"], Order: set["order"], Stop: set["stop"], EndedAt: r.EndedAt,
			Answer: fleet.Answered(set["answer"]), Filing: set["filing"], Answers: 1}
	}
	return r
}

func stepOfCase(id string, set map[string]string) fleet.RunStep {
	s := fleet.RunStep{ID: id, Do: fleet.StepRun, State: fleet.StepReady, Attempt: integer(set["attempt"]), End: set["end"]}
	if set["do"] != "" {
		s.Do = fleet.StepDo(set["do"])
	}
	if set["state"] != "" {
		s.State = fleet.StepState(set["state"])
	}
	if set["due"] != "" {
		s.NotBefore = at(set["due"])
	}
	return s
}

// worktreeOf: worktree PATH [owner=] [removable=yes|no|unknown]
func worktreeOf(path string, set map[string]string) fleet.Worktree {
	w := *target(fleet.Subject{Kind: fleet.KindWorktree, Name: path}, set).Worktree
	switch set["removable"] {
	case "unknown":
		w.Removable = fleet.Unknown[bool]("not looked at")
	case "no":
		w.Removable, w.Obstacles = fleet.Known(false), []string{"1 commit is nowhere else"}
	default:
		w.Removable = fleet.Known(true)
	}
	return w
}

// verdict: verdict WORD RULE SUBJECT [at=09:55] [until=] [expires=10:25] [confidence=90] [cents=] [free=yes] [id=]
func verdict(args []string, set map[string]string) fleet.Verdict {
	v := fleet.Verdict{ID: set["id"], Word: fleet.VerdictWord(args[0]), Alert: fleet.AlertKey{Rule: args[1], Subject: subject(args[2])}, At: at("09:55"),
		Expires: at("10:25"), Confidence: 0.9, Reason: "it compiles", Judge: "mock", Free: set["free"] != ""}
	for key, to := range map[string]*fleet.Instant{"at": &v.At, "until": &v.Until, "expires": &v.Expires} {
		if set[key] != "" {
			*to = at(set[key])
		}
	}
	if set["confidence"] != "" {
		v.Confidence = float64(integer(set["confidence"])) / 100
	}
	if set["cents"] != "" {
		v.MicroUSD, v.Priced = int64(integer(set["cents"]))*10_000, true
	}
	return v
}
