package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Stop ends an agent of ours, or all for "", with neither daemon nor ledger: for when
// an order can be given to nobody. What runs is told by the records of the shims, and
// by the kernel; each is ended by the same action as ever. Who asked is written beside
// the shim's record, where the next daemon finds it: it starts no such agent again.
// It is refused to agents as far as they are known without a look at the fleet.
func Stop(ctx context.Context, cfg config.Config, o Options, agent, by, why string) (how string, err error) {
	if err := NoAgentHere(cfg, "stop"); err != nil {
		return "", err
	}
	w, err := catalog.NewWorld(cfg, os.Getenv, io.Discard, o.Version)
	if err != nil {
		return "", err
	}
	w.Registered = func(context.Context) ([]fleet.Registration, error) { return nil, nil }
	all, unsure := running(ctx, w, agent)
	if len(all) == 0 {
		return "", cmp.Or(unsure, nobodyRuns(agent))
	}
	stop, err := catalog.Stop(w)
	if err != nil {
		return "", &config.Mistake{Err: err}
	}
	var did []string
	errs := []error{unsure}
	for _, a := range all {
		said, err := stopOne(ctx, w, stop, a, by)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot stop %s: %w", a.Name, err))
			continue
		}
		did = append(did, a.Name+": "+said)
	}
	return strings.Join(did, "\n"), errors.Join(errs...)
}

func nobodyRuns(agent string) error {
	what := "no agent that Custos has started runs"
	if agent != "" {
		what = fmt.Sprintf("no agent %q that Custos has started runs", fleet.Line(agent, 80))
	}
	return &api.Error{Kind: api.NotFound, Message: "cannot stop: " + what, Hint: "custos ps"}
}

// running lists the instances that run, or that have ended and left something running, by
// the records of their shims and by the kernel: those started last first, children
// before their parents. Its error says why that may not be all.
func running(ctx context.Context, w *catalog.World, name string) (list []fleet.Agent, err error) {
	records, err := shim.List(w.Own.Shims)
	if err != nil {
		return nil, err
	}
	var unsure error
	for _, r := range records {
		s := r.Started
		if r.Err != nil || s.At.Boot != w.From.Boot || name != "" && s.Name != name {
			continue
		}
		is, err := proc.Holder(s.Agent.PID)
		if gone := errors.Is(err, proc.ErrGone) || err == nil && is.ID != proc.ID(s.Agent); gone || r.Exit != nil {
			left, why := w.Own.HasLeft(ctx, s)
			if unsure = cmp.Or(why, unsure); !left {
				continue
			}
		}
		list = append(list, fleet.Agent{Name: s.Name, Owner: fleet.OwnerCustos, Instance: s.Key,
			Process: fleet.ProcessID{PID: s.Agent.PID, Start: s.Agent.Start, Boot: s.At.Boot}})
	}
	slices.SortFunc(list, func(a, b fleet.Agent) int { return cmp.Compare(b.Process.Start, a.Process.Start) })
	return list, unsure
}

// StoppedBy says who asked for the end of the last instance of an agent, when that has ended
// and a daemon that reads it will not start it again; "" for nobody, and where that cannot
// be told.
func StoppedBy(cfg config.Config, agent string) string {
	all, err := shim.List(filepath.Join(cfg.RuntimeDir, "agents"))
	if err != nil {
		return ""
	}
	var last shim.Record
	for _, r := range all {
		if r.Err != nil && r.Started.Name == "" {
			return "" // it may be a later instance of this very agent
		}
		if r.Started.Name == agent && !r.Started.At.Wall.Before(last.Started.At.Wall) {
			last = r
		}
	}
	if last.Err != nil || last.Exit == nil {
		return ""
	}
	if by := shim.AskedBy(last.Dir, last.Exit.At.Wall); by != fleet.ByCustos {
		return fleet.Line(by, 80)
	}
	return ""
}

func stopOne(ctx context.Context, w *catalog.World, stop act.Action, a fleet.Agent, by string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(stop.Ability().Deadline))
	defer cancel()
	run, err := stop.Prepare(ctx, fleet.Action{Do: stop.Ability().Do, Subject: fleet.Subject{Kind: fleet.KindAgent, Name: a.Name}, By: by, Target: fleet.Target{Agent: &a}})
	if errors.Is(err, act.ErrUnneeded) {
		return strings.TrimSuffix(err.Error(), ": "+act.ErrUnneeded.Error()), nil
	}
	if err != nil {
		return "", err
	}
	defer run.Close()
	if err := run.Do(ctx); err != nil {
		return "", err
	}
	said, err := run.Verify(ctx)
	return said + notWritten(shim.SayAsked(shim.Dir(w.Own.Shims, a.Instance), by, true)), err
}

// notWritten says what could not be written down of who asked for an end, and what that
// means for the agent.
func notWritten(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, shim.ErrNameless):
		return "; but " + err.Error() + ": it stays stopped, and is told of as ended by " + shim.Somebody
	}
	return "; but " + err.Error() + ": freeze Custos, or it may start it again"
}
