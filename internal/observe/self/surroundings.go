package self

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
)

// stepped remembers how the wall clock was set: by how much it is off from the
// boot clock, which cannot be set, than it was before.
type stepped struct {
	offset time.Duration // of the wall clock from the boot clock, when it was looked at last
	base   time.Time     // what offset counts from
	by     time.Duration
	at     fleet.Instant // of the last step
}

// What counts as a step, and for how long it is reported. A clock that is slewed goes
// wrong by less than a tenth of a second between two looks.
const (
	leastStep   = 2 * time.Second
	reportedFor = time.Hour
)

// look returns how far the wall clock was set within an hour.
func (s *stepped) look(now fleet.Instant) time.Duration {
	zero := now.Wall.Add(-time.Duration(now.Up))
	if s.base.IsZero() {
		s.base = zero
	}
	offset := zero.Sub(s.base)
	if !s.at.IsZero() && now.Since(s.at) > reportedFor {
		s.by, s.at = 0, fleet.Instant{}
	}
	if moved := offset - s.offset; moved.Abs() >= leastStep {
		s.by, s.at = s.by+moved, now
	}
	s.offset = offset
	return s.by
}

// unsafePath says which folders of a PATH others may put programs into: one that
// is relative, that belongs to another user or that others may write to, or that
// lies in a folder an agent works in.
func unsafePath(path string, standing []string) string {
	if path == "" {
		return ""
	}
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if why := unsafeDir(dir, standing); why != "" {
			out = append(out, fleet.Path(dir)+" "+why)
		}
	}
	return strings.Join(out, "; ")
}

func unsafeDir(dir string, standing []string) string {
	if !filepath.IsAbs(dir) {
		return "is relative"
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "" // nothing is found there
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	if info.Mode().Perm()&0o002 != 0 {
		return "may be written by every user"
	}
	home, _ := os.UserHomeDir()
	dir = filepath.Clean(dir)
	for _, s := range standing {
		if s != "/" && s != home && (dir == s || strings.HasPrefix(dir, strings.TrimSuffix(s, "/")+"/")) {
			return "lies where an agent works"
		}
	}
	return ""
}
