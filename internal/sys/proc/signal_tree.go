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
}

// TreeOptions says what else than descent makes a process part of a tree.
type TreeOptions struct {
	// Also are processes that were seen in the tree before: those that still
	// live belong to it, whoever is their parent by now.
	Also []ID
	// Marker is one whole environment entry (CUSTOS_AGENT=name:id). When it is
	// set, processes of our own user that carry it belong to the tree. No other
	// entry of anyone's environment is looked at.
	Marker string
}

// Tree returns the live processes of the held process's tree, itself included,
// oldest first. To the tree belongs whatever descends from a member, or is in
// the session or process group that a member leads or led. Tree remembers what
// it found: a grandchild whose parents have ended since is still found by its
// session or group. What left all of these before it was ever seen (a double
// fork with setsid, unmarked) cannot be told from a stranger, and is left out.
func (h *Handle) Tree(ctx context.Context, o TreeOptions) ([]Member, error) {
	rows, err := scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look for the processes below %d: %w", h.id.PID, err)
	}
	table := make(map[int]uint64, len(rows))
	for _, r := range rows {
		table[r.PID] = r.Start
	}
	for _, r := range rows {
		if slices.Contains(o.Also, r.ID) || o.Marker != "" && carries(r.PID, o.Marker) {
			h.seen[r.PID] = r.Start
		}
	}
	for h.grow(rows, table) {
	}
	return h.members(rows), nil
}

// grow adds the rows that belong to the tree by a link to someone already in it.
func (h *Handle) grow(rows []Member, table map[int]uint64) (more bool) {
	ours := func(pid int) bool {
		start, known := h.seen[pid]
		now, lives := table[pid]
		return known && (!lives || now == start)
	}
	for _, r := range rows {
		if h.seen[r.PID] == r.Start {
			continue
		}
		_, parentLives := table[r.PPID]
		if parentLives && ours(r.PPID) || ours(r.PGID) || ours(r.SID) {
			h.seen[r.PID] = r.Start
			more = true
		}
	}
	return more
}

func (h *Handle) members(rows []Member) []Member {
	var out []Member
	for _, r := range rows {
		if h.seen[r.PID] != r.Start || r.over() {
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

// carries says whether the process is of our user and has this very entry in
// its environment. Custos itself never counts.
func carries(pid int, marker string) bool {
	if uid, err := uidOf(pid); err != nil || uid != os.Getuid() {
		return false
	}
	return procstat.Carries(pid, marker)
}
