package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxArgs is how much of a command line is read. The kernel allows megabytes;
// prompts given as arguments are the only ones that long.
const maxArgs = 16 << 10

// takeTable reads the whole table. By hand and into one buffer, because the
// library takes more than three times as long (see BenchmarkTable).
func takeTable(root string, before *table, avoid map[int]bool, f *flight) *table {
	t := &table{at: time.Now()}
	pids, err := listPids(root)
	if err != nil {
		t.err = fmt.Errorf("cannot read process table: %w", err)
		return t
	}
	if t.up, err = uptime(); err != nil {
		t.err = fmt.Errorf("cannot read process table: %w", err)
		return t
	}
	old := index(before)
	t.rows = make([]Info, 0, len(pids))
	b := &buffer{}
	for _, pid := range pids {
		f.since.Store(time.Now().UnixNano())
		f.pid.Store(int64(pid))
		info, err := b.info(root, pid, old, t.up, avoid[pid])
		if err == nil {
			t.rows = append(t.rows, info)
		}
	}
	t.rates(before)
	return t
}

func listPids(root string) ([]int, error) {
	d, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

func uptime() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, fmt.Errorf("cannot read boot clock: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

func index(t *table) map[ID]*Info {
	if t == nil {
		return nil
	}
	m := make(map[ID]*Info, len(t.rows))
	for i := range t.rows {
		m[t.rows[i].ID] = &t.rows[i]
	}
	return m
}

// baseline is the processor time that each process had used at some moment.
type baseline struct {
	up  time.Duration // CLOCK_BOOTTIME
	cpu map[ID]time.Duration
}

// minRate is how far back a baseline should lie: processor time is told in
// steps of 10 ms, so a shorter time would give a rate in coarse steps.
const minRate = 500 * time.Millisecond

// rates fills in the share of CPU since the table before, or since the baseline
// of that one, when it is too young. A pid that was given to another process
// meanwhile has another start time, and no rate.
func (t *table) rates(before *table) {
	if before == nil {
		return
	}
	t.base = before.base
	if t.base == nil || t.up-before.up >= minRate {
		t.base = before.times()
	}
	passed := t.up - t.base.up
	if passed <= 0 {
		return
	}
	for i := range t.rows {
		row := &t.rows[i]
		if was, ok := t.base.cpu[row.ID]; ok {
			row.CPU, row.HasCPU = 100*float64(max(0, row.CPUTime-was))/float64(passed), true
		}
	}
}

func (t *table) times() *baseline {
	b := &baseline{up: t.up, cpu: make(map[ID]time.Duration, len(t.rows))}
	for i := range t.rows {
		b.cpu[t.rows[i].ID] = t.rows[i].CPUTime
	}
	return b
}

// info reads one process. old lends what did not change.
func (b *buffer) info(root string, pid int, old map[ID]*Info, up time.Duration, wary bool) (Info, error) {
	text, err := b.file(root, pid, "stat")
	if err != nil {
		return Info{}, err
	}
	info := Info{}
	if info.Stat, err = parseStat(text); err != nil {
		return Info{}, err
	}
	traceable := false
	info.image, traceable = image(text)
	info.Age = max(0, up-ticks(info.ID.Start))
	was := old[info.ID]
	if was == nil {
		was = &Info{}
	}
	if info.CWD, err = b.link(root, pid, "cwd", was.CWD); err != nil {
		return Info{}, err
	}
	if was.image == info.image && up < was.until {
		info.lend(was)
		return info, nil
	}
	info.until = up + keep(info.Age, traceable)
	return info, b.costly(root, pid, &info, was, wary)
}

// How long the costly facts of a process are kept. A young one is still being
// set up (moved to its cgroup, given its user); of one that is not ours the
// kernel does not show that it runs another program under the same name.
const (
	youth         = 5 * time.Second
	keepTraceable = 2 * time.Minute // four looks
	keepOther     = 20 * time.Second
)

func keep(age time.Duration, traceable bool) time.Duration {
	switch {
	case age < youth:
		return 0
	case traceable:
		return keepTraceable
	}
	return keepOther
}

func (info *Info) lend(was *Info) {
	info.UID, info.Exe, info.Args, info.Cgroup = was.UID, was.Exe, was.Args, was.Cgroup
	info.Unread, info.until = was.Unread, was.until
}

// costly reads what takes the kernel three times as long as all the rest.
func (b *buffer) costly(root string, pid int, info, was *Info, wary bool) (err error) {
	if info.UID, err = b.uid(root, pid); err != nil {
		return err
	}
	if info.Cgroup, err = b.cgroup(root, pid, was.Cgroup); err != nil {
		return err
	}
	if wary {
		info.Unread = "its command line did not answer"
		return nil
	}
	return b.program(root, pid, info, was)
}

// program reads what a locked address space can hold up.
func (b *buffer) program(root string, pid int, info, was *Info) (err error) {
	if info.Exe, err = b.link(root, pid, "exe", was.Exe); err != nil {
		return err
	}
	text, err := b.file(root, pid, "cmdline")
	switch {
	case isGone(err):
		return err
	case err != nil:
		info.Unread = reason(err)
		return nil
	}
	info.Args = splitArgs(text, was.Args)
	return nil
}

// splitArgs splits a command line at its zeros. When it is the old one, the old
// one is returned.
func splitArgs(text []byte, old []string) []string {
	text = bytes.TrimRight(text, "\x00")
	if len(text) == 0 {
		return nil
	}
	if equalArgs(text, old) {
		return old
	}
	return strings.Split(string(text), "\x00")
}

func equalArgs(text []byte, args []string) bool {
	if len(args) == 0 {
		return false
	}
	for i, a := range args {
		if i > 0 {
			if len(text) == 0 || text[0] != 0 {
				return false
			}
			text = text[1:]
		}
		if len(text) < len(a) || string(text[:len(a)]) != a {
			return false
		}
		text = text[len(a):]
	}
	return len(text) == 0
}

// buffer holds what one reading reuses.
type buffer struct {
	path []byte
	text [maxArgs]byte
}

// name returns root/pid/file, valid until the next call.
func (b *buffer) name(root string, pid int, file string) string {
	b.path = append(b.path[:0], root...)
	b.path = append(b.path, '/')
	b.path = strconv.AppendInt(b.path, int64(pid), 10)
	if file != "" {
		b.path = append(b.path, '/')
		b.path = append(b.path, file...)
	}
	return string(b.path)
}

// file returns the beginning of a file, valid until the next call.
func (b *buffer) file(root string, pid int, file string) ([]byte, error) {
	fd, err := unix.Open(b.name(root, pid, file), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for n < len(b.text) {
		m, err := unix.Read(fd, b.text[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n += m
		if m == 0 || file != "cmdline" { // the rest come in one piece
			break
		}
	}
	return b.text[:n], nil
}

func (b *buffer) link(root string, pid int, file string, old Link) (Link, error) {
	n, err := unix.Readlink(b.name(root, pid, file), b.text[:])
	switch {
	case errors.Is(err, unix.ENOENT): // a kernel thread or a zombie; or it is gone, as the next read tells
		return Link{}, nil
	case isGone(err):
		return Link{}, err
	case err != nil:
		return Link{Err: reason(err)}, nil
	case string(b.text[:n]) == old.Path:
		return old, nil
	}
	return Link{Path: string(b.text[:n])}, nil
}

// uid returns the effective user. The folder belongs to that user, except that
// it belongs to root when the process does not let itself be traced.
func (b *buffer) uid(root string, pid int) (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(b.name(root, pid, ""), &st); err != nil {
		return 0, err
	}
	if st.Uid != 0 {
		return int(st.Uid), nil
	}
	text, err := b.file(root, pid, "status")
	if isGone(err) {
		return 0, err
	}
	if uid, ok := statusUID(text); ok {
		return uid, nil
	}
	return int(st.Uid), nil
}

func (b *buffer) cgroup(root string, pid int, old string) (string, error) {
	text, err := b.file(root, pid, "cgroup")
	if isGone(err) {
		return "", err
	}
	path := cgroupPath(text) // empty when it could not be read
	if string(path) == old {
		return old, nil
	}
	return string(path), nil
}

// isGone says whether an error means that the process ended.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
