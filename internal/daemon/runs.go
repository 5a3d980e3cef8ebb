package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/library"
	"custos/internal/store"
	"custos/internal/sys/files"
	"custos/internal/view"
)

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
		return view.PreflightText(s.board.Snapshot(), s.listening()), nil
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

// runPort is the runs of formulas as the server's port wants it.
type runPort struct{ s *system }

var _ control.Runs = runPort{}

// take writes a run down, and has one pass begin it.
func (r runPort) take(ctx context.Context, run fleet.Run, detach bool) (fleet.Run, error) {
	if err := r.s.begin(ctx); err != nil {
		return run, err
	}
	st, err := r.s.ledger.writer(ctx)
	if err != nil {
		return run, err
	}
	known, err := st.Runs(ctx, fleet.RunFilter{Open: true})
	if err != nil {
		return run, err
	}
	policy := fleet.RunPolicy{}
	if r.s.library.Formulas.Disabled(run.Formula) != "" {
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

// Runs lists runs.
func (r runPort) Runs(ctx context.Context, f fleet.RunFilter) ([]fleet.Run, error) {
	return recall(ctx, r.s.ledger, func(st *store.Store) ([]fleet.Run, error) {
		return st.Runs(ctx, f)
	})
}

// Change changes a run, and has a pass carry it on.
func (r runPort) Change(ctx context.Context, id string, change control.RunsChange) (fleet.Run, error) {
	if err := r.s.begin(ctx); err != nil {
		return fleet.Run{}, err
	}
	st, err := r.s.ledger.writer(ctx)
	if err != nil {
		return fleet.Run{}, err
	}
	open, err := st.Runs(ctx, fleet.RunFilter{Open: true})
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
func (r runPort) carryOn(ctx context.Context, id string) (fleet.Run, error) {
	r.s.board.Touched(fleet.PartRuns)
	if err := r.s.loop.Pass(ctx, "run "+id, append(restsOn(), fleet.PartRuns)...); err != nil {
		r.s.o.Log.Warn("Cannot carry a run on yet", "run", id, "err", err)
	}
	list, err := r.Runs(ctx, fleet.RunFilter{ID: id})
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
		if r.Name != agent || r.Run == "" || !library.IsName(r.Run) {
			continue
		}
		dir := filepath.Join(s.library.Formulas.RunsDir(), r.Run)
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
	f, err := files.OpenPlain(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := files.Head(f, compactMost)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
