package library

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/sys/git"
)

// The contract of a session, which no formula changes: a dead one is started again
// once, and one that is idle without a phase is looked at three times.
const (
	recoveries = 1
	idleLooks  = 3
)

// RunsDir holds a folder for each run.
func (b *Formulas) RunsDir() string { return filepath.Join(b.state, "runs") }

// Template is the run that a rendered formula is, without its ID and At. Its Dir is
// the folder that the folders of runs are in, as a schedule's is. work is where its
// steps run (raw).
func (b *Formulas) Template(ctx context.Context, r Reading, work string) fleet.Run {
	f := r.Formula
	run := fleet.Run{Formula: f.Name, Project: fleet.Line(r.Project, 200), Vars: f.Values, Mode: modeOf(f), Parallel: f.Parallel,
		Dir: fleet.Path(b.RunsDir()), Work: fleet.Path(work), Lock: fleet.Path(b.below(f.Lock, work)), Source: fleet.Path(f.File)}
	if filepath.IsAbs(r.Project) {
		run.Project = fleet.Path(r.Project)
	}
	run.Town = ofTown(f)
	prose := false
	for _, s := range f.Steps {
		run.Steps = append(run.Steps, StepOf(s))
		prose = prose || s.Prose()
	}
	if prose && run.Mode != fleet.RunSteps {
		run.Session = b.session(ctx, f, work)
	}
	return run
}

// below makes a path of a formula absolute.
func (b *Formulas) below(path, work string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(work, path)
}

func modeOf(f formula.Formula) fleet.RunMode {
	switch f.Mode {
	case formula.Headless:
		return fleet.RunHeadless
	case formula.Steps:
		return fleet.RunSteps
	}
	return fleet.RunInTmux
}

// StepOf is a step as the ledger keeps it.
func StepOf(s formula.Step) fleet.RunStep {
	out := fleet.RunStep{ID: s.ID, Title: s.Title, Needs: s.Needs, Uses: s.Uses, With: s.With, Env: s.Env, Dir: s.Dir, Vars: s.Values,
		Timeout: fleet.Duration(s.Timeout), Retries: s.Retries, Backoff: fleet.Duration(s.Backoff), Safe: s.Safe()}
	if s.Gate != nil {
		g := gateOf(*s.Gate)
		out.Gate = &g
	}
	switch {
	case s.Run != nil:
		out.Do, out.Argv, out.Script = fleet.StepRun, s.Run.Argv, s.Run.Script
	case s.Uses != "":
		out.Do, out.Text = fleet.StepUses, s.Description
	default:
		out.Do, out.Text = fleet.StepProse, prose(s)
	}
	return out
}

// prose is everything an agent is told of a step.
func prose(s formula.Step) string {
	parts := []string{strings.TrimSpace(s.Description)}
	if s.Acceptance != "" {
		parts = append(parts, "It is done when: "+strings.TrimSpace(s.Acceptance))
	}
	return strings.TrimSpace(strings.Join(append(parts, strings.TrimSpace(s.Notes)), "\n\n"))
}

// session is the one agent session that the prose of a run is worked on in.
func (b *Formulas) session(ctx context.Context, f formula.Formula, work string) *fleet.RunSession {
	s := &fleet.RunSession{Kind: b.Agent, Argv: b.Argv, Env: b.Env, Account: b.Account, Role: "formula", Standing: f.Description,
		Memory: int64(f.MemoryGuard) << 20, Timeout: fleet.Duration(f.SessionTime), Graph: true, Recover: recoveries, IdleLooks: idleLooks,
		Reply: fleet.Path(filepath.Join(b.Replies, fleet.ReplyFile(f.Name)))}
	if f.Agent != "" && f.Agent != b.Agent {
		s.Kind, s.Argv = f.Agent, nil
	}
	if f.Model != "" {
		if len(s.Argv) == 0 {
			s.Argv = []string{s.Kind}
		}
		s.Argv = append(s.Argv[:len(s.Argv):len(s.Argv)], "--model", f.Model)
	}
	for _, file := range f.Context.Files {
		s.Context = append(s.Context, fleet.Path(b.below(file, work)))
	}
	if s.Shown = f.Context.Run; f.Context.Places["run"].Line == 0 && saysCollected(f.Name) {
		s.Shown = formula.Looks()
	}
	if f.Worktree {
		s.Repo = fleet.Path(work)
	}
	for _, v := range [][2]string{{"FACTORY_ROOT", b.Factory}, {"FORGE_API", b.ForgeAPI}, {"PRIMARY_BRANCH", primaryBranch(ctx, work)}} {
		if v[1] != "" {
			s.Set = append(s.Set, v[0]+"="+v[1])
		}
	}
	return s
}

// ofTown says whether a formula is one of Gas Town: by its name, or by what it has its
// agent or its commands call.
func ofTown(f formula.Formula) bool {
	return strings.HasPrefix(f.Name, "mol-") || slices.ContainsFunc(formula.Commands(f), func(c formula.Command) bool { return c.Name == "gt" || c.Name == "bd" })
}

// saysCollected names the formulas of Disinto and of Gas Town whose prose reviews what
// was measured beforehand, and says so.
func saysCollected(name string) bool {
	return slices.Contains([]string{"run-supervisor", "supervisor", "mol-deacon-patrol", "deacon-patrol"}, name)
}

// primaryBranch is the primary branch of the repository that a folder is in; ""
// when that cannot be told.
func primaryBranch(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	place, err := git.Find(dir)
	if err != nil {
		return ""
	}
	primary, err := git.New(git.Options{}).Primary(ctx, place.Common, "")
	if err != nil {
		return ""
	}
	return primary.Name
}
