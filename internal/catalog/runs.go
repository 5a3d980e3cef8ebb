package catalog

import (
	"context"
	"path/filepath"

	"custos/internal/act"
	"custos/internal/act/endstep"
	"custos/internal/act/filereply"
	"custos/internal/act/preparerun"
	"custos/internal/act/runlock"
	"custos/internal/act/runstep"
	"custos/internal/act/spawn"
	"custos/internal/act/triage"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/observe/runs"
	"custos/internal/session"
	"custos/internal/session/process"
	"custos/internal/sys/docgraph"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// graphBytes is how much of a prompt the structure of a project may take.
const graphBytes = 32 << 10

// runMakers lists the actions on runs of formulas.
func runMakers() []actionMaker {
	return []actionMaker{
		{runstep.Do, "", newRunStep},
		{endstep.Do, "", newEndStep},
		{preparerun.Do, "", newPrepareRun},
		{runlock.DoHold, "", func(w *World) (act.Action, error) { o, err := w.runLocks(); return runlock.NewHold(o), err }},
		{runlock.DoRelease, "", func(w *World) (act.Action, error) { o, err := w.runLocks(); return runlock.NewRelease(o), err }},
		{filereply.Do, "", func(*World) (act.Action, error) { return filereply.New() }},
		{triage.Do, "triage", func(w *World) (act.Action, error) { return newTriage(w, w.Judged) }},
	}
}

// runLocks are the options of the actions on a factory's own lock: they look at it as
// the probe of locks does.
func (w *World) runLocks() (runlock.Options, error) {
	o, err := w.locks()
	return runlock.Options{Holders: proc.Holders{ForeignNamespace: o.ForeignNamespace}}, err
}

func newRunStep(w *World) (act.Action, error) {
	launcher, err := w.launcher()
	if err != nil {
		return nil, err
	}
	return w.starting(runstep.New(runstep.Options{Room: launcher.Room, Tools: ToolsOf(w.Config), Open: func(root string) (session.Provider, error) {
		binary, err := shim.Find("")
		if err != nil {
			return nil, err
		}
		return process.New(process.Options{Root: root, Shim: binary, Boot: w.From.Boot})
	}}))
}

func newEndStep(w *World) (act.Action, error) {
	return endstep.New(endstep.Options{Boot: w.From.Boot})
}

func newPrepareRun(w *World) (act.Action, error) {
	launcher, err := w.launcher()
	if err != nil {
		return nil, err
	}
	var places spawn.Options
	if err := w.Config.Section(spawn.Do, &places); err != nil {
		return nil, err
	}
	return preparerun.New(preparerun.Options{Graph: graph, Seen: w.Seen, Room: launcher.Room, ForgeURL: func(string) string { return w.Getenv("FORGE_API") },
		Worktree: places.WorktreeOf})
}

// ToolsOf is the folder of what formulas expect to find in their PATH.
func ToolsOf(cfg config.Config) string { return filepath.Join(cfg.StateDir, "bin") }

// graph draws the structure of a project's documents.
func graph(ctx context.Context, dir string) (string, error) {
	g, err := docgraph.Build(ctx, docgraph.Options{Dir: dir})
	if err != nil {
		return "", err
	}
	return g.Section(graphBytes), nil
}

// newRuns makes the probe of runs. known returns those that are not over, or
// ended within a day.
func newRuns(w *World, known func(ctx context.Context) ([]fleet.Run, error)) (*runs.Probe, error) {
	o, err := w.locks()
	if err != nil {
		return nil, err
	}
	return runs.New(runs.Options{Runs: known, Registered: w.registeredLately, Now: w.Now, Boot: w.From.Boot,
		ForeignNamespace: o.ForeignNamespace, Procs: w.Procs})
}
