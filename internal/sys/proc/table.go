// Package proc reads the process table, and signals processes that it holds on
// to by their identity. Reading (Reader) is for all; signalling (Handle)
// only for actions.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Info is what is known of one process at one moment. Texts are as the kernel
// gave them, byte for byte: they are made safe before they are shown.
type Info struct {
	Stat
	UID    int  // effective user; of its /proc folder where status cannot be read
	Exe    Link // empty for a kernel thread
	CWD    Link
	Args   []string      // empty for a kernel thread and a zombie
	Age    time.Duration // by CLOCK_BOOTTIME
	Cgroup string        // path; of the memory controller where there is no unified hierarchy
	CPU    float64       // percent of one core since the table before; see HasCPU
	HasCPU bool          // false in the first table that holds the process
	Unread string        // why Exe and Args were left out, when they were

	image uint64        // of the program it runs; see image
	until time.Duration // CLOCK_BOOTTIME until which the costly facts may be kept
}

// Link is a symbolic link of /proc that may belong to another user.
type Link struct {
	Path string
	Err  string // why it could not be read: "permission denied"
}

// TableOptions is what a Reader is made of.
type TableOptions struct {
	Root string        // the proc file system; "/proc" when empty
	TTL  time.Duration // how long a table serves all who ask; 1 s when zero
}

// Reader reads the process table. Several probes share one: a table is read at
// most once per TTL, and by one of them while the others wait.
type Reader struct {
	root string
	ttl  time.Duration

	mu      sync.Mutex
	last    *table
	expired bool // last may be compared with, and not be handed out
	flight  *flight
	avoid   map[int]bool // pids whose command line did not answer
}

// table is one finished reading. It is shared and never changed.
type table struct {
	at   time.Time
	up   time.Duration
	rows []Info
	base *baseline // what its rates were reckoned from
	err  error
}

// flight is a reading in progress.
type flight struct {
	done  chan struct{}
	pid   atomic.Int64 // being read now
	since atomic.Int64 // since when, in nanoseconds since 1970
	table *table       // set before done is closed
}

// stuckAfter is how long one process may take to be read. It takes some 30 µs;
// one whose address space is locked by a hung disk takes for ever.
const stuckAfter = 500 * time.Millisecond

// NewReader returns a reader of the live process table.
func NewReader(o TableOptions) *Reader {
	r := &Reader{root: o.Root, ttl: o.TTL, avoid: map[int]bool{}}
	if r.root == "" {
		r.root = "/proc"
	}
	if r.ttl <= 0 {
		r.ttl = time.Second
	}
	return r
}

// Table returns all processes that can be seen, by rising pid. User, program,
// command line and cgroup of a process are read anew when it runs another
// program, and else after two minutes, or at each look where the kernel does not
// show that. The slice is shared: the caller must not change it. A process that ends meanwhile is left
// out; what belongs to others and cannot be read is marked so. It fails when
// the table as a whole cannot be read, or ctx ends before it has been.
func (r *Reader) Table(ctx context.Context) ([]Info, error) {
	t, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return t.rows, nil
}

// Forget has the next caller of Table get a table whose reading begins after
// this moment: something is known to have changed.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expired, r.flight = true, nil
}

func (r *Reader) read(ctx context.Context) (*table, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot read process table: %w", err)
	}
	t, f := r.join()
	if t != nil {
		return t, t.err
	}
	select {
	case <-f.done:
		return f.table, f.table.err
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot read process table: %w%s", ctx.Err(), r.suspect(f))
	}
}

// join returns the last table while it is young, else the flight under way,
// which it starts when there is none.
func (r *Reader) join() (*table, *flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && !r.expired && time.Since(r.last.at) < r.ttl {
		return r.last, nil
	}
	if r.flight == nil {
		r.flight = &flight{done: make(chan struct{})}
		go r.fly(r.flight, r.last, r.avoided())
	}
	return nil, r.flight
}

func (r *Reader) avoided() map[int]bool {
	pids := make(map[int]bool, len(r.avoid))
	for pid := range r.avoid {
		pids[pid] = true
	}
	return pids
}

func (r *Reader) fly(f *flight, before *table, avoid map[int]bool) {
	t := takeTable(r.root, before, avoid, f)
	r.mu.Lock()
	defer r.mu.Unlock()
	f.table = t
	if r.flight == f {
		r.flight = nil
		r.keepAvoiding(t)
		if t.err == nil {
			r.last, r.expired = t, false
		}
	}
	close(f.done)
}

// keepAvoiding drops the avoided pids that are gone.
func (r *Reader) keepAvoiding(t *table) {
	alive := make(map[int]bool, len(r.avoid))
	for i := range t.rows {
		if pid := t.rows[i].ID.PID; r.avoid[pid] {
			alive[pid] = true
		}
	}
	r.avoid = alive
}

// suspect gives up on a flight that hangs at one process, so that the next
// table is read without that one's command line. It says which.
func (r *Reader) suspect(f *flight) string {
	pid, since := f.pid.Load(), f.since.Load()
	if pid == 0 || time.Now().UnixNano()-since < int64(stuckAfter) {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.avoid[int(pid)] = true
	if r.flight == f {
		r.flight = nil
	}
	return fmt.Sprintf(": process %d does not answer", pid)
}

// Stat reads the state of one process, past the cache. The error wraps ErrGone
// when there is no such process.
func (r *Reader) Stat(pid int) (Stat, error) {
	var b buffer
	text, err := b.file(r.root, pid, "stat")
	if isGone(err) {
		return Stat{}, fmt.Errorf("cannot read process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Stat{}, fmt.Errorf("cannot read process %d: %w", pid, err)
	}
	return parseStat(text)
}

// The environment variables that Custos reads of other processes: its own marker, and
// where the ssh client is that a process was started for, which is no secret.
const (
	marker = "CUSTOS_AGENT"
	// SSHConnection is "client port server port", as an sshd gives it to what it starts.
	SSHConnection = "SSH_CONNECTION"
)

var errForeignKey = errors.New("only " + marker + " and " + SSHConnection + " may be read of another process")

// Env returns one of those two in the environment a process was started with, and
// whether it is there. It refuses every other key.
func (r *Reader) Env(pid int, key string) (string, bool, error) {
	if key != marker && key != SSHConnection {
		return "", false, fmt.Errorf("cannot read environment of process %d: %w", pid, errForeignKey)
	}
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", r.root, pid))
	if isGone(err) {
		err = ErrGone
	}
	if err != nil {
		return "", false, fmt.Errorf("cannot read %s of process %d: %w", key, pid, err)
	}
	value, found := variableIn(text, key)
	return value, found, nil
}

// Ended says whether a process, which began at start in clock ticks since boot, is known not to
// run any more.
func Ended(pid int, start uint64) bool {
	is, err := NewReader(TableOptions{}).Stat(pid)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrGone) || err == nil && is.ID.Start != start
}
