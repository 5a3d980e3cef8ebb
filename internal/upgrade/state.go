// Package upgrade exchanges the programs of Custos for those of another release while the
// daemon watches and agents run: it verifies, backs the ledger up, exchanges the three
// programs by rename, has the daemon go on as the new one, and puts all of it back where that
// is not well in time. What it is about to do is written to a file before each step, so that
// whoever comes after one that was cut off (custos up, custos upgrade) mends or names it.
package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/release"
	"custos/internal/sys/files"
)

// Phase is how far an upgrade has come.
type Phase string

// The phases. What is on the disk in each:
const (
	Preparing  Phase = "preparing"   // nothing of what is in use was changed
	Swapping   Phase = "swapping"    // some of the programs may be the new ones
	Watching   Phase = "watching"    // all programs are the new ones, which the daemon is to prove
	Back       Phase = "back"        // some may be the old ones again; the ledger may be too new for them
	Done       Phase = "done"        // over: the new ones
	RolledBack Phase = "rolled back" // over: the old ones
	CutOff     Phase = "cut off"     // over, before anything was changed
)

// State is an upgrade, as it is written down beside the ledger.
type State struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Dir    string `json:"dir"`              // of the programs
	Schema int    `json:"schema,omitempty"` // of the ledger, that From reads
	Backup string `json:"backup,omitempty"`
	Phase  Phase  `json:"phase"`
	Why    string `json:"why,omitempty"` // it was put back
	Steps  []Step `json:"steps"`
}

// Step is something that was done, or begun.
type Step struct {
	Do    string     `json:"do"`
	Began time.Time  `json:"began"`
	Ended *time.Time `json:"ended,omitempty"`
	Error string     `json:"error,omitempty"`
}

// Open says that it was begun, changed something or was about to, and is not over.
func (s State) Open() bool {
	return s.Phase == Swapping || s.Phase == Watching || s.Phase == Back
}

// Words name an upgrade that is not over; "" where it is.
func (s State) Words() string {
	switch s.Phase {
	case Swapping, Back:
		return fmt.Sprintf("an upgrade from %s to %s was cut off while its programs were exchanged", s.From, s.To)
	case Watching:
		return fmt.Sprintf("an upgrade from %s to %s was cut off before the new daemon had proved itself", s.From, s.To)
	}
	return ""
}

func stateFile(folder string) string { return filepath.Join(folder, "upgrade.json") }

// largestState is many times what is written, in bytes.
const largestState = 1 << 20

// ReadState reads the last upgrade of a state folder; the zero State when there was none.
func ReadState(folder string) (s State, err error) {
	text, err := files.Read(stateFile(folder), largestState)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return State{}, fmt.Errorf("cannot read %s, which says how far the last upgrade came: %w", stateFile(folder), err)
	}
	return s, nil
}

// write puts a state on the disk.
func (s State) write(folder string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = files.Replace(stateFile(folder), append(text, '\n'), 0o600)
	}
	if err == nil {
		err = files.SyncDir(folder)
	}
	if err != nil {
		return fmt.Errorf("cannot write down how far the upgrade has come: %w", err)
	}
	return nil
}

// errRuns says that another process upgrades.
var errRuns = errors.New("another custos upgrade runs")

// lock keeps a second upgrade away, of the same state or of the same programs, and tells
// whoever finds a state whether anybody is at it.
func lock(folder, dir string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the state: %w", err)
	}
	f, err := files.OpenToWrite(filepath.Join(folder, "upgrade.lock"), 0, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot take the lock of upgrades: %w", err)
	}
	d, err := os.Open(dir)
	release = func() { _, _ = d.Close(), f.Close() }
	if err == nil {
		err = take(f)
	}
	if err == nil && errors.Is(take(d), errRuns) { // a file system that locks no folders does no harm
		err = errRuns
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func take(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errRuns
	}
	if err != nil {
		return fmt.Errorf("cannot take the lock of upgrades: %w", err)
	}
	return nil
}

// besides is the folder beside the programs in which the new ones wait and the old ones are kept.
const besides = ".custos-upgrade"

// programs are three files in a folder, and those that take or took their places.
type programs struct {
	dir string
	at  func(point string) error // is asked before each change; tests have it fail there, or end
}

func (p programs) path() string           { return filepath.Join(p.dir, besides) }
func (p programs) now(name string) string { return filepath.Join(p.dir, name) }
func (p programs) next(name string) string {
	return filepath.Join(p.path(), "new", name)
}
func (p programs) old(name string) string { return filepath.Join(p.path(), "old", name) }

// begin makes the folders anew.
func (p programs) begin() error {
	if err := p.remove("clear"); err != nil {
		return err
	}
	for _, sub := range []string{"new", "old"} {
		if err := os.MkdirAll(filepath.Join(p.path(), sub), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// keep has the old ones lie beside, whatever becomes of their names.
func (p programs) keep() error {
	for _, name := range release.Programs() {
		if err := p.do("keep "+name, func() error { return os.Link(p.now(name), p.old(name)) }); err != nil {
			return err
		}
	}
	return errors.Join(files.SyncDir(p.old("")), files.SyncDir(p.path()))
}

// beside says whether something lies beside.
func (p programs) beside() bool {
	_, err := os.Lstat(p.path())
	return err == nil
}

// kept says whether every old one still lies beside: none was put back.
func (p programs) kept() bool {
	return !slices.ContainsFunc(release.Programs(), func(name string) bool {
		_, err := os.Lstat(p.old(name))
		return err != nil
	})
}

// swap puts each new one in its place, at once.
func (p programs) swap() error {
	for _, name := range release.Programs() {
		if err := p.do("swap "+name, func() error { return os.Rename(p.next(name), p.now(name)) }); err != nil {
			return err
		}
	}
	return files.SyncDir(p.dir)
}

// putBack puts each old one in its place, wherever that was cut off before.
func (p programs) putBack() error {
	for _, name := range release.Programs() {
		err := p.do("put back "+name, func() error { return os.Rename(p.old(name), p.now(name)) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return files.SyncDir(p.dir)
}

// forget removes what lies beside.
func (p programs) forget() error { return p.remove("forget") }

func (p programs) remove(point string) error {
	return p.do(point, func() error { return os.RemoveAll(p.path()) })
}

func (p programs) do(point string, change func() error) error {
	if err := p.at(point); err != nil {
		return err
	}
	return change()
}
