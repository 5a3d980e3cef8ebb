package agentrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Tree is an agent's process with all that belongs to it. Each process is held
// by a pidfd, against its start time, before anything is sent to it: a signal
// reaches the very process that was looked at, or none.
type Tree struct {
	Also   []proc.ID // what was seen in it before: it belongs to it, whatever its parent is by now
	Marker string    // environment entry of whatever belongs to it; "" for none
	Kin    shim.Kin  // what the records of its shims say belongs to it
	Doubt  error     // why those do not tell all: then nothing shows that nothing is left
	Hosted Hosted    // asks tmux servers that are part of it; nil: what runs on one is left alone
	Folder string    // where the agent works (raw); "" when not known
	Left   []string  // why something that looks like a part of it is left alone, for people
	Self   proc.ID   // the agent's own process; it is never left to run on
	Spares bool      // what another user runs and we may not signal runs on, and RunsOn names it; else a tree with such a process is refused

	root   *proc.Handle
	held   map[proc.ID]*proc.Handle // everything ever found
	hosts  map[proc.ID]guests       // tmux servers in it that were asked
	barred []error                  // what was found in it and must not be signalled
	others []proc.Member            // what runs on, as it was last looked at
}

// Take holds a process for the tree, whose Close lets go of it. The first one is
// its root: the tree is looked for from there.
func (t *Tree) Take(h *proc.Handle) {
	if t.root == nil {
		t.root, t.held = h, map[proc.ID]*proc.Handle{}
	}
	if was := t.held[h.ID()]; was != nil && was != h {
		h.Close()
		return
	}
	t.held[h.ID()] = h
}

// Root is the process that the tree is looked for from; nil when nothing is held.
func (t *Tree) Root() *proc.Handle { return t.root }

// Size is how many processes were ever held.
func (t *Tree) Size() int { return len(t.held) }

// Close lets go of all of them.
func (t *Tree) Close() {
	for _, h := range t.held {
		h.Close()
	}
}

// Look lists what belongs to the tree now, oldest first. It refuses a tree with
// a process that must never be signalled.
func (t *Tree) Look(ctx context.Context) ([]proc.Member, error) {
	members, err := t.scan(ctx)
	if err == nil && len(t.barred) > 0 {
		return nil, t.barred[0]
	}
	return members, err
}

// options say what belongs to the tree.
func (t *Tree) options() proc.TreeOptions {
	return proc.TreeOptions{Also: slices.Concat(t.Also, ids(t.Kin.Left)), Markers: append([]string{t.Marker}, t.Kin.Markers...),
		Under: ids(t.Kin.Shims), Not: ids(t.Kin.Others)}
}

// Leaves says whether anything of an instance that has ended runs on.
func Leaves(ctx context.Context, shims string, s shim.Started) (bool, error) {
	var t Tree
	if t.Kin, t.Doubt = shim.ReadKin(shims, s.Name, s.Key, s.At.Boot, shim.OfOne); t.Doubt != nil {
		return t.Find(ctx) == nil && len(t.Also) > 0, t.Doubt
	}
	err := t.Find(ctx)
	return len(t.Also) > 0, err
}

// OthersRunOn says of each process that belongs to an instance, runs and is another user's
// what it is and what ends it.
func OthersRunOn(ctx context.Context, shims string, s shim.Started) ([]string, error) {
	var t Tree
	t.Kin, t.Doubt = shim.ReadKin(shims, s.Name, s.Key, s.At.Boot, shim.OfOne)
	members, err := proc.Find(ctx, t.options())
	for _, m := range members {
		if m.UID != os.Getuid() {
			t.others = append(t.others, m)
		}
	}
	return t.RunsOn(), errors.Join(t.Doubt, err)
}

func ids(of []shim.ID) (out []proc.ID) {
	for _, id := range of {
		out = append(out, proc.ID(id))
	}
	return out
}

// Find adds to what was seen before all that the records, the markers and the process
// table tell of the tree now.
func (t *Tree) Find(ctx context.Context) error {
	members, err := proc.Find(ctx, t.options())
	if err != nil {
		return fmt.Errorf("cannot look for what the agent started: %w", err)
	}
	for _, m := range members {
		if !slices.Contains(t.Also, m.ID) {
			t.Also = append(t.Also, m.ID)
		}
	}
	return nil
}

// scan lists what belongs to the tree and may be signalled. Of the rest it keeps why it must
// not be, or that it runs on.
func (t *Tree) scan(ctx context.Context) (members []proc.Member, err error) {
	all, err := t.root.Tree(ctx, t.options())
	if err != nil {
		return nil, err
	}
	lineage, err := proc.Lineage()
	if err != nil {
		return nil, err
	}
	t.barred, t.others = nil, nil
	for _, m := range t.withoutGuests(ctx, all) {
		err := allowed(m, lineage)
		spares := t.Spares && m.ID != t.Self && errors.Is(err, errAnothers)
		switch {
		case err == nil, spares && proc.MaySignal(m.ID):
			members = append(members, m)
		case spares:
			t.others = append(t.others, m)
		default:
			t.barred = append(t.barred, err)
		}
	}
	return members, nil
}

// Hold takes hold of what is not held yet; one that has ended meanwhile needs no
// holding.
func (t *Tree) Hold(members []proc.Member) error {
	for _, m := range members {
		if t.held[m.ID] != nil {
			continue
		}
		h, err := proc.Open(m.ID)
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		t.held[m.ID] = h
	}
	return nil
}

// Unchanged refuses a tree in which something began since it was held.
func (t *Tree) Unchanged(ctx context.Context) error {
	members, err := t.Look(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		if t.held[m.ID] == nil {
			return begun(m)
		}
	}
	return nil
}

// again looks for the tree once more and takes hold of what is new in it. What
// must not be signalled is left alone, and Over says so. It says whether anything was there:
// what ended during the look may have begun something that the look came too early for.
func (t *Tree) again(ctx context.Context) (some bool, err error) {
	if t.root == nil {
		return false, nil
	}
	members, err := t.scan(ctx)
	if err != nil {
		return false, err
	}
	return len(members) > 0, t.Hold(members)
}

// lives looks until something is held that lives, or a look has found nothing at all.
func (t *Tree) lives(ctx context.Context) (bool, error) {
	for {
		some, err := t.again(ctx)
		if lives := len(t.live()) > 0; lives || !some || err != nil {
			return lives, err
		}
	}
}

// live lists what has not ended and does not run on, oldest first: parents before their
// children.
func (t *Tree) live() []*proc.Handle {
	var out []*proc.Handle
	for _, h := range t.held {
		runsOn := slices.ContainsFunc(t.others, func(m proc.Member) bool { return m.ID == h.ID() })
		if !runsOn && !h.Ended() {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *proc.Handle) int {
		x, y := a.ID(), b.ID()
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.PID, y.PID))
	})
	return out
}

// Also lists the tree as the plan knew it, the agent itself first.
func Also(a *fleet.Agent) []proc.ID {
	var out []proc.ID
	for _, p := range append([]fleet.ProcessID{a.Process}, a.Procs...) {
		id := proc.ID{PID: p.PID, Start: p.Start}
		if p.PID > 1 && p.Boot == a.Process.Boot && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// KillCommands say how the tree of an agent is ended, as the plan knew it; also is what
// else gets SIGKILL, in words. There are none where no process of it is known.
func KillCommands(a *fleet.Agent, term time.Duration, also string) []fleet.Command {
	var pids []string
	for _, id := range Also(a) {
		pids = append(pids, strconv.Itoa(id.PID))
	}
	if len(pids) == 0 {
		return nil
	}
	return []fleet.Command{
		{Argv: append([]string{"kill", "-TERM"}, pids...), Note: "through pidfds, each held against its start time first"},
		{Argv: append([]string{"kill", "-KILL"}, pids...), Note: fmt.Sprintf("what is left after %s, %s", term, also)},
	}
}

// allowed refuses a process that must never be signalled.
func allowed(m proc.Member, lineage []proc.ID) error {
	switch {
	case m.PID == 1 || slices.Contains(lineage, m.ID):
		return Refused("Custos itself runs in it (process %d)", m.PID)
	case m.UID != os.Getuid():
		return Refused("process %d (%s) in it is %w", m.PID, fleet.Line(m.Name, 20), errAnothers)
	}
	return nil
}

var errAnothers = errors.New("another user's")

// maxNamed is how many processes that run on are named one by one.
const maxNamed = 5

// RunsOn says of each process that is left to another user what it is and what ends it, as
// it was last looked at.
func (t *Tree) RunsOn() (says []string) {
	for _, m := range t.others[:min(len(t.others), maxNamed)] {
		says = append(says, fmt.Sprintf("process %d (%s) of %s runs on: sudo kill %d", m.PID, fleet.Line(m.Name, 20), userName(m.UID), m.PID))
	}
	if more := len(t.others) - len(says); more > 0 {
		says = append(says, fmt.Sprintf("%d more of other users run on", more))
	}
	return says
}

// userName names a user for people.
func userName(uid int) string {
	if uid < 0 {
		return "another user"
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "user " + strconv.Itoa(uid)
	}
	return "user " + fleet.Line(u.Username, 40)
}

func isGone(err error) bool { return errors.Is(err, proc.ErrGone) }

func begun(m proc.Member) error {
	return Refused("it works: it has just begun process %d (%s)", m.PID, fleet.Line(m.Name, 20))
}
