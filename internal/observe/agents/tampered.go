package agents

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

// mostGiven is how large a file of hooks or of a policy may be, in bytes.
const mostGiven = 8 << 20

// tampering finds files of hooks and policies that are not what they were when their agents were
// started. Agents of one kind share those of hooks: what the newest start wrote counts for all.
type tampering struct {
	seen map[string]sum // by path
}

// sum is what a file was when it was read: its SHA-256, or why there is none; no text where that is not known.
type sum struct {
	stamp fileStamp
	text  string
}

type fileStamp struct {
	inode          uint64
	size           int64
	changed, moved unix.Timespec
}

func stampOf(s unix.Stat_t) fileStamp { return fileStamp{s.Ino, s.Size, s.Ctim, s.Mtim} }

// see notes at each agent that runs which of its files was changed.
func (t *tampering) see(found []fleet.Agent, regs []fleet.Registration) {
	written, by, of := map[string]string{}, map[string]fleet.Instant{}, map[string]fleet.Registration{}
	for _, r := range regs {
		of[r.Name] = r
		for _, g := range r.Given {
			if newest, known := by[g.Path]; !known || newest.Wall.Before(r.StartedAt.Wall) {
				written[g.Path], by[g.Path] = g.Sum, r.StartedAt
			}
		}
	}
	now := map[string]sum{}
	for i := range found {
		a := &found[i]
		if r := of[a.Name]; a.Process.PID != 0 && a.Registered && a.Instance == r.Instance {
			for _, g := range r.Given {
				if _, read := now[g.Path]; !read {
					now[g.Path] = t.sumOf(g.Path)
				}
				if is := now[g.Path].text; a.Tampered == "" && is != "" && is != written[g.Path] {
					a.Tampered = g.Path
				}
			}
		}
	}
	t.seen = now
}

// sumOf reads a file (shown), unless it is as it was when it was read last.
func (t *tampering) sumOf(path string) sum {
	f, err := os.OpenFile(fleet.RawPath(path), os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return sum{text: "is gone, or closed to Custos"}
	case err != nil:
		return t.seen[path] // what cannot be told now is as it was told last
	}
	defer f.Close()
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || s.Size > mostGiven {
		return sum{text: "is no file that Custos wrote"}
	}
	stamp := stampOf(s)
	if was, known := t.seen[path]; known && was.stamp == stamp {
		return was
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, mostGiven)); err != nil {
		return t.seen[path]
	}
	return sum{stamp, fmt.Sprintf("%x", h.Sum(nil))}
}
