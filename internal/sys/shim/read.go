package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"custos/internal/sys/files"
)

// ErrNotStarted says that no agent is recorded for an instance: none was
// started, or its shim is still about to.
var ErrNotStarted = errors.New("not started")

// ErrFailed says that the shim could not start the agent: nothing runs.
var ErrFailed = errors.New("could not be started")

// ID names a process within one boot.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, field 22 of /proc/PID/stat
}

// At is a moment, told by both clocks.
type At struct {
	Wall time.Time     `json:"wall"`
	Up   time.Duration `json:"up_ns"` // CLOCK_BOOTTIME
	Boot string        `json:"boot"`
}

// Claim says who owns an instance.
type Claim struct {
	Key  string `json:"key"`
	Name string `json:"name"` // of the agent; "" where the shim is older than this, or gave it up
	Shim ID     `json:"shim"` // zero: the instance was given up by Void
	At   At     `json:"at"`
}

// Started is the record of an agent that was started.
type Started struct {
	Key       string `json:"key"`
	Name      string `json:"name"`
	Shim      ID     `json:"shim"`
	Agent     ID     `json:"agent"`
	PGID      int    `json:"pgid"` // the agent's process group, and session
	At        At     `json:"at"`
	Headless  bool   `json:"headless"`
	Input     bool   `json:"input"`      // it reads DIR/stdin
	LogMax    int64  `json:"log_max"`    // bytes kept of each log
	MemoryMax int64  `json:"memory_max"` // bytes, as asked for
	Cap       string `json:"cap"`        // what holds the memory: cgroup or none
	CapWhy    string `json:"cap_why"`    // why none
	Cgroup    string `json:"cgroup"`     // folder of the agent's own cgroup

	Boundary *Boundary `json:"boundary"` // nil: it is kept within nothing
}

// Boundary is what an agent was started within.
type Boundary struct {
	Name  string   `json:"name"`
	By    string   `json:"by"`    // landlock or bwrap
	ABI   int      `json:"abi"`   // version of the kernel's Landlock; 0: none
	Open  []string `json:"open"`  // what was asked for and is not held
	Never []string `json:"never"` // what it holds on no kernel
}

// Exit is how an agent ended.
type Exit struct {
	Key    string        `json:"key"`
	Agent  ID            `json:"agent"`
	Status *int          `json:"status"` // exactly one of Status and Signal
	Signal *int          `json:"signal"`
	Core   bool          `json:"core"`
	OOM    *bool         `json:"oom"`     // nil: it cannot be told
	Hangup bool          `json:"hangup"`  // its terminal had been closed before
	MaxRSS int64         `json:"max_rss"` // bytes, largest process of its tree
	CPU    time.Duration `json:"cpu_ns"`
	At     At            `json:"at"`
}

// failure is why no agent was started.
type failure struct {
	Key   string `json:"key"`
	Error string `json:"error"`
	At    At     `json:"at"`
}

// Left is a descendant that outlived its agent.
type Left struct {
	ID
	Name string `json:"name"`
}

// maxFile is many times what a shim writes. A larger file is not a shim's.
const maxFile = 1 << 20

// hasExit says whether anything lies where the end of an instance is written down; true
// where that cannot be told.
func hasExit(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "exit.json"))
	return !errors.Is(err, fs.ErrNotExist)
}

// ReadExit is Read for who asks only how an instance ended, as each look does of each
// agent: nil while that is not written down, or cannot be read.
func ReadExit(dir string) *Exit {
	if !hasExit(dir) {
		return nil
	}
	_, x, err := Read(dir)
	if err != nil {
		return nil
	}
	return x
}

// Read returns what is known of the instance in dir: how its agent was started
// and, once it has ended, how. It fails with ErrNotStarted when there is no
// record yet, with ErrFailed when the shim could not start the agent, and with
// an error that names the file when one is torn or not a shim's. A nil Exit says
// only that none is written: with the shim gone, the end is unknown.
func Read(dir string) (Started, *Exit, error) {
	var s Started
	key := filepath.Base(dir)
	err := decode(filepath.Join(dir, "started.json"), &s, func() error { return s.check(key) })
	if errors.Is(err, fs.ErrNotExist) {
		return Started{}, nil, whyNot(dir)
	}
	if err != nil {
		return Started{}, nil, err
	}
	var x Exit
	err = decode(filepath.Join(dir, "exit.json"), &x, func() error { return x.check(s) })
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return s, nil, err
	}
	return s, &x, nil
}

// whyNot tells an instance that failed from one that has not begun.
func whyNot(dir string) error {
	var f failure
	err := decode(filepath.Join(dir, "failed.json"), &f, func() error { return checkKey(f.Key, filepath.Base(dir)) })
	switch {
	case err == nil:
		return fmt.Errorf("agent of %s %w: %s", dir, ErrFailed, f.Error)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("agent of %s: %w", dir, ErrNotStarted)
	}
	return err
}

// ReadClaim returns who owns the instance in dir; fs.ErrNotExist when none does.
func ReadClaim(dir string) (Claim, error) {
	var c Claim
	err := decode(filepath.Join(dir, "claim"), &c, func() error { return checkKey(c.Key, filepath.Base(dir)) })
	return c, err
}

// ReadLeft returns the descendants that have outlived the agent of dir, as the
// shim last listed them.
func ReadLeft(dir string) ([]Left, error) {
	var l struct {
		Key   string `json:"key"`
		Procs []Left `json:"procs"`
	}
	err := decode(filepath.Join(dir, "left.json"), &l, func() error { return checkKey(l.Key, filepath.Base(dir)) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return l.Procs, err
}

func (s Started) check(key string) error {
	switch {
	case checkKey(s.Key, key) != nil:
		return checkKey(s.Key, key)
	case s.Shim.PID <= 1 || s.Shim.Start == 0 || s.Agent.PID <= 1 || s.Agent.Start == 0:
		return errors.New("it names no process")
	case s.At.Boot == "":
		return errors.New("it names no boot")
	case s.Cap != "cgroup" && s.Cap != "none":
		return fmt.Errorf("memory cap %q is neither cgroup nor none", s.Cap)
	}
	return nil
}

func (x Exit) check(s Started) error {
	switch {
	case x.Agent != s.Agent || x.Key != s.Key:
		return errors.New("it is of another agent than started.json")
	case (x.Status == nil) == (x.Signal == nil):
		return errors.New("want either a status or a signal")
	case x.Status != nil && (*x.Status < 0 || *x.Status > 255):
		return fmt.Errorf("status %d is none", *x.Status)
	case x.Signal != nil && (*x.Signal < 1 || *x.Signal > 64):
		return fmt.Errorf("signal %d is none", *x.Signal)
	}
	return nil
}

func checkKey(got, want string) error {
	if got != want || !IsKey(got) {
		return fmt.Errorf("it is of instance %q, not of %q", got, want)
	}
	return nil
}

// decode reads one file of a shim, and checks it.
func decode(path string, into any, check func() error) error {
	text, err := files.Read(path, maxFile)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err := parse(text, into); err != nil {
		return fmt.Errorf("cannot use %s: %w", path, err)
	}
	if err := check(); err != nil {
		return fmt.Errorf("cannot use %s: %w", path, err)
	}
	return nil
}

// parse reads JSON of the one version there is. Unknown fields are ignored: a
// newer shim may say more.
func parse(text []byte, into any) error {
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	if v.V != 1 {
		return fmt.Errorf("version %d is not 1", v.V)
	}
	return json.Unmarshal(text, into)
}

// Record is one instance found by List.
type Record struct {
	Dir     string
	Started Started
	Exit    *Exit
	Left    []Left
	Err     error // from Read or ReadLeft
}

// List reads every instance below root, in the order of their names. What has
// no claim is no instance, and is left out; a root that does not exist has none.
func List(root string) ([]Record, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list agents: %w", err)
	}
	var all []Record
	for _, e := range entries {
		dir := Dir(root, e.Name())
		if !e.IsDir() || !IsKey(e.Name()) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, "claim")); err != nil {
			continue
		}
		all = append(all, ReadRecord(dir))
	}
	return all, nil
}

// ReadRecord reads all that is known of the instance in dir.
func ReadRecord(dir string) Record {
	r := Record{Dir: dir}
	r.Started, r.Exit, r.Err = Read(dir)
	if r.Err == nil && r.Exit != nil {
		r.Left, r.Err = ReadLeft(dir)
	}
	return r
}

// Open lists how the instances below root were started whose end is not written
// down, in the order of their names; of one that was only claimed, no agent is known.
// What cannot be read is left out.
func Open(root string) ([]Started, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list agents: %w", err)
	}
	var open []Started
	for _, e := range entries {
		dir := Dir(root, e.Name())
		if _, err := os.Lstat(filepath.Join(dir, "exit.json")); !e.IsDir() || !IsKey(e.Name()) || err == nil {
			continue
		}
		s, exit, err := Read(dir)
		if errors.Is(err, ErrNotStarted) {
			var c Claim
			c, err = ReadClaim(dir)
			s = Started{Key: c.Key, Name: c.Name, Shim: c.Shim, At: c.At}
		}
		if err == nil && exit == nil && s.Name != "" {
			open = append(open, s)
		}
	}
	return open, nil
}

// Void gives up an instance whose shim has not begun, for good: a shim that
// comes late, because tmux was frozen or the machine was, finds the claim taken.
// It fails with fs.ErrExist when a shim, or an earlier Void, was first.
func Void(dir string) error {
	text, err := json.Marshal(struct {
		V int `json:"v"`
		Claim
	}{1, Claim{Key: filepath.Base(dir), At: At{Wall: time.Now().UTC()}}})
	if err != nil {
		return fmt.Errorf("cannot give up %s: %w", dir, err)
	}
	tmp := filepath.Join(dir, ".void")
	if err := writeNew(tmp, append(text, '\n')); err != nil {
		return fmt.Errorf("cannot give up %s: %w", dir, err)
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, filepath.Join(dir, "claim")); err != nil {
		return fmt.Errorf("cannot give up %s: %w", dir, err)
	}
	return nil
}

// Tail returns at most max bytes from the end of what a headless agent printed,
// over the rotation of its log. It begins with no half of a line.
func Tail(dir string, max int64) ([]byte, error) {
	now, isCut, err := tail(filepath.Join(dir, Stdout), max)
	if err != nil || isCut {
		return now, err
	}
	before, _, err := tail(filepath.Join(dir, Stdout+".1"), max-int64(len(now)))
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	return append(before, now...), err
}

// Printed returns when a headless agent last printed something.
func Printed(dir string) (time.Time, error) {
	info, err := os.Lstat(filepath.Join(dir, "stdout.log"))
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot tell when the agent last printed: %w", err)
	}
	return info.ModTime(), nil
}

// TailErrors returns at most max bytes from the end of what a headless agent
// printed as errors, since its log was last rotated. It begins with no half of a line.
func TailErrors(dir string, max int64) ([]byte, error) {
	text, _, err := tail(filepath.Join(dir, Stderr), max)
	return text, err
}

// tail reads the end of a file, and says whether there is more before it.
func tail(path string, max int64) (text []byte, isCut bool, err error) {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, false, fmt.Errorf("cannot read what the agent printed: %w", err)
	}
	defer f.Close()
	from := info.Size - min(max, info.Size)
	text, err = io.ReadAll(io.NewSectionReader(f, from, info.Size-from))
	if err != nil {
		return nil, false, fmt.Errorf("cannot read what the agent printed: %w", err)
	}
	if from == 0 {
		return text, false, nil
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, from-1); err == nil && last[0] == '\n' {
		return text[block(text):], true, nil
	}
	return text[half(text):], true, nil
}

// half is how much of a text's beginning belongs to what was cut off: half a secret
// would not be known for one, nor would a whole one without its name. It is a line; or,
// of the only line, some words.
func half(text []byte) int {
	n := bytes.IndexByte(text, '\n') + 1
	if n > 0 && n < len(text) {
		return n + block(text[n:])
	}
	n = min(len(text), someWords)
	if more := bytes.IndexAny(text[n:], " \t\"',;"); more >= 0 {
		return n + more
	}
	return len(text)
}

// someWords is more than the name of a secret and what stands between the two.
const someWords = 64

// block is how much of a text's beginning is the end of a block (a key, a certificate)
// that began before it.
func block(text []byte) int {
	text = text[:min(len(text), maxBlock)]
	end := bytes.Index(text, []byte("-----END "))
	if begin := bytes.Index(text, []byte("-----BEGIN ")); end < 0 || begin >= 0 && begin < end {
		return 0
	}
	return end
}
