package transcripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/tail"
)

const (
	// batch is how many responses are written down together, at least.
	batch = 10_000
	// chunk is how many bytes of a file are read before what they told may be written down.
	chunk = 4 << 20
)

// ErrUnwritten is that what was read could not be written down, so that nothing is counted.
var ErrUnwritten = errors.New("cannot write down what models used")

// Ledger is where is written down what responses used, and how far files were read.
type Ledger interface {
	AddUsage(ctx context.Context, rows []fleet.Usage, cursors []fleet.UsageCursor) error
	NoteUsageFaults(ctx context.Context, list []fleet.UsageFault) error
	UsageCursors(ctx context.Context) ([]fleet.UsageCursor, error)
}

// Usage reads what responses used from all transcripts, each line once, and writes it down
// with how far it read: what is read twice after a crash is known by its key. It is for one
// goroutine.
type Usage struct {
	finder *finder
	ledger Ledger
	// own says whose a response is, and price what it cost.
	own, price func(fleet.Usage) fleet.Usage

	databases databases
	known     map[inode]*counted
	rows      map[string]fleet.Usage // read, and not written down yet
	ends      map[inode]fleet.UsageCursor
	faults    map[[3]string]fleet.UsageFault // by kind, what is wrong, and file
	links     map[string]fleet.Instant       // that are not followed, and when that was said

	mu      sync.Mutex
	trouble string
}

// inode is a file, whatever its name is.
type inode struct{ device, inode uint64 }

// counted is a file whose responses are written down.
type counted struct {
	place   tail.Place
	size    int64
	changed int64
	t       *conversation.Transcript // nil until it is read on

	path          string   // where it was found last
	kind, session string   // of the response that it told of last
	calls         []string // of tools, that responses made: the newest
}

// Counted says what one reading found.
type Counted struct {
	Files   int // that were read on
	Rows    int // responses, each as often as it was told of anew
	Skipped int // lines that are too long to be read
	Broken  int // lines that could not be read
}

// NewUsage checks the options. Own and price fill in whose a response is and what it cost;
// each may be nil.
func NewUsage(o Options, ledger Ledger, own, price func(fleet.Usage) fleet.Usage) (*Usage, error) {
	f, err := newFinder(o)
	if err == nil && ledger == nil {
		err = errors.New("cannot count what models used: there is no ledger")
	}
	same := func(u fleet.Usage) fleet.Usage { return u }
	if own == nil {
		own = same
	}
	if price == nil {
		price = same
	}
	u := &Usage{finder: f, databases: databases{}, ledger: ledger, own: own, price: price, rows: map[string]fleet.Usage{}, ends: map[inode]fleet.UsageCursor{},
		faults: map[[3]string]fleet.UsageFault{}, links: map[string]fleet.Instant{}}
	if err == nil {
		f.passed = u.passed
	}
	return u, err
}

// linkAgain is how often it is said of a link that it is there still; faults are told of for a day.
const linkAgain = 12 * time.Hour

// passed says of a link that what lies behind it is not counted.
func (u *Usage) passed(kind, path string) {
	now := u.finder.o.Now()
	if told, ok := u.links[path]; ok && now.Since(told) < linkAgain {
		return
	}
	u.links[path] = now
	u.fault(file{kind: kind, path: path}, "it keeps conversations behind a symbolic link, which is not followed: let them lie there themselves, and link to them from elsewhere")
}

// Trouble says why not all could be read at the last reading; "" when all was.
func (u *Usage) Trouble() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trouble
}

// Read reads what was written since in all transcripts. A file that cannot be read keeps
// no other from it; the error names it.
func (u *Usage) Read(ctx context.Context) (n Counted, err error) { return u.read(ctx, nil) }

// ReadBelow reads what was written since in the transcripts below some folders. It looks at no other.
func (u *Usage) ReadBelow(ctx context.Context, folders []string) (n Counted, err error) {
	if len(folders) == 0 {
		return n, nil
	}
	return u.read(ctx, folders)
}

func (u *Usage) read(ctx context.Context, folders []string) (n Counted, err error) {
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if folders == nil {
			u.trouble = ""
		}
		if err != nil {
			u.trouble = fleet.Line(err.Error(), 300)
		}
	}()
	if !u.finder.o.Enabled {
		return n, errors.New("[transcripts] in custos.toml has enabled = false")
	}
	if err := u.recall(ctx); err != nil {
		return n, err
	}
	found, err := u.finder.all(ctx, folders)
	errs := []error{err}
	present := make(map[inode]bool, len(found))
	for _, f := range found {
		at := inode{f.info.Device, f.info.Inode}
		present[at] = true
		if err := u.file(ctx, f, at, &n); err != nil && !vanished(err) {
			errs = append(errs, err)
		}
		if ctx.Err() != nil || u.known == nil {
			return n, joined(append(errs, ctx.Err()))
		}
	}
	if errs = append(errs, u.write(ctx)); err == nil && folders == nil {
		u.forget(present)
	}
	return n, joined(errs)
}

// ReadOn reads what was written since in the transcripts of one conversation, as far as they
// were read on before: for who cannot wait for Read. Told says whether the response is among what is counted
// that made this call of a tool: CLIs write a response down a little after they have acted on it.
func (u *Usage) ReadOn(ctx context.Context, kind, session, call string) (told bool, err error) {
	k, ok := u.finder.o.Kinds.Get(kind)
	if !ok || session == "" {
		return false, nil
	}
	var n Counted
	var errs []error
	for at, c := range u.known {
		if c.kind != kind || c.session != session {
			continue
		}
		info, err := files.Lstat(c.path)
		if err == nil && at == (inode{info.Device, info.Inode}) {
			err = u.file(ctx, u.finder.file(k, c.path, info), at, &n)
		}
		if err != nil && !vanished(err) {
			errs = append(errs, err)
		}
		if u.known == nil { // it could not be written down
			break
		}
		told = told || slices.Contains(c.calls, call)
	}
	err = joined(append(errs, u.write(ctx)))
	return told && err == nil, err
}

// mostErrors are named; of more it is said how many there are.
const mostErrors = 3

func joined(errs []error) error {
	var some []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(some) < mostErrors:
			some = append(some, err)
		default:
			more++
		}
	}
	if more > 0 {
		some = append(some, fmt.Errorf("and %s more", fleet.Counted(more, "file")))
	}
	return errors.Join(some...)
}

// recall reads once how far files were read before.
func (u *Usage) recall(ctx context.Context) error {
	if u.known != nil {
		return nil
	}
	cursors, err := u.ledger.UsageCursors(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	u.known = make(map[inode]*counted, len(cursors))
	for _, c := range cursors {
		u.known[inode{c.Device, c.Inode}] = &counted{size: -1, place: tail.Place{Device: c.Device, Inode: c.Inode, Offset: c.Offset}}
	}
	return nil
}

// forget drops the files that are there no more, where all were listed.
func (u *Usage) forget(present map[inode]bool) {
	for at := range u.known {
		if !present[at] {
			delete(u.known, at)
		}
	}
}

// file reads on in one file, when it was written to.
func (u *Usage) file(ctx context.Context, f file, at inode, n *Counted) error {
	c := u.known[at]
	if c == nil {
		c = &counted{size: -1, place: tail.Place{Device: at.device, Inode: at.inode}}
		u.known[at] = c
	}
	if f.language == opencodeLanguage {
		return u.database(ctx, f, at, c, n)
	}
	if c.size == f.info.Size && c.changed == f.info.MTime || c.size < 0 && c.place.Offset == f.info.Size {
		c.size, c.changed = f.info.Size, f.info.MTime
		return nil
	}
	n.Files++
	c.path = f.path
	for {
		more, err := u.further(f, at, c, n)
		if err != nil {
			return err
		}
		if len(u.rows) >= batch {
			if err := u.write(ctx); err != nil {
				return err
			}
		}
		if !more || ctx.Err() != nil {
			c.size, c.changed = f.info.Size, f.info.MTime
			return ctx.Err()
		}
	}
}

// further reads a chunk of a file.
func (u *Usage) further(f file, at inode, c *counted, n *Counted) (more bool, err error) {
	if c.t == nil {
		if c.t, _, err = prime(f, c.place.Offset); err != nil {
			return false, err
		}
	}
	took, began := c.t, c.place.Offset
	r, err := tail.Read(f.path, c.place, tail.Limits{Bytes: chunk}, func(offset int64, line []byte) {
		if offset < began && took == c.t { // it was cut or written over, and is read from its beginning
			took = conversation.NewTranscript(f.kind, f.language, f.path, true)
		}
		if !conversation.Spends(f.language, line) {
			return
		}
		entries, err := conversation.Read(f.language, line)
		if err != nil {
			n.Broken++
			u.fault(f, "a line of its conversations could not be read: "+conversation.Unreadable(err))
		}
		for _, e := range entries {
			if e.What == conversation.ToolBegin { // with what it was called is nothing that counts
				took.About(e)
				c.called(e.CallID)
				continue
			}
			if row, ok := took.Take(e); ok {
				n.Rows++
				c.kind, c.session = row.Kind, row.Session
				u.take(f, row)
			}
		}
	})
	if err != nil {
		return false, err
	}
	if n.Skipped += r.Skipped; r.Skipped > 0 {
		u.fault(f, "a line of its conversations is too long to be read")
	}
	if c.place, c.t = r.Next, took; r.Next.Offset != began || r.Anew {
		u.ends[at] = fleet.UsageCursor{Path: fleet.Path(f.path), Device: at.device, Inode: at.inode, Offset: r.Next.Offset}
	}
	return r.More, nil
}

// mostCalls is more than the tools that run beside one another.
const mostCalls = 64

func (c *counted) called(id string) {
	if id == "" {
		return
	}
	if len(c.calls) == mostCalls {
		c.calls = slices.Delete(c.calls, 0, 1)
	}
	c.calls = append(c.calls, id)
}

// fault notes that something in a file could not be read.
func (u *Usage) fault(f file, why string) {
	u.faults[[3]string{f.kind, why, f.path}] = fleet.UsageFault{Kind: f.kind, Why: why, Key: fleet.Path(f.path)}
}

// take keeps a response until it is written down, with what its lines told of it.
func (u *Usage) take(f file, row fleet.Usage) {
	if row.At.IsZero() {
		u.fault(f, "a response told no time that can be: it counts when it was read")
		row.At = u.finder.o.Now().Wall.UTC()
	}
	row.Account = f.account
	if before, ok := u.rows[row.Key]; ok {
		row = before.Merged(row)
	}
	u.rows[row.Key] = row
}

// write writes down what was read. What could not be is read again from where the ledger
// knows of.
func (u *Usage) write(ctx context.Context) error {
	if len(u.rows)+len(u.ends)+len(u.faults) == 0 {
		return nil
	}
	rows := make([]fleet.Usage, 0, len(u.rows))
	for _, key := range slices.Sorted(maps.Keys(u.rows)) { // see Store.AddUsage
		rows = append(rows, u.price(u.own(u.rows[key])))
	}
	cursors := make([]fleet.UsageCursor, 0, len(u.ends))
	for _, c := range u.ends {
		cursors = append(cursors, c)
	}
	err := u.ledger.AddUsage(ctx, rows, cursors)
	if err == nil && len(u.faults) > 0 {
		err = u.ledger.NoteUsageFaults(ctx, slices.Collect(maps.Values(u.faults)))
	}
	clear(u.faults)
	clear(u.rows)
	clear(u.ends)
	if err != nil {
		u.known = nil
		return fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	return nil
}
