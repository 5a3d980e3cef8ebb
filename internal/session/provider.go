package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"custos/internal/fleet"
)

// ErrBusy says that a person is in the way just now (they scroll back in the
// pane): nothing was done, and it may be tried again later.
var ErrBusy = errors.New("busy")

// ErrInDoubt says that it cannot be told whether it was done: the server did not
// answer in time, and may still do it when it wakes up. It must not be tried
// again before it was looked at.
var ErrInDoubt = errors.New("in doubt")

// ErrSpent says that an instance was given up in an earlier attempt. It never
// runs; another attempt needs another instance.
var ErrSpent = errors.New("instance was given up")

// Launch is an agent to be started. Paths are as the kernel knows them.
type Launch struct {
	Name     string   // of the agent: anything that is not empty
	Instance string   // unique: names the shim's folder, and makes Launch idempotent
	Argv     []string // found by the PATH of Env
	Env      []string // KEY=VALUE: the whole environment, but for the marker, and TERM in a pane
	Dir      string   // working folder; absolute
	Shim     string   // folder of the instance; absolute, its last element is Instance
	Cols     int      // size of the terminal until a person attaches; 0: 200
	Rows     int      // 0: 50
	Input    bool     // headless: give it an input that Type writes to

	LogMax    int64  // headless: bytes kept of each log; 0: 10 MiB
	MemoryMax int64  // bytes; 0: no cap
	Cgroup    string // delegated cgroup v2 folder that the cap is made in
	Boundary  []byte // what the agent is kept within, as the shim reads it; empty: nothing
}

// Check says what is wrong with a launch.
func (l Launch) Check() error {
	switch {
	case l.Name == "" || strings.ContainsRune(l.Name, 0):
		return fmt.Errorf("cannot launch %q: it has no usable name", l.Name)
	case l.Instance == "" || filepath.Base(l.Shim) != l.Instance:
		return fmt.Errorf("cannot launch %s: shim folder %q is not that of instance %q", l.Name, l.Shim, l.Instance)
	case !filepath.IsAbs(l.Shim) || !filepath.IsAbs(l.Dir):
		return fmt.Errorf("cannot launch %s: folders %q and %q are not both absolute", l.Name, l.Shim, l.Dir)
	case len(l.Argv) == 0:
		return fmt.Errorf("cannot launch %s: it has no command line", l.Name)
	}
	return nil
}

// Launched is an agent that was started.
type Launched struct {
	Pane   fleet.PaneID    // where it can be seen and typed into
	Agent  fleet.ProcessID // the agent itself, as its shim recorded it
	Shim   fleet.ProcessID
	Cap    string // what holds its memory: cgroup or none
	CapWhy string // why none
}

// Input is what is typed: a text, or a key, never both. A text and the Enter
// that sends it are two inputs, so that the caller can look in between.
type Input struct {
	Text  string          // at most MaxText bytes; see Typed
	Key   Key             // one that fleet.IsPressable knows
	Agent fleet.ProcessID // who is meant to get it; checked unless zero
}

// MaxText is the longest text that is typed at once, in bytes.
const MaxText = 512 << 10

// Check says what is wrong with an input.
func (in Input) Check() error {
	switch {
	case (in.Text == "") == (in.Key == ""):
		return errors.New("cannot type: want either a text or a key")
	case in.Key != "" && !fleet.IsPressable(string(in.Key)):
		return fmt.Errorf("cannot type: %q is no key that may be pressed", in.Key)
	case len(in.Text) > MaxText:
		return fmt.Errorf("cannot type: %d bytes are more than %d", len(in.Text), MaxText)
	case in.Text != "" && Typed(in.Text) == "":
		return errors.New("cannot type: nothing but control characters")
	}
	return nil
}

// Key is a key by its tmux name.
type Key string

// The keys with names that the code knows.
const (
	KeyEnter     Key = "Enter"
	KeyEscape    Key = "Escape"
	KeyInterrupt Key = "C-c"
	KeyEnd       Key = "C-d" // end of input
)

// Typed is what a text becomes before it is typed: every control character but
// tab and newline is dropped, so that no text can press a key, end a bracketed
// paste, or move a terminal; line ends become newlines; broken UTF-8 becomes
// U+FFFD. Everything else arrives as it is.
func Typed(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case fleet.IsKey(r):
			return -1
		}
		return r // a broken byte is ranged over as utf8.RuneError
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// Provider is a place where agents of ours run. Only actions are given one.
// Every method checks at that instant that a pane is that very pane, and
// touches no other. An error means that nothing was done, unless it wraps
// ErrInDoubt.
type Provider interface {
	Viewer
	// Launch starts an agent under its shim and returns once it runs. It is
	// idempotent by instance: a second call returns what the first one started, or
	// ErrGone when that has no pane any more (the shim's files tell the rest). When
	// it fails nothing runs, nothing will, and what it made is gone: the same
	// instance may be launched again. Not after ErrSpent, which needs another
	// instance, nor after ErrInDoubt. A ctx that ends is a failure like others.
	Launch(ctx context.Context, l Launch) (Launched, error)
	// Type gives a pane a text, as one paste, or presses a key. Nil means that
	// it was handed over, not that the agent understood. ErrGone when the pane, or
	// the agent in it, is not what was named; ErrBusy when a person is in the way.
	Type(ctx context.Context, id fleet.PaneID, in Input) error
	// Close removes a pane; a program that still runs there loses its terminal,
	// and gets SIGHUP. It is idempotent: what is gone already is no error.
	Close(ctx context.Context, id fleet.PaneID) error
}

// Hosted is a pane of a tmux server that an agent started for itself.
type Hosted struct {
	PID     int    // its first process
	Session string // as tmux names it
	Folder  string // where the session was made (raw)
	First   bool   // its session is the one that the server was started with
	Visited bool   // a client looks at its session, or has looked at it
}
