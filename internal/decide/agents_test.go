package decide

import (
	"cmp"
	"strings"

	"custos/internal/fleet"
)

// agentOf: [owner=configured] [pid=1] [procs=2,3] [cwd=/x] [state=idle] [progress=none]
// [hint=VERSION] [composer=empty|full] [pane=yes|dead] [attached=1] [activity=5s] [dialog=HASH]
// [tool=Bash since=09:50 deadline=30m age=10m] [exit=1|sig9|unknown died=09:59 asked=ann quit=keys] [reset=10:30] [account=a] [answered=09:50]
func agentOf(name string, set map[string]string) *fleet.Agent {
	a := &fleet.Agent{Name: name, Owner: fleet.OwnerConfigured, Process: fleet.ProcessID{PID: integer(set["pid"])},
		State: fleet.AgentState(set["state"]), Progress: fleet.ProgressNone, Account: set["account"]}
	if set["owner"] != "" {
		a.Owner = fleet.Owner(set["owner"])
	}
	if set["progress"] != "" {
		a.Progress = fleet.Progress(set["progress"])
	}
	for _, pid := range integers(set["procs"]) {
		a.Procs = append(a.Procs, fleet.ProcessID{PID: pid})
	}
	if set["orphan"] != "" {
		a.Orphan, a.Age, a.Process.Start = true, fleet.Known(duration(set["orphan"])), 1
	}
	if a.Source = set["source"]; set["dwell"] != "" {
		a.Dwell = fleet.Known(duration(set["dwell"]))
	}
	a.Kind, a.Failure = set["kind"], set["failure"]
	if set["answered"] != "" {
		a.Answered = at(set["answered"])
	}
	if set["hint"] != "" {
		a.Hint, a.Version, a.Outgrown = true, set["hint"], "2.1.330"
	}
	if set["cwd"] != "" {
		a.CWD = fleet.Known(set["cwd"])
	}
	if set["composer"] != "" {
		a.ComposerEmpty = fleet.Known(set["composer"] == "empty")
	}
	if set["pane"] != "" {
		a.Pane = &fleet.Pane{Attached: integer(set["attached"]), InMode: set["mode"] != "", Dead: set["pane"] == "dead"}
		if set["activity"] != "" {
			a.Pane.Activity = fleet.Known(duration(set["activity"]))
		}
	}
	if set["dialog"] != "" {
		a.Dialog = &fleet.Dialog{Hash: set["dialog"]}
		for _, c := range strings.Split(set["choices"], ",") {
			if c != "" {
				a.Dialog.Choices = append(a.Dialog.Choices, fleet.Choice{Name: c})
			}
		}
	}
	if set["tool"] != "" {
		a.Tool = &fleet.ToolCall{Name: set["tool"], Since: at(set["since"]), Age: duration(set["age"]), Deadline: duration(set["deadline"])}
	}
	if set["reset"] != "" {
		a.RateLimitedUntil, a.RateLimitedAt = at(set["reset"]), at(cmp.Or(set["limited"], "09:30"))
	}
	a.FolderLost = set["lost"]
	a.Exit = exit(set)
	return a
}

// exit: exit=STATUS|sigN|unknown|reboot died=HH:MM[:SS] [asked=WHO] [quit=HOW]
func exit(set map[string]string) *fleet.Exit {
	switch set["exit"] {
	case "":
		return nil
	case "reboot": // with the last signal, where the shim could still tell
		e := &fleet.Exit{Source: fleet.ExitReboot, Process: fleet.ProcessID{PID: 1, Boot: "b0"}}
		if set["died"] != "" {
			e.At, e.Signal = at(set["died"]+"/b0"), fleet.Known(1)
		}
		return e
	}
	e := &fleet.Exit{At: at(set["died"]), Asked: set["asked"], Quit: set["quit"], Process: fleet.ProcessID{PID: 1}}
	if n, ok := strings.CutPrefix(set["exit"], "sig"); ok {
		e.Signal = fleet.Known(integer(n))
	} else if set["exit"] != "unknown" {
		e.Status = fleet.Known(integer(set["exit"]))
	}
	return e
}

// registration: [lifted=09:50] [desired=running] [wanted=ann] [restart=on-failure] [account=] [parent=] [depth=] [failed=] [exit=…]
func registration(name string, set map[string]string) fleet.Registration {
	r := fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, DesiredBy: set["wanted"],
		Restart: fleet.RestartOnFailure, Account: set["account"], Parent: set["parent"], Depth: integer(set["depth"]),
		Failed: set["failed"], Exit: exit(set), Instance: set["instance"], Dir: set["dir"], Worktree: set["worktree"], Real: set["real"], Repo: set["repo"], Project: set["project"], Task: set["task"], Revision: 1}
	if r.Pool = set["pool"]; set["handoff"] != "" {
		r.Handoff = &fleet.Handoff{Instance: r.Instance, Order: set["handoff"]}
	}
	if set["created"] != "" {
		r.CreatedAt = at(set["created"])
	}
	if set["lifted"] != "" {
		r.LimitLifted = at(set["lifted"])
	}
	if set["run"] != "" {
		r.Run = set["run"]
	}
	if set["saved"] != "" {
		r.Checkpoint = &fleet.Checkpoint{At: at(set["saved"]), Ref: "refs/custos/backup/x"}
	}
	if set["desired"] != "" {
		r.Desired = fleet.Desired(set["desired"])
	}
	if set["restart"] != "" {
		r.Restart = fleet.Restart(set["restart"])
	}
	return r
}

// order: order ID DO AGENT [by=ann] [given=09:59] [expires=] [text=] [dialog=] [action=] [new=yes parent=] [account=] [state=] [took=1]
func order(args []string, set map[string]string) fleet.Order {
	o := fleet.Order{ID: args[0], Do: fleet.OrderDo(args[1]), By: "ann", At: at("09:59"), Text: set["text"], Dialog: set["dialog"],
		Action: set["action"], Account: set["account"], Instance: set["for"], State: fleet.OrderOpen, Why: set["why"]}
	if len(args) > 2 {
		o.Agent = args[2]
	}
	if by, ok := set["by"]; ok {
		o.By = by
	}
	if set["given"] != "" {
		o.At = at(set["given"])
	}
	if set["expires"] != "" {
		o.Expires = at(set["expires"])
	}
	o.TakenBack = integer(set["took"])
	if key, epoch, is := strings.Cut(set["fence"], "@"); is {
		o.Fence = &fleet.Fence{Key: key, Epoch: uint64(integer(epoch))}
	}
	if set["state"] != "" {
		o.State = fleet.OrderState(set["state"])
	}
	if set["new"] != "" {
		r := registration(o.Agent, set)
		r.Revision = 0
		o.Spawn = &r
	}
	return o
}
