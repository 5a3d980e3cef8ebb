package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How changes are put together: the first is told almost at once, and the same
// path is told again only so often.
const (
	filesSettle = 10 * time.Millisecond
	filesEvery  = time.Second
)

// ErrLost is that events were lost: more came than the kernel keeps.
var ErrLost = errors.New("events were lost")

// FilesWatch watches files and folders. It is safe for concurrent use.
type FilesWatch struct {
	paths   []string
	changed func(path string)
	lost    func(error)
	notify  *fsnotify.Watcher
	ended   chan struct{}
	once    sync.Once
}

// Files calls changed when something changes below one of the paths: the path
// itself, a file in it when it is a folder, or a file that matches when its last
// part is a pattern (path.Match). It is told the path as it was given. Changes
// that come together are told once, and of one path at most one a second, the
// last one always. A path need not exist yet: the nearest folder above it is
// watched until it does. It fails when the kernel grants no watches. Later, lost is told
// that events were lost (ErrLost; every path is told then), what cannot be watched any
// more, and, with nil, that all is again. Both are called by one goroutine and should
// return soon.
func Files(changed func(path string), lost func(error), paths ...string) (*FilesWatch, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("cannot watch files: %w", err)
	}
	f := &FilesWatch{changed: changed, lost: lost, notify: n, ended: make(chan struct{})}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, errors.Join(fmt.Errorf("cannot watch %q: not an absolute path", p), n.Close())
		}
		f.paths = append(f.paths, filepath.Clean(p))
	}
	if err := f.reach(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	go f.run()
	return f, nil
}

// Close ends the watch. changed is not called any more once it has returned.
func (f *FilesWatch) Close() error {
	var err error
	f.once.Do(func() { err = f.notify.Close() })
	<-f.ended
	return err
}

// reach watches, for each path, the folder that is to tell of it; or the nearest
// one above that exists. One that cannot be watched keeps no other from it.
func (f *FilesWatch) reach() error {
	var wanted []string
	var errs []error
	for _, p := range f.paths {
		dir := p
		if isPattern(p) {
			dir = filepath.Dir(p)
		}
		var bad error
		for {
			err := f.notify.Add(dir)
			if err == nil {
				break
			}
			if bad == nil && (!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) || dir == "/") {
				bad = fmt.Errorf("cannot watch %s: %w", dir, err)
				errs = append(errs, bad)
			}
			if dir == "/" {
				break
			}
			dir = filepath.Dir(dir)
		}
		wanted = append(wanted, dir)
	}
	for _, dir := range f.notify.WatchList() {
		if !slices.Contains(wanted, dir) {
			_ = f.notify.Remove(dir) // may be gone already
		}
	}
	return errors.Join(errs...)
}

func isPattern(p string) bool { return strings.ContainsAny(filepath.Base(p), `*?[\`) }

// run puts events together and tells of them.
func (f *FilesWatch) run() {
	defer close(f.ended)
	due := map[string]time.Time{}  // path → when it may be told
	told := map[string]time.Time{} // path → when it was told last
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-f.notify.Events:
			if !ok {
				return
			}
			now := time.Now()
			for _, p := range f.about(e) {
				if _, waits := due[p]; !waits {
					due[p] = latest(now.Add(filesSettle), told[p].Add(filesEvery))
				}
			}
		case err, ok := <-f.notify.Errors:
			if !ok {
				return
			}
			f.lost(fmt.Errorf("%w: %w", ErrLost, err))
			for _, p := range f.paths { // events were lost: anything may have changed
				due[p] = time.Now()
			}
		case now := <-timer.C:
			f.tell(due, told, now)
		}
		timer.Reset(next(due))
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// next is how long until the first path is due; an hour when none is.
func next(due map[string]time.Time) time.Duration {
	wait := time.Hour
	for _, at := range due {
		wait = min(wait, max(0, time.Until(at)))
	}
	return wait
}

func (f *FilesWatch) tell(due, told map[string]time.Time, now time.Time) {
	for p, at := range due {
		if at.After(now) {
			continue
		}
		delete(due, p)
		told[p] = now
		f.changed(p)
	}
}

// about returns the paths that an event concerns. A folder that came or went
// changes what can be watched.
func (f *FilesWatch) about(e fsnotify.Event) (about []string) {
	if e.Op == fsnotify.Chmod {
		return nil
	}
	name := filepath.Clean(e.Name)
	above := false
	for _, p := range f.paths {
		dir, last := filepath.Split(p)
		switch match, _ := filepath.Match(last, filepath.Base(name)); {
		case isPattern(p) && filepath.Clean(dir) == filepath.Dir(name) && match,
			!isPattern(p) && (name == p || filepath.Dir(name) == p):
			about = append(about, p)
		}
		if strings.HasPrefix(p, name+"/") || name == p {
			above = true
		}
	}
	if above && e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
		f.lost(f.reach()) // what cannot be watched now is tried at the next event
		for _, p := range f.paths {
			if strings.HasPrefix(p, name+"/") && !slices.Contains(about, p) {
				about = append(about, p) // it may have been made, with what is in it, before it was watched
			}
		}
	}
	return about
}
