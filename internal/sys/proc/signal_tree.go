package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"custos/internal/sys/procstat"
)

// Member is one live process of a tree, as it was at the instant of the scan.
type Member struct {
	ID
	PPID, PGID, SID int
	UID             int // -1 when real, effective and saved user differ, or could not be read
	Name            string
	State           string        // R, S, D, T, …; never a zombie
	CPU             time.Duration // used since it began, by itself and by children it has reaped
	RSS             int64         // bytes; pages shared with others count for each of them
	Hosts           bool          // the parent of a process that begins a tree of others (TreeOptions.Not)
}

// TreeOptions says what else than descent makes a process part of a tree.
type TreeOptions struct {
	// Also are processes that were seen in the tree before: those that still
	// live belong to it, whatever their parent is by now.
	Also []ID
	// Markers are whole environment entries (CUSTOS_AGENT=name:id). Processes of our
	// own user that carry one belong to the tree. No other entry of anyone's
	// environment is looked at.
	Markers []string
	// Under are subreapers: whatever descends from one belongs to the tree, however
	// often it let go of its parents; they themselves do not.
	Under []ID
	// Not are processes that begin trees of others: neither they nor what descends
	// from them belong to this one, whatever else ties them to it.
	Not []ID
}

// Tree returns the live processes of the held process's tree, itself included,
// oldest first. To the tree belongs whatever descends from a member, or is in
// the session or process group that a member leads or led. Tree remembers what
// it found: a grandchild whose parents have ended since is still found by its
// session or group. What left all of these before it was ever seen (a double
// fork with setsid, unmarked, below no subreaper that is known) cannot be told from
// a stranger, and is left out.
func (h *Handle) Tree(ctx context.Context, o TreeOptions) ([]Member, error) {
	list, err := h.seen.look(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("cannot look for the processes below %d: %w", h.id.PID, err)
	}
	return list, nil
}

// Find lists, like Tree, what belongs to a tree of which no process is held yet.
func Find(ctx context.Context, o TreeOptions) ([]Member, error) {
	list, err := seen{}.look(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("cannot look for what belongs together: %w", err)
	}
	return list, nil
}

// seen is everything that was found in a tree: pid → start.
type seen map[int]uint64

// look finds what belongs to the tree in one pass over the process table.
func (h seen) look(ctx context.Context, o TreeOptions) ([]Member, error) {
	rows, err := scan(ctx)
	if err != nil {
		return nil, err
	}
	not := below(rows, o.Not)
	under := below(rows, o.Under)
	rows = withoutOthers(rows, not, o.Not)
	table := make(map[int]uint64, len(rows))
	for _, r := range rows {
		table[r.PID] = r.Start
	}
	for _, r := range rows {
		if slices.Contains(o.Also, r.ID) || under[r.ID] && !slices.Contains(o.Under, r.ID) || carriesAny(r.PID, o.Markers) {
			h[r.PID] = r.Start
		}
	}
	for h.grow(rows, table) {
	}
	return h.members(rows), nil
}

// withoutOthers leaves out trees of others, and marks whom they stand below.
func withoutOthers(rows []Member, not map[ID]bool, tops []ID) []Member {
	hosts := map[int]bool{}
	for _, r := range rows {
		if slices.Contains(tops, r.ID) {
			hosts[r.PPID] = true
		}
	}
	rows = slices.DeleteFunc(rows, func(r Member) bool { return not[r.ID] })
	for i := range rows {
		rows[i].Hosts = hosts[rows[i].PID]
	}
	return rows
}

// below lists the processes of tops that live, and all that descend from them.
func below(rows []Member, tops []ID) map[ID]bool {
	children, in := map[int][]ID{}, map[ID]bool{}
	var queue []ID
	for _, r := range rows {
		children[r.PPID] = append(children[r.PPID], r.ID)
		if slices.Contains(tops, r.ID) {
			queue = append(queue, r.ID)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if id := queue[0]; !in[id] {
			in[id] = true
			queue = append(queue, children[id.PID]...)
		}
	}
	return in
}

// grow adds the rows that belong to the tree by a link to one already in it.
func (h seen) grow(rows []Member, table map[int]uint64) (more bool) {
	ours := func(pid int) bool {
		start, known := h[pid]
		now, lives := table[pid]
		return known && (!lives || now == start)
	}
	for _, r := range rows {
		if h[r.PID] == r.Start {
			continue
		}
		_, parentLives := table[r.PPID]
		if parentLives && ours(r.PPID) || ours(r.PGID) || ours(r.SID) {
			h[r.PID] = r.Start
			more = true
		}
	}
	return more
}

func (h seen) members(rows []Member) []Member {
	var out []Member
	for _, r := range rows {
		if h[r.PID] != r.Start || r.over() {
			continue
		}
		uid, err := uidOf(r.PID)
		if errors.Is(err, ErrGone) {
			continue
		}
		r.UID = uid
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return out
}

// over says whether the row is a corpse: it links its group, and no more.
func (m Member) over() bool { return m.State == "Z" || m.State == "X" || m.State == "x" }

// Lineage returns this very process and its ancestors up to pid 1, nearest first.
func Lineage() ([]ID, error) {
	var out []ID
	for pid := os.Getpid(); pid > 0; {
		row, err := readRow(pid)
		if err != nil {
			return nil, fmt.Errorf("cannot tell the ancestors of Custos: %w", err)
		}
		out = append(out, row.ID)
		pid = row.PPID
	}
	return out, nil
}

// scan reads the whole process table; one that ends meanwhile is left out.
func scan(ctx context.Context) ([]Member, error) {
	pids, err := listPids("/proc")
	if err != nil {
		return nil, err
	}
	var rows []Member
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row, err := readRow(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// readRow reads one process; ErrGone when there is none, or it is hidden.
func readRow(pid int) (Member, error) {
	s, err := procstat.Read("/proc", pid)
	if err != nil {
		return Member{}, gone(pid, err)
	}
	return Member{
		ID:   ID{PID: pid, Start: s.Start},
		PPID: s.PPID, PGID: s.PGID, SID: s.SID, UID: -1,
		Name: s.Comm, State: letter(s.State),
		CPU: ticks(s.CPU + s.CPUOfChildren),
		RSS: s.Pages * int64(os.Getpagesize()),
	}, nil
}

func gone(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		err = ErrGone
	}
	return fmt.Errorf("cannot read process %d: %w", pid, err)
}

// uidOf returns the user of a process, or -1 when it is not one and the same;
// ErrGone when the process has ended.
func uidOf(pid int) (int, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return -1, gone(pid, err)
	}
	s, err := p.NewStatus()
	if err != nil {
		return -1, gone(pid, err)
	}
	if s.UIDs[0] != s.UIDs[1] || s.UIDs[1] != s.UIDs[2] {
		return -1, nil
	}
	return int(s.UIDs[0]), nil
}

// carriesAny says whether the process is of our user and has one of these very
// entries in its environment. Custos itself never counts.
func carriesAny(pid int, markers []string) bool {
	if len(markers) == 0 {
		return false
	}
	if uid, err := uidOf(pid); err != nil || uid != os.Getuid() {
		return false
	}
	return slices.ContainsFunc(markers, func(m string) bool { return m != "" && procstat.Carries(pid, m) })
}
