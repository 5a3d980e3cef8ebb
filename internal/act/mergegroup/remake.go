package mergegroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/sys/git"
	"custos/internal/sys/shim"
)

// A command that makes files anew is a part of building: it is started as a step of a run that is on no record, by the
// same actions as the commands of gates, and is waited for. Building is journalled; what a Custos that was killed had
// started is ended, by its shim's record, before anything is built anew.

// errUnmade says that a command could not be run, or that all of it could not be ended, which is not an author's fault.
var errUnmade = errors.New("its files could not be made anew")

// errLater says that an item is left for the next group.
var errLater = errors.New("its files are made anew with the next group: there is no time left for that in this one")

// spare is how long the rest of building may take.
const spare = 2 * time.Minute

// endTime is how long ending what is left of a command may take.
const endTime = time.Minute

// remake makes files anew in a worktree of a tree, by each command of the queue that names one of them, in the order of
// custos.toml. It says why that did not come to a tree that can be merged.
func (r *building) remake(ctx context.Context, plan git.MergePlan, s git.Settled) (made git.MadeAnew, why string, err error) {
	todo := r.makersOf(s.Again)
	if !r.hasTime(ctx, todo) {
		return made, "", errLater
	}
	w := git.WorktreePlan{Repo: r.repo, Path: worktree(&r.MergeTarget), Start: plan.Ours}
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o700); err != nil {
		return made, "", fmt.Errorf("%w: %w", errUnmade, err)
	}
	if err = r.w.Discard(ctx, w); err == nil {
		err = r.w.AddPlain(ctx, w, s.Tree)
	}
	defer func() { err = errors.Join(err, r.discard(ctx, w)) }()
	if err != nil {
		return made, "", fmt.Errorf("%w: %w", errUnmade, err)
	}
	made.Tree = s.Tree
	for _, n := range todo {
		one, why, err := r.remakeBy(ctx, n, w, made.Tree)
		if err != nil || why != "" {
			return git.MadeAnew{}, why, err
		}
		made.Tree, made.Changed = one.Tree, append(made.Changed, one.Changed...)
	}
	return made, "", nil
}

func (r *building) discard(ctx context.Context, w git.WorktreePlan) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	return r.w.Discard(ctx, w)
}

// makersOf are the places of the commands that name one of some files: each file is made by the first that does.
func (r *building) makersOf(files []string) (list []int) {
	for _, f := range files {
		n := slices.IndexFunc(r.Queue.Regenerate, func(m fleet.MergeRegenerate) bool { return covers(m, f) })
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// hasTime says whether all of some commands may take their time.
func (r *building) hasTime(ctx context.Context, todo []int) bool {
	need := spare
	for _, n := range todo {
		need += time.Duration(r.Queue.Regenerate[n].Timeout)
	}
	end, is := ctx.Deadline()
	return !is || time.Until(end) >= need
}

// remakeBy runs one command, and takes over the files that it names.
func (r *building) remakeBy(ctx context.Context, n int, w git.WorktreePlan, tree string) (made git.MadeAnew, why string, err error) {
	m := r.Queue.Regenerate[n]
	said := ", and " + m.Argv[0] + ", which makes that anew, "
	failed, err := r.command(ctx, n, w.Path)
	if err != nil || failed != "" {
		return made, said + failed, err
	}
	made, err = r.w.TakeMade(ctx, w, tree, func(file string) bool { return covers(m, file) })
	switch {
	case errors.Is(err, git.ErrNotStored):
		return made, said + "left what cannot be merged: " + fleet.Line(err.Error(), 200), nil
	case err != nil:
		return made, "", fmt.Errorf("%w: %w", errUnmade, err)
	case len(made.Others) > 0:
		return made, said + "changed other files, too: " + few(names(made.Others)), nil
	}
	return made, "", nil
}

// command runs a command in a folder (raw), ends all that is left of it, and says how it failed; "" where it has ended
// with status 0.
func (r *building) command(ctx context.Context, n int, dir string) (failed string, err error) {
	m, t := r.Queue.Regenerate[n], ledger.MakeAnew(r.Queue, r.Group, n, fleet.Path(dir))
	for t.Attempt = 1; isThere(t.Run.StepDir(t.Step, t.Attempt)); {
		t.Attempt++
	}
	folder := t.Run.StepDir(t.Step, t.Attempt)
	err = doStep(ctx, r.o.Start, fleet.Action{Do: "run-step", Target: fleet.Target{Step: &t}})
	if errors.Is(err, shim.ErrFailed) {
		return "could not be started: " + fleet.Redact(fleet.Line(err.Error(), 200)), nil
	}
	if err == nil {
		_ = agentrun.Wait(ctx, time.Duration(m.Timeout), func(context.Context) bool {
			_, exit, err := shim.Read(folder)
			return exit != nil || err != nil || shim.IsGone(folder)
		})
	}
	ended := shim.ReadExit(folder) // of itself
	if err = errors.Join(err, r.end(ctx, &t)); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnmade, err)
	}
	return howFailed(folder, ended, m), nil
}

// howFailed says how a command failed that has ended, or was ended; "" where it has not.
func howFailed(folder string, x *shim.Exit, m fleet.MergeRegenerate) string {
	switch {
	case x == nil && shim.ReadExit(folder) == nil:
		return "ended, and nobody knows how"
	case x == nil:
		return "took longer than " + time.Duration(m.Timeout).String()
	case x.Status != nil && *x.Status == 0:
		return ""
	}
	text, err := shim.TailErrors(folder, 400)
	if err != nil || strings.TrimSpace(string(text)) == "" {
		return "failed: " + agentrun.Ending(*x)
	}
	return "failed: " + agentrun.Ending(*x) + ": " + fleet.Redact(fleet.Line(strings.TrimSpace(string(text)), 300))
}

// doStep carries an action on a step out.
func doStep(ctx context.Context, x act.Action, a fleet.Action) error {
	run, err := x.Prepare(ctx, a)
	if err != nil {
		return err
	}
	defer run.Close()
	if err := run.Do(ctx); err != nil {
		return err
	}
	_, err = run.Verify(ctx)
	return err
}

// end ends all that is left of an attempt, also when there is no time for anything else.
func (j *job) end(ctx context.Context, t *fleet.StepTarget) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := doStep(ctx, j.o.End, fleet.Action{Do: "end-step", Target: fleet.Target{Step: t}})
	if errors.Is(err, act.ErrUnneeded) {
		return nil
	}
	return err
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// makers are the attempts at commands that were ever begun for the group.
func (j *job) makers() (list []*fleet.StepTarget) {
	of := ledger.MakeAnew(j.Queue, j.Group, -1, "")
	entries, _ := os.ReadDir(of.Run.StepsDir())
	for _, e := range entries {
		dot := strings.LastIndexByte(e.Name(), '.')
		if n, err := strconv.Atoi(e.Name()[dot+1:]); dot > 0 && err == nil {
			list = append(list, &fleet.StepTarget{Run: of.Run, Step: e.Name()[:dot], Attempt: n})
		}
	}
	slices.SortFunc(list, func(a, b *fleet.StepTarget) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Attempt, b.Attempt))
	})
	return list
}

// endMakers ends what was left of them by a Custos that was killed.
func (j *job) endMakers(ctx context.Context) error {
	if j.o.End == nil {
		return nil
	}
	for _, t := range j.makers() {
		if err := j.end(ctx, t); err != nil {
			return fmt.Errorf("cannot end what makes files anew: %w", err)
		}
	}
	return nil
}
