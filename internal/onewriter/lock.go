// Package onewriter holds the lock of the one writer: of all that are Custos in one state
// folder, one daemon or one short-lived command writes at a time.
package onewriter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/sys/files"
	"custos/internal/sys/presence"
)

// Daemon is what a daemon calls itself in the file of the lock.
const Daemon = "custos up"

// longest is many times what Custos writes into the file of a lock, in bytes.
const longest = 64 << 10

// ErrHeld says that another Custos holds the lock of the one writer.
var ErrHeld = errors.New("another custos is writing")

// another is the refusal of the lock, with what a person can do about it. Nothing was
// done yet: whoever holds it may be asked instead.
type another struct{ was error }

func (a another) Error() string {
	return a.was.Error() + ": this has ordered nothing, and written down nothing (custos status shows it; custos down ends it)"
}

// Refused is the refusal of the lock as who asked is told, with what they can do about it.
func Refused(was error) error { return another{was} }

// Unwrap returns the error as it was, and as who asked is told.
func (a another) Unwrap() []error {
	return []error{a.was, &api.Error{Kind: api.Held, Message: a.Error()}}
}

// ErrOusted says that another Custos holds the lock where this one's lay.
var ErrOusted = errors.New("the lock of this one was taken away")

// Lock is the flock of the one writer, in the state folder and in the run folder:
// two Custos may share neither the one nor the other. The files say who holds them. They
// are not all there is: whoever removes or moves them leaves the daemon its presence.
type Lock struct {
	what string
	is   *presence.Presence // of a daemon

	mu    sync.Mutex
	files map[string]*flock.Flock // by folder
	moved []*flock.Flock          // held still, and in their place no more: who finds them there is not to begin
}

// Patience is how long a short-lived writer waits for another one to end.
const Patience = 5 * time.Second

// overtaken is how long a daemon must have held the lock that a short-lived writer
// waits for: it will not end, and answers orders itself.
const overtaken = time.Second

// Take takes the lock, or says who holds it. what is written into the file
// for the others to read, such as "custos up".
func Take(ctx context.Context, cfg config.Config, what string, wait time.Duration) (*Lock, error) {
	// First, and before a file is touched: a daemon whose lock was taken away ends when
	// it finds that another one holds it.
	if err := besideStill(ctx, cfg, min(wait, overtaken)); err != nil {
		return nil, err
	}
	l := &Lock{what: what, files: map[string]*flock.Flock{}}
	for _, dir := range []string{cfg.StateDir, cfg.RuntimeDir} {
		if l.files[dir] != nil {
			continue
		}
		f, err := takeOne(ctx, dir, what, wait)
		if err != nil {
			return nil, errors.Join(err, l.Release())
		}
		l.files[dir] = f
	}
	if what != Daemon {
		return l, nil
	}
	var err error
	if l.is, err = presence.Claim(cfg.StateDir); err != nil {
		return nil, errors.Join(cmp.Or(beside(cfg), err), l.Release())
	}
	return l, nil
}

func takeOne(ctx context.Context, dir, what string, wait time.Duration) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the lock: %w", err)
	}
	name := filepath.Join(dir, "lock")
	if err := files.Plain(name); err != nil {
		return nil, fmt.Errorf("cannot take the lock: %w", err)
	}
	f := flock.New(name, flock.SetPermissions(0o600), flock.SetFlag(os.O_RDONLY|os.O_CREATE|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
	ok, err := f.TryLock()
	if err == nil && !ok && wait > 0 {
		ok, err = tryFor(ctx, f, min(wait, overtaken))
		if !ok && wait > overtaken && !strings.HasPrefix(Holder(name), Daemon+",") {
			ok, err = tryFor(ctx, f, wait-overtaken)
		}
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("cannot take the lock %s: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s holds %s", ErrHeld, Holder(name), name)
	}
	if there, err := liesAt(f, name); err != nil || !there { // it was taken away since it was opened
		return nil, errors.Join(fmt.Errorf("cannot take the lock %s: the file was replaced meanwhile", name), err, f.Unlock())
	}
	if !isOurs(name) {
		return nil, errors.Join(fmt.Errorf("cannot take the lock %s: it is a file of somebody else's: name a folder that only Custos uses", name), f.Unlock())
	}
	// Only for people to read: the lock itself is the kernel's.
	_ = files.Write(name, fmt.Appendf(nil, "%s, pid %d, since %s\n", what, os.Getpid(), time.Now().UTC().Format(time.RFC3339)), 0o600)
	return f, nil
}

// isOurs says whether a lock file is one of Custos, which says who holds it, or empty:
// another is not written over.
func isOurs(name string) bool {
	text, err := files.Read(name, longest)
	return err == nil && (strings.HasPrefix(string(text), "custos ") || strings.HasPrefix("custos ", string(text))) // cut short, too
}

func tryFor(ctx context.Context, f *flock.Flock, wait time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return f.TryLockContext(ctx, 50*time.Millisecond)
}

// Nobody is who holds a lock without having said so yet.
const Nobody = "somebody"

// Holder is who says in the file of a lock to hold it, as "custos up, pid 1, since …".
func Holder(name string) string {
	b, err := files.Read(name, longest)
	if s := strings.TrimSpace(string(b)); err == nil && s != "" {
		return s
	}
	return Nobody
}

// liesAt says whether a lock is the file that others would look at.
func liesAt(f *flock.Flock, name string) (bool, error) {
	was, err := f.Stat()
	if err != nil {
		return false, err
	}
	is, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil && os.SameFile(was, is), err
}

// Keep sees to it that the lock is held where others look for it: one that was removed, or
// moved away, is taken anew in its place. It fails with ErrOusted when another Custos
// holds that; any other error says why it cannot be told, or not be done.
func (l *Lock) Keep(ctx context.Context) (anew []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for dir, was := range l.files {
		name := filepath.Join(dir, "lock")
		if there, err := liesAt(was, name); err != nil || there {
			if err != nil {
				return anew, fmt.Errorf("cannot tell whether the lock is held still: %w", err)
			}
			continue
		}
		f, err := takeOne(ctx, dir, l.what, 0)
		if errors.Is(err, ErrHeld) {
			return anew, fmt.Errorf("%w, and this one ends: %w", ErrOusted, err)
		}
		if err != nil {
			return anew, err
		}
		l.files[dir], l.moved, anew = f, append(l.moved, was), append(anew, name)
	}
	return anew, nil
}

// Standing says why nothing may be done under the lock; "" while it is held.
func (l *Lock) Standing(ctx context.Context) string {
	if _, err := l.Keep(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// Release gives the lock up. Of none it does nothing.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := []error{l.is.Release()} // first: who takes the lock next looks for it
	for _, f := range slices.AppendSeq(l.moved, maps.Values(l.files)) {
		errs = append(errs, f.Unlock())
	}
	return errors.Join(errs...)
}

// besideStill is beside for one that may be on its way out.
func besideStill(ctx context.Context, cfg config.Config, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := beside(cfg)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// beside says that another daemon of the same state folder lives; nil when none does.
func beside(cfg config.Config) error {
	pid := presence.Find(cfg.StateDir)
	if pid == 0 || pid == os.Getpid() {
		return nil
	}
	if held, err := files.LockHolders(filepath.Join(cfg.StateDir, "lock")); err == nil && slices.Contains(held, pid) {
		return fmt.Errorf("%w: %s, pid %d", ErrHeld, Daemon, pid)
	}
	return fmt.Errorf("%w: %s, pid %d, whose lock is not at %s any more", ErrHeld, Daemon, pid, filepath.Join(cfg.StateDir, "lock"))
}
