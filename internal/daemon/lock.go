package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"custos/internal/api"
	"custos/internal/config"
)

// errHeld says that another Custos holds the lock of the one writer.
var errHeld = errors.New("another custos is writing")

// another is the refusal of the lock, with what a person can do about it. Nothing was
// done yet: whoever holds it may be asked instead.
type another struct{ was error }

func (a another) Error() string {
	return a.was.Error() + ": this has ordered nothing, and written down nothing (custos status shows it; custos down ends it)"
}

// Unwrap returns the error as it was, and as who asked is told.
func (a another) Unwrap() []error {
	return []error{a.was, &api.Error{Kind: api.Held, Message: a.Error()}}
}

// lock is the flock of the one writer, in the state folder and in the run folder:
// two Custos may share neither the one nor the other. The files say who holds them.
type lock struct{ files []*flock.Flock }

// patience is how long a short-lived writer waits for another one to end.
const patience = 5 * time.Second

// overtaken is how long a daemon must have held the lock that a short-lived writer
// waits for: it will not end, and answers orders itself.
const overtaken = time.Second

// takeLock takes the lock, or says who holds it. what is written into the file
// for the others to read, such as "custos up".
func takeLock(ctx context.Context, cfg config.Config, what string, wait time.Duration) (*lock, error) {
	l := &lock{}
	for _, dir := range []string{cfg.StateDir, cfg.RuntimeDir} {
		f, err := takeOne(ctx, dir, what, wait)
		if err != nil {
			return nil, errors.Join(err, l.release())
		}
		l.files = append(l.files, f)
		if cfg.RuntimeDir == cfg.StateDir {
			break
		}
	}
	return l, nil
}

func takeOne(ctx context.Context, dir, what string, wait time.Duration) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the lock: %w", err)
	}
	name := filepath.Join(dir, "lock")
	f := flock.New(name, flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err == nil && !ok && wait > 0 {
		ok, err = tryFor(ctx, f, min(wait, overtaken))
		if !ok && wait > overtaken && !strings.HasPrefix(holder(name), asDaemon+",") {
			ok, err = tryFor(ctx, f, wait-overtaken)
		}
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("cannot take the lock %s: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s holds %s", errHeld, holder(name), name)
	}
	// Only for people to read: the lock itself is the kernel's.
	_ = os.WriteFile(name, fmt.Appendf(nil, "%s, pid %d, since %s\n", what, os.Getpid(), time.Now().UTC().Format(time.RFC3339)), 0o600)
	return f, nil
}

func tryFor(ctx context.Context, f *flock.Flock, wait time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return f.TryLockContext(ctx, 50*time.Millisecond)
}

// nobody is who holds a lock without having said so yet.
const nobody = "somebody"

func holder(name string) string {
	b, err := os.ReadFile(name)
	if s := strings.TrimSpace(string(b)); err == nil && s != "" {
		return s
	}
	return nobody
}

func (l *lock) release() error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Unlock())
	}
	return errors.Join(errs...)
}
