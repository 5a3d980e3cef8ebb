package hookwire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// atOnce opens what an agent may have put there: a link is not followed, and a pipe not
// waited for.
const atOnce = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Spool is a folder of events that were not acknowledged, one file each:
// WALL-NANOSECONDS "-" ID ".json", so that names sort by time. Writers need no
// lock: a file appears whole, by rename. Nothing is synced: after a power cut a
// file may be empty, and is then bad.
type Spool struct {
	Dir      string
	MaxFiles int   // default 50 000: 12 minutes of 200 busy agents
	MaxBytes int64 // default 64 MiB
}

// Put writes an event. The run folder must exist: without it no daemon ever ran
// here, and nothing is written.
func (s Spool) Put(p Post) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("cannot spool: %w", err)
	}
	err = s.put(p, b)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(s.Dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = s.put(p, b)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot spool: %w", err)
	}
	return nil
}

func (s Spool) put(p Post, b []byte) error {
	tmp := filepath.Join(s.Dir, ".tmp-"+p.ID)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, filepath.Join(s.Dir, fileName(p)))
}

func fileName(p Post) string { return fmt.Sprintf("%020d-%s.json", p.Wall, p.ID) }

// List returns the names of the events, oldest first. A spool that is not there
// is empty.
func (s Spool) List() ([]string, error) {
	all, err := s.names()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(n string) bool { return !isEvent(n) })
	slices.Sort(all)
	return all, nil
}

func isEvent(name string) bool { return name[0] != '.' && strings.HasSuffix(name, ".json") }

func (s Spool) names() ([]string, error) {
	d, err := os.OpenFile(s.Dir, os.O_RDONLY|syscall.O_DIRECTORY|atOnce, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the spool: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("cannot list the spool: %w", err)
	}
	return names, nil
}

// Get reads an event. An error other than fs.ErrNotExist or fs.ErrPermission
// says that the file will never be an event.
func (s Spool) Get(name string) (Post, error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_RDONLY|atOnce, 0)
	if err != nil {
		return Post{}, fmt.Errorf("cannot read spooled event: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFrame {
		return Post{}, fmt.Errorf("cannot read spooled event %s: it is no file of at most %d bytes", f.Name(), maxFrame)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFrame))
	if err != nil {
		return Post{}, fmt.Errorf("cannot read spooled event: %w", err)
	}
	p, err := decodePost(b)
	if err != nil {
		return Post{}, fmt.Errorf("cannot use %s: %w", f.Name(), err)
	}
	return p, nil
}

// Remove deletes an event that was taken.
func (s Spool) Remove(name string) error { return os.Remove(filepath.Join(s.Dir, name)) }

// SetAside renames an event that cannot be read to NAME.bad, for a person to
// look at. The 100 newest are kept.
func (s Spool) SetAside(name string) error {
	if err := os.Rename(filepath.Join(s.Dir, name), filepath.Join(s.Dir, name+".bad")); err != nil {
		return fmt.Errorf("cannot set spooled event aside: %w", err)
	}
	all, err := s.names()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(n string) bool { return !strings.HasSuffix(n, ".bad") })
	slices.Sort(all)
	for len(all) > 100 {
		_ = os.Remove(filepath.Join(s.Dir, all[0]))
		all = all[1:]
	}
	return nil
}

// Limit deletes the oldest events until the spool keeps its bounds, and leaves
// of each deleted one a byte in the file "dropped". It also removes what a
// writer that was killed left half done a minute before now.
func (s Spool) Limit(now time.Time) error {
	all, err := s.List()
	if err != nil {
		return err
	}
	sizes := make([]int64, len(all))
	var total int64
	for i, name := range all {
		if info, err := os.Lstat(filepath.Join(s.Dir, name)); err == nil {
			sizes[i] = info.Size()
			total += sizes[i]
		}
	}
	gone := 0
	for i := 0; i < len(all) && (len(all)-i > s.maxFiles() || total > s.maxBytes()); i++ {
		if s.Remove(all[i]) == nil {
			gone++
		}
		total -= sizes[i]
	}
	s.sweep(now)
	return s.count(gone)
}

func (s Spool) maxFiles() int {
	if s.MaxFiles > 0 {
		return s.MaxFiles
	}
	return 50_000
}

func (s Spool) maxBytes() int64 {
	if s.MaxBytes > 0 {
		return s.MaxBytes
	}
	return 64 << 20
}

func (s Spool) sweep(now time.Time) {
	all, _ := s.names() // listed a moment ago
	for _, name := range all {
		path := filepath.Join(s.Dir, name)
		if !strings.HasPrefix(name, ".tmp-") {
			continue
		}
		if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > time.Minute {
			_ = os.Remove(path)
		}
	}
}

func (s Spool) count(gone int) error {
	if gone == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, "dropped"), os.O_WRONLY|os.O_CREATE|os.O_APPEND|atOnce, 0o600)
	if err != nil {
		return fmt.Errorf("cannot count dropped events: %w", err)
	}
	_, err = f.Write(make([]byte, gone)) // one append: two writers at once both count
	return errors.Join(err, f.Close())
}

// Dropped returns how many events were dropped since it was last asked.
func (s Spool) Dropped() (int, error) {
	told := filepath.Join(s.Dir, ".dropped-told")
	if err := os.Rename(filepath.Join(s.Dir, "dropped"), told); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, fmt.Errorf("cannot count dropped events: %w", err)
	}
	info, err := os.Lstat(told)
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot count dropped events: %w", err)
	case !info.Mode().IsRegular():
		return 0, os.Remove(told)
	}
	return int(info.Size()), os.Remove(told)
}
