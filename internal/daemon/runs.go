package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/server"
	"custos/internal/store"
	"custos/internal/sys/git"
)

// The contract of a session, which no formula changes: a dead one is started again
// once, and one that is idle without a phase is looked at three times.
const (
	recoveries = 1
	idleLooks  = 3
)

// runsDir holds a folder for each run.
func (b *formulary) runsDir() string { return filepath.Join(b.state, "runs") }

// template is the run that a rendered formula is, without its ID and At. Its Dir is
// the folder that the folders of runs are in, as a schedule's is. work is where its
// steps run (raw).
func (b *formulary) template(ctx context.Context, r reading, work string) fleet.Run {
	f := r.f
	run := fleet.Run{Formula: f.Name, Project: fleet.Line(r.project, 200), Vars: f.Values, Mode: modeOf(f), Parallel: f.Parallel,
		Dir: fleet.Path(b.runsDir()), Work: fleet.Path(work), Lock: fleet.Path(b.below(f.Lock, work)), Source: fleet.Path(f.File)}
	if filepath.IsAbs(r.project) {
		run.Project = fleet.Path(r.project)
	}
	run.Town = ofTown(f)
	prose := false
	for _, s := range f.Steps {
		run.Steps = append(run.Steps, stepOf(s))
		prose = prose || s.Prose()
	}
	if prose && run.Mode != fleet.RunSteps {
		run.Session = b.session(ctx, f, work)
	}
	return run
}

// below makes a path of a formula absolute.
func (b *formulary) below(path, work string) string {
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

// stepOf is a step as the ledger keeps it.
func stepOf(s formula.Step) fleet.RunStep {
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
func (b *formulary) session(ctx context.Context, f formula.Formula, work string) *fleet.RunSession {
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

// seen is what an agent is told of the fleet as it is: the facts of the preflight, and
// what is wrong.
func (s *system) seen(ctx context.Context, looks []string) (string, error) {
	var out []string
	for _, look := range looks {
		text, err := s.seenOf(ctx, look)
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n"), nil
}

func (s *system) seenOf(ctx context.Context, look string) (string, error) {
	if look == "preflight" {
		return server.PreflightText(s.board.Snapshot(), s.listening()), nil
	}
	past, err := s.recall(ctx)
	if err != nil {
		return "", err
	}
	b := strings.Builder{}
	b.WriteString("## Findings\n")
	for _, a := range past.Alerts {
		if a.Status == fleet.AlertFiring {
			fmt.Fprintf(&b, "- [%s] %s\n", a.Priority, fleet.Line(a.Summary, 300))
		}
	}
	return b.String() + "(" + s.world.Now().Wall.UTC().Format(time.RFC3339) + "; now: custos alerts)\n", nil
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

// runner is the book of runs as the server's port wants it.
type runner struct{ s *system }

var _ server.Runs = runner{}

// Start writes a run down, and has one pass begin it.
func (r runner) Start(ctx context.Context, q api.RunRequest, by string) (fleet.Run, error) {
	run, err := r.draft(ctx, q, by)
	if err != nil {
		return run, err
	}
	return r.take(ctx, run, q.Detach)
}

// take writes a run down, and has one pass begin it.
func (r runner) take(ctx context.Context, run fleet.Run, detach bool) (fleet.Run, error) {
	if err := r.s.begin(ctx); err != nil {
		return run, err
	}
	st, err := r.s.ledger.writer(ctx)
	if err != nil {
		return run, err
	}
	known, err := st.Runs(ctx, store.RunFilter{Open: true})
	if err != nil {
		return run, err
	}
	policy := fleet.RunPolicy{}
	if r.s.disabled(run.Formula) != "" {
		policy.Disabled = []string{run.Formula}
	}
	for _, k := range known {
		if k.ID == run.ID {
			return k, nil // asked for twice
		}
	}
	now := r.s.world.Now()
	if run, err = ledger.TakeRun(fleet.Past{Runs: known}, policy, run, now); err != nil {
		return run, err
	}
	taken, _, err := st.TakeRun(ctx, run)
	if errors.Is(err, store.ErrExists) {
		return run, fmt.Errorf("%w: %w", ledger.ErrTaken, err)
	}
	if err != nil || detach && !r.s.daemon {
		return taken, err
	}
	return r.carryOn(ctx, taken.ID)
}

// draft reads and renders the formula that is asked for.
func (r runner) draft(ctx context.Context, q api.RunRequest, by string) (fleet.Run, error) {
	b := r.s.formulas
	read, err := b.read(api.FormulaQuery{Name: q.Name, File: q.File, Text: q.Text, Project: q.Project, Vars: q.Vars, Render: true})
	if err != nil {
		return fleet.Run{}, err
	}
	if read.refused() {
		return fleet.Run{}, fmt.Errorf("%w: %s", ledger.ErrIllegal, errorsOf(read.problems))
	}
	work := read.dir
	if work == "" {
		work = q.Dir
	}
	if work == "" {
		work, _ = os.UserHomeDir() // checked before anything is begun there
	}
	run := b.template(ctx, read, work)
	run.ID = runID(run.Formula, q.ID)
	run.Dir, run.By = fleet.Path(filepath.Join(b.runsDir(), run.ID)), by
	if !read.plain.SingleFlight { // it may run beside itself: each run is a flight of its own
		run.Project = strings.TrimSpace(run.Project + " #" + run.ID)
	}
	return run, nil
}

// errorsOf is every error of a formula, on one line.
func errorsOf(problems []formula.Problem) string {
	var out []string
	for _, p := range problems {
		if p.Severity == formula.Error {
			out = append(out, p.String())
		}
	}
	return fleet.Line(strings.Join(out, "; "), 2000)
}

// runID names a run that a person asks for: its formula, and what they chose, or
// something that no other run is called.
func runID(name, chosen string) string {
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

// Runs lists runs.
func (r runner) Runs(ctx context.Context, f server.RunFilter) ([]fleet.Run, error) {
	return recall(ctx, r.s.ledger, func(st *store.Store) ([]fleet.Run, error) {
		return st.Runs(ctx, store.RunFilter{ID: f.ID, Open: f.Open, Limit: f.Limit})
	})
}

// Change changes a run, and has a pass carry it on.
func (r runner) Change(ctx context.Context, id string, change server.RunsChange) (fleet.Run, error) {
	if err := r.s.begin(ctx); err != nil {
		return fleet.Run{}, err
	}
	st, err := r.s.ledger.writer(ctx)
	if err != nil {
		return fleet.Run{}, err
	}
	open, err := st.Runs(ctx, store.RunFilter{Open: true})
	if err != nil {
		return fleet.Run{}, err
	}
	_, err = st.ChangeRun(ctx, id, r.s.world.Now(), func(run fleet.Run) (fleet.Run, error) { return change(open, run) })
	if errors.Is(err, store.ErrExists) {
		return fleet.Run{}, fmt.Errorf("%w: %w", ledger.ErrTaken, err)
	}
	if err != nil {
		return fleet.Run{}, err
	}
	return r.carryOn(ctx, id)
}

// carryOn has one pass look at a run, and returns it as that pass left it. What is
// written down is not lost when the pass cannot be made: the next one goes on.
func (r runner) carryOn(ctx context.Context, id string) (fleet.Run, error) {
	r.s.board.Touched(fleet.PartRuns)
	if err := r.s.loop.Pass(ctx, "run "+id, append(restsOn(), fleet.PartRuns)...); err != nil {
		r.s.o.Log.Warn("Cannot carry a run on yet", "run", id, "err", err)
	}
	list, err := r.Runs(ctx, server.RunFilter{ID: id})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("cannot find run %s any more", id)
	}
	if err != nil {
		return fleet.Run{}, err
	}
	return list[0], nil
}

// compactMost is how much an agent is told again after its context was compacted.
const compactMost = 8 << 10

// reminder is what the agent of a run is told again when its context was
// compacted; "" when there is nothing to tell.
func (s *system) reminder(ctx context.Context, agent string) string {
	all, err := s.registered(ctx)
	if err != nil {
		return ""
	}
	for _, r := range all {
		if r.Name != agent || r.Run == "" || !formulaName.MatchString(r.Run) {
			continue
		}
		dir := filepath.Join(s.formulas.runsDir(), r.Run)
		text := begin(filepath.Join(dir, fleet.RunCompactFile))
		if notes := begin(filepath.Join(dir, fleet.RunScratchFile)); text != "" && notes != "" {
			text += "\n## What you wrote down for yourself\n\n" + notes + "\n"
		}
		return text
	}
	return ""
}

// begin returns the first of a file's text, no more than compactMost; "" when it
// cannot be read.
func begin(file string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, compactMost))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
