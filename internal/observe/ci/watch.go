package ci

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/ci"
)

// watch is what is remembered of one system from look to look.
type watch struct {
	System
	rules []Rule

	mu        sync.Mutex // one look at a time
	pipelines []fleet.Pipeline
	workers   []fleet.Worker
	verdicts  map[failure]verdict
}

// failure is one failure of one pipeline: another attempt ends at another time.
type failure struct {
	id      int64
	attempt int
	ended   int64
}

// verdict is what was found out about a failure.
type verdict struct {
	infra fleet.Leaf[bool]
	cause string
	final bool // not to be asked for again
	tries int
}

// look asks one system for everything. The error is that of its pipelines.
func (w *watch) look(ctx context.Context) (fleet.CI, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	listing, err := w.Reader.Pipelines(ctx)
	if err != nil {
		err = fmt.Errorf("CI %s: %w", w.Name, err)
		w.pipelines = blind(w.pipelines, why(err))
	} else {
		w.pipelines = w.facts(ctx, listing)
	}
	w.staff(ctx)
	workers := slices.Clone(w.workers)
	if err != nil && len(w.pipelines) == 0 && !slices.ContainsFunc(workers, func(x fleet.Worker) bool { return x.Name == w.Name+"/server" }) {
		workers = append(workers, w.server(why(err)))
	}
	return fleet.CI{Pipelines: slices.Clone(w.pipelines), Workers: workers}, err
}

// server stands for a system of which nothing else can be told: it is not to look
// as if it had nothing to do.
func (w *watch) server(why string) fleet.Worker {
	return fleet.Worker{Name: w.Name + "/server", System: w.Name, Owner: w.Owner, Healthy: fleet.Unknown[bool](why), Contact: fleet.Unknown[fleet.Duration](why)}
}

// why is an error as a reason.
func why(err error) string { return fleet.Line(fleet.Redact(err.Error()), 200) }

// blind is what was seen last, none of which is known any more.
func blind(seen []fleet.Pipeline, why string) []fleet.Pipeline {
	out := slices.Clone(seen)
	for i := range out {
		out[i].State.Blind(why)
		out[i].Pending.Blind(why)
		out[i].Running.Blind(why)
		out[i].Ended.Blind(why)
		out[i].Infra.Blind(why)
	}
	return out
}

// facts are the pipelines that matter: what is not over, and the newest that is,
// of each workflow and branch.
func (w *watch) facts(ctx context.Context, l ci.Listing) (out []fleet.Pipeline) {
	if w.Primary != "" {
		l.Primary = w.Primary
	}
	newest, over := map[string]bool{}, map[string]bool{}
	kept, named := map[failure]verdict{}, map[string]bool{}
	asked := 0
	for _, p := range l.Pipelines {
		group := p.Group()
		first := !newest[group]
		newest[group] = true
		name := fleet.PipelineName(w.Name, w.Project, p.Number)
		if !p.Open() && over[group] || named[name] { // two of one name would be one to everybody else
			continue
		}
		named[name] = true
		over[group] = over[group] || !p.Open()
		f := describe(p, l)
		f.Name, f.System, f.Project, f.Owner, f.Newest = name, w.Name, w.Project, w.Owner, first
		v := w.judge(ctx, p, l, &asked)
		kept[failureOf(p)], f.Infra, f.Cause = v, v.infra, v.cause
		out = append(out, f)
	}
	w.verdicts = kept
	return out
}

func failureOf(p ci.Pipeline) failure { return failure{p.ID, p.Attempt, p.Ended.Unix()} }

// Limits of what is found out about failures in one look.
const (
	mostJudged = 5
	mostTries  = 3              // with a failure whose log cannot be read
	longAgo    = 24 * time.Hour // what failed before is nobody's to run again: its logs are not read
)

// judge says whether a failure is the machinery's. Logs are read once.
func (w *watch) judge(ctx context.Context, p ci.Pipeline, l ci.Listing, asked *int) verdict {
	known, seen := w.verdicts[failureOf(p)]
	switch {
	case p.State == "":
		return verdict{infra: fleet.Unknown[bool]("its state is not known")}
	case p.State != ci.Failure:
		return verdict{infra: fleet.Known(false)}
	case p.Ended.IsZero():
		return verdict{infra: fleet.Unknown[bool]("its CI does not tell when it failed")}
	case l.At.Sub(p.Ended) > longAgo:
		return verdict{infra: fleet.Known(false)}
	case seen && known.final:
		return known
	case *asked == mostJudged:
		known.infra = fleet.Unknown[bool]("its logs are not read yet: others are read first")
		return known
	}
	*asked++
	steps, err := w.Reader.Failed(ctx, p)
	known.tries++
	if err != nil {
		lacks := errors.Is(err, ci.ErrGone) || errors.Is(err, ci.ErrForbidden) || errors.Is(err, ci.ErrLacks)
		return verdict{infra: fleet.Unknown[bool](why(err)), tries: known.tries, final: lacks}
	}
	infra, cause := Judge(w.rules, steps)
	return verdict{infra: infra, cause: cause, tries: known.tries, final: infra.IsKnown() || known.tries >= mostTries}
}

// staff looks at the workers.
func (w *watch) staff(ctx context.Context) {
	all, at, err := w.Reader.Workers(ctx)
	if err != nil {
		w.unseen(err)
		return
	}
	w.workers = nil
	for _, x := range all {
		if f, ok := w.worker(x, at); ok {
			w.workers = append(w.workers, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Workers)) {
		if !slices.ContainsFunc(all, func(x ci.Worker) bool { return x.Name == name }) {
			f := w.named(name)
			f.Healthy, f.Why, f.Contact = fleet.Known(false), "its server does not know it", fleet.Unknown[fleet.Duration]("its server does not know it")
			w.workers = append(w.workers, f)
		}
	}
}

// unseen is what is left when the workers cannot be listed: those that were seen,
// or must be there, all unknown. A token that may not see them is normal with
// some systems, and then nobody is missed who was not named.
func (w *watch) unseen(err error) {
	reason := why(err)
	for i := range w.workers {
		w.workers[i].Healthy.Blind(reason)
		w.workers[i].Contact.Blind(reason)
		w.workers[i].Why = ""
	}
	if len(w.workers) > 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.Workers)) {
		f := w.named(name)
		f.Healthy, f.Contact = fleet.Unknown[bool](reason), fleet.Unknown[fleet.Duration](reason)
		w.workers = append(w.workers, f)
	}
	hidden := errors.Is(err, ci.ErrForbidden) || errors.Is(err, ci.ErrGone) || errors.Is(err, ci.ErrLacks)
	if len(w.workers) == 0 && (w.TellsWorkers || !hidden) {
		w.workers = []fleet.Worker{w.server(reason)}
	}
}

// named is a worker of which only the name is known.
func (w *watch) named(name string) fleet.Worker {
	return fleet.Worker{Name: w.Name + "/" + fleet.Line(name, 100), System: w.Name, Owner: w.Owner, Container: w.Workers[name]}
}

// worker describes a worker; false for one that is forgotten: a worker that is
// made anew with another name leaves its old name behind for ever.
func (w *watch) worker(x ci.Worker, at time.Time) (fleet.Worker, bool) {
	f := w.named(x.Name)
	_, must := w.Workers[x.Name]
	f.Contact = fleet.Unknown[fleet.Duration]("its server does not tell")
	if x.Contact.IsZero() {
		f.Healthy = fleet.Known(x.Online)
		if !x.Online {
			f.Why = "its server calls it offline"
		}
		return f, must || !x.Paused
	}
	silent := max(at.Sub(x.Contact), 0)
	f.Contact = fleet.Known(fleet.Duration(silent))
	f.Healthy = fleet.Known(silent <= w.Silent)
	if silent <= w.Silent {
		return f, true
	}
	f.Why = fmt.Sprintf("it has not spoken to its server for %s", silent.Round(time.Second))
	return f, must || !x.Paused && silent <= w.Forget
}
