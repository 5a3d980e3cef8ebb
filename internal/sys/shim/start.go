package shim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// ErrSpent says that an instance was given up: no shim will ever start it.
var ErrSpent = errors.New("given up")

// ErrLost says that a shim took the instance and is gone without a record: what
// it started, if anything, can be found by its marker only.
var ErrLost = errors.New("its shim is gone without a record")

// ErrNoShim says that the shim ended before it began: it was no shim at all, or
// another one had its instance.
var ErrNoShim = errors.New("its shim did not begin")

// Await waits until the shim of dir has started its agent, and returns the
// record. It fails as Read does, with ErrSpent, ErrLost or ErrNoShim, and with
// the error of ctx. alive says whether a process still runs; expected is the
// process that is about to be the shim, zero when that is not known.
func Await(ctx context.Context, dir string, expected ID, alive func(ID) bool) (Started, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		s, _, err := Read(dir)
		if !errors.Is(err, ErrNotStarted) {
			return s, err
		}
		if err := standing(dir, expected, alive); err != nil {
			if s, _, again := Read(dir); !errors.Is(again, ErrNotStarted) {
				return s, again // it finished between the two looks
			}
			return Started{}, err
		}
		select {
		case <-ctx.Done():
			return Started{}, fmt.Errorf("cannot wait for the agent of %s: %w", dir, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// standing says why no record will come, if that is so.
func standing(dir string, expected ID, alive func(ID) bool) error {
	gone := expected.PID != 0 && !alive(expected) // before the claim is looked at, or it might be made between
	c, err := ReadClaim(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && gone:
		return fmt.Errorf("agent of %s: %w", dir, ErrNoShim)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case c.Shim.PID == 0:
		return fmt.Errorf("agent of %s: %w", dir, ErrSpent)
	case !alive(c.Shim):
		return fmt.Errorf("agent of %s: %w", dir, ErrLost)
	}
	return nil
}

// names lists the files that shims, and who starts and ends them, put into the folder of
// an instance.
func names() []string {
	return []string{"claim", "launch", "launch.tmp", "boundary", "boundary.tmp", "started.json", ".started.json", "failed.json", ".failed.json",
		"exit.json", ".exit.json", "left.json", ".left.json", "stdin", "stdout.log", "stderr.log", "stdout.log.1", "stderr.log.1",
		"stdout.log.1.tmp", "stderr.log.1.tmp", "closed", askedFile, givingFile}
}

// FileNames is an expression for the names of those files, and of what a crash leaves of
// them.
func FileNames() string {
	var all []string
	for _, name := range names() {
		all = append(all, regexp.QuoteMeta(name))
	}
	return strings.Join(append(all, askedFile+`\.tmp`, `\.claim\.[0-9]+`, `\.void`), "|")
}

// Clear removes from dir what shims and Prepare put there, and dir itself when
// nothing else is in it. It is for an instance that is known to run nothing and
// that no shim can be on its way to.
func Clear(dir string) error {
	for _, name := range names() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot clear %s: %w", dir, err)
		}
	}
	_ = os.Remove(dir) // not empty: something of others lies there
	return nil
}
