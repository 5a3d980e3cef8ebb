package stop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

// rounds is how often the tree is looked for again after SIGKILL: a process
// may have forked between the look and the signal.
const rounds = 5

// minTraffic is how many bytes read or written in the watch count as life: less
// is the housekeeping of an event loop.
const minTraffic = 4096

// run is a tree that is held.
type run struct {
	x      *Action
	root   *proc.Handle
	also   []proc.ID                // as recorded by the probe, the root first
	held   map[proc.ID]*proc.Handle // everything ever found
	rss    int64                    // of the tree when it was prepared
	spared []error                  // what was found in it late and must not be signalled
}

// ready takes hold of the tree, and looks twice whether it is at rest.
func (r *run) ready(ctx context.Context, args []string) error {
	if err := r.sameCommand(args); err != nil {
		return err
	}
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	read := traffic(before)
	if err := r.pause(ctx); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	if err := r.atRest(before, after, time.Since(began)); err != nil {
		return err
	}
	if now := traffic(after); now > read+minTraffic {
		return refused("it works: it moved %d bytes in the last moment", now-read)
	}
	return r.hold(after)
}

// sameCommand compares the command line with the one that was judged, in the
// redacted form that a snapshot keeps.
func (r *run) sameCommand(seen []string) error {
	args, err := proc.CommandLine(r.root.ID().PID)
	if err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	// Redacted once more on both sides: what a probe handed on may have been
	// redacted by two.
	if !slices.Equal(fleet.RedactArgs(fleet.RedactArgs(args)), fleet.RedactArgs(seen)) {
		return refused("its command line is another one by now")
	}
	return nil
}

// look finds the tree, and refuses one with a process that must never be signalled.
func (r *run) look(ctx context.Context) ([]proc.Member, error) {
	tree, err := r.root.Tree(ctx, proc.TreeOptions{Also: r.also})
	if err != nil {
		return nil, fmt.Errorf("cannot stop: %w", err)
	}
	lineage, err := proc.Lineage()
	if err != nil {
		return nil, fmt.Errorf("cannot stop: %w", err)
	}
	for _, m := range tree {
		if err := allowed(m, lineage); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

func allowed(m proc.Member, lineage []proc.ID) error {
	switch {
	case m.PID == 1 || slices.Contains(lineage, m.ID):
		return refused("Custos itself runs in it (process %d)", m.PID)
	case m.UID != os.Getuid():
		return refused("process %d (%s) in it is another user's", m.PID, fleet.Line(m.Name, 20))
	}
	return nil
}

// pause waits for the watch to pass, or for the root to end by itself.
func (r *run) pause(ctx context.Context) error {
	watch, cancel := context.WithTimeout(ctx, r.x.watch)
	defer cancel()
	if err := r.root.Wait(watch); err == nil {
		return refused("it has just ended by itself")
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot watch the agent: %w", err)
	}
	return nil
}

// atRest refuses a tree that worked or changed between the two looks.
func (r *run) atRest(before, after []proc.Member, took time.Duration) error {
	cpu := map[proc.ID]time.Duration{}
	for _, m := range before {
		cpu[m.ID] = m.CPU
	}
	var used time.Duration
	r.rss = 0
	for _, m := range after {
		was, known := cpu[m.ID]
		if !known {
			return refused("it works: it has just begun process %d (%s)", m.PID, fleet.Line(m.Name, 20))
		}
		used += m.CPU - was
		r.rss += m.RSS
	}
	if len(after) < len(before) {
		return refused("it works: %d of its processes have just ended", len(before)-len(after))
	}
	if percent := 100 * float64(used) / float64(took); percent > r.x.maxCPU {
		return refused("it works: it used %.0f %% of a core in the last moment", percent)
	}
	return nil
}

func traffic(tree []proc.Member) uint64 {
	var sum uint64
	for _, m := range tree {
		if n, ok := proc.Traffic(m.PID); ok {
			sum += n
		}
	}
	return sum
}

// hold opens what is not held yet; one that has ended meanwhile needs no holding.
func (r *run) hold(tree []proc.Member) error {
	for _, m := range tree {
		if r.held[m.ID] != nil {
			continue
		}
		h, err := proc.Open(m.ID)
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot stop: %w", err)
		}
		r.held[m.ID] = h
	}
	return nil
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	if err := r.unchanged(ctx); err != nil {
		return err
	}
	if err := send(r.live(), syscall.SIGTERM, syscall.SIGCONT); err != nil {
		return err
	}
	if err := r.settle(ctx, r.x.term); err != nil {
		return err
	}
	for range rounds {
		if err := r.again(ctx); err != nil {
			return err
		}
		left := r.live()
		if len(left) == 0 {
			return nil
		}
		if err := send(left, syscall.SIGKILL); err != nil {
			return err
		}
		if err := r.settle(ctx, r.x.kill); err != nil {
			return err
		}
	}
	return nil // Verify says what is left
}

// unchanged refuses a tree in which something began since it was prepared.
func (r *run) unchanged(ctx context.Context) error {
	tree, err := r.look(ctx)
	if err != nil {
		return err
	}
	for _, m := range tree {
		if r.held[m.ID] == nil {
			return refused("it works: it has just begun process %d (%s)", m.PID, fleet.Line(m.Name, 20))
		}
	}
	return nil
}

// again looks for the tree once more and takes hold of what is new in it. What
// must not be signalled is spared, and Verify says so.
func (r *run) again(ctx context.Context) error {
	tree, err := r.root.Tree(ctx, proc.TreeOptions{Also: r.also})
	if err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	lineage, err := proc.Lineage()
	if err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	r.spared = nil
	return r.hold(slices.DeleteFunc(tree, func(m proc.Member) bool {
		err := allowed(m, lineage)
		if err != nil {
			r.spared = append(r.spared, err)
		}
		return err != nil
	}))
}

// live lists what has not ended, oldest first: parents before their children.
func (r *run) live() []*proc.Handle {
	var out []*proc.Handle
	for _, h := range r.held {
		if !h.Ended() {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *proc.Handle) int {
		x, y := a.ID(), b.ID()
		if x.Start != y.Start {
			return int(int64(x.Start) - int64(y.Start))
		}
		return x.PID - y.PID
	})
	return out
}

// send signals each in order. SIGCONT goes with SIGTERM because a stopped
// process would not see it. One that ended meanwhile is as it should be.
func send(to []*proc.Handle, sigs ...syscall.Signal) error {
	for _, h := range to {
		for _, sig := range sigs {
			if err := h.Signal(sig); err != nil && !errors.Is(err, proc.ErrGone) {
				return fmt.Errorf("cannot stop all of it: %w", err)
			}
		}
	}
	return nil
}

// glance is how often the tree is looked for while it ends: a child that leaves
// its session is found only as long as its parent lives.
const glance = 100 * time.Millisecond

// settle waits until all of the tree has ended, at most d.
func (r *run) settle(ctx context.Context, d time.Duration) error {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for within.Err() == nil {
		live := r.live()
		if len(live) == 0 {
			break
		}
		soon, done := context.WithTimeout(within, glance)
		_ = live[0].Wait(soon) // its error is that time is up
		done()
		if err := r.again(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot wait for its end: %w", err)
	}
	return nil
}

// Verify implements act.Run: nothing that was ever part of the tree lives.
func (r *run) Verify(ctx context.Context) (string, error) {
	if err := r.again(ctx); err != nil {
		return "", fmt.Errorf("cannot show that nothing is left: %w", err)
	}
	if len(r.spared) > 0 {
		return "", errors.Join(r.spared...)
	}
	var left []string
	for _, h := range r.live() {
		left = append(left, fmt.Sprint(h.ID().PID))
	}
	if len(left) > 0 {
		return "", fmt.Errorf("cannot end process %s", strings.Join(left, ", "))
	}
	return fmt.Sprintf("stopped %d processes, %.1f MiB of memory freed", len(r.held), float64(r.rss)/(1<<20)), nil
}

// Close implements act.Run.
func (r *run) Close() {
	r.root.Close()
	for _, h := range r.held {
		h.Close()
	}
}
