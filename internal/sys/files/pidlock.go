//go:build linux

package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// PIDLock is a pid lock that we placed. It is known by a mark, a file of our own
// elsewhere that says which file the lock is: a pid alone comes again.
type PIDLock struct {
	Path string
	Mark string
}

// placed is what the mark says.
type placed struct {
	Lock Identity `json:"lock"`
	PID  int      `json:"pid"`
}

// Ours returns the pid in the lock while it is the very file that we placed, and 0
// when there is none, or another.
func (l PIDLock) Ours() (int, error) {
	text, _, err := ReadOwn(l.Mark, MaxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read the mark of the lock: %w", err)
	}
	var was placed
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return 0, fmt.Errorf("cannot read the mark of the lock: %w", err)
	}
	is, err := Lstat(l.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && is.Identity != was.Lock {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot look at the lock: %w", err)
	}
	return was.PID, nil
}

// Place puts a lock with a pid where none is: whole at once, for a reader takes an
// empty one for held by none. It never replaces anything: fs.ErrExist when there is one.
// The mark is written before, so that after a crash the lock is known.
func (l PIDLock) Place(pid int) error {
	sum := sha256.Sum256([]byte(l.Mark))
	temp := filepath.Join(filepath.Dir(l.Path), ownPrefix+"new-"+hex.EncodeToString(sum[:8]))
	is, err := writeNew(temp, strconv.Itoa(pid)+"\n", 0o644)
	if err != nil {
		return fmt.Errorf("cannot write the lock: %w", err)
	}
	err = l.writeMark(placed{Lock: is, PID: pid})
	if err == nil {
		err = rename(byPath(temp), byPath(l.Path))
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("cannot place the lock: %w", err)
	}
	return nil
}

// writeMark replaces the mark as a whole.
func (l PIDLock) writeMark(p placed) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if _, err := writeNew(l.Mark+".new", string(text), 0o600); err != nil {
		return err
	}
	return os.Rename(l.Mark+".new", l.Mark)
}

// writeNew writes a file of that name anew: what a crash left under it goes.
func writeNew(path, text string, mode fs.FileMode) (Identity, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Identity{}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return Identity{}, err
	}
	_, err = f.WriteString(text)
	info, statErr := Stat(f)
	return info.Identity, errors.Join(err, statErr, f.Sync(), f.Close())
}

// Discard removes a file while it is the very one that f has open and as it was: it
// is set aside first, and put back when it is another. check looks once more.
func Discard(path string, f *os.File, want Identity, at time.Time, check func() error) error {
	aside, err := SetAside(path, f, want, at, check)
	if err != nil {
		return err
	}
	return os.Remove(aside)
}
