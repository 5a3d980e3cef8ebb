package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

// mounts asks file systems how full they are, each on its own, so that one that
// hangs keeps only its own figures from being known.
type mounts struct {
	choose  Mounts
	folders []string
	wait    time.Duration
	statfs  func(string, *unix.Statfs_t) error

	mu    sync.Mutex
	asked map[string]time.Duration // CLOCK_BOOTTIME at which a call began that has not returned
	past  map[string]*history
}

func newMounts(o Options, wait time.Duration) *mounts {
	return &mounts{choose: o.Mounts, folders: o.Folders, wait: wait, statfs: o.Statfs,
		asked: map[string]time.Duration{}, past: map[string]*history{}}
}

// look returns the chosen file systems by mount point. up is CLOCK_BOOTTIME.
func (m *mounts) look(ctx context.Context, proc procfs.FS, up time.Duration) ([]fleet.Mount, error) {
	infos, err := proc.GetMounts()
	if err != nil {
		return nil, fmt.Errorf("cannot read mounts: %w", err)
	}
	chosen := m.choose.of(infos, resolved(m.folders))
	ctx, cancel := context.WithTimeoutCause(ctx, m.wait, fmt.Errorf("it did not answer within %s", m.wait))
	defer cancel()
	out := make([]fleet.Mount, len(chosen))
	var wg sync.WaitGroup
	for i, info := range chosen {
		wg.Go(func() { out[i] = m.one(ctx, info, up) })
	}
	wg.Wait()
	m.forget(chosen)
	return slices.DeleteFunc(out, isEmpty), nil
}

// resolved are the folders as the kernel knows them: of one that is not there yet, the
// nearest above that is.
func resolved(folders []string) (out []string) {
	for _, f := range folders {
		real, err := filepath.EvalSymlinks(f)
		for ; err != nil && f != "/" && f != "."; real, err = filepath.EvalSymlinks(f) {
			f = filepath.Dir(f)
		}
		if err == nil {
			out = append(out, real)
		}
	}
	return out
}

func (m *mounts) one(ctx context.Context, info *procfs.MountInfo, up time.Duration) fleet.Mount {
	raw := unescape(info.MountPoint)
	mount := fleet.Mount{Path: fleet.Path(raw), Device: fleet.Path(unescape(info.Source)), Type: fleet.Line(info.FSType, 50)}
	st, err := m.ask(ctx, raw, up)
	if err != nil {
		blind(&mount, fleet.Line(err.Error(), 200))
		return mount
	}
	measure(&mount, st)
	mount.TimeToFull = m.history(raw).add(up, mount.Available.Or(0))
	return mount
}

func (m *mounts) history(raw string) *history {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.past[raw] == nil {
		m.past[raw] = &history{}
	}
	return m.past[raw]
}

// forget drops the histories of what is mounted no more.
func (m *mounts) forget(chosen []*procfs.MountInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for raw := range m.past {
		if !slices.ContainsFunc(chosen, func(i *procfs.MountInfo) bool { return unescape(i.MountPoint) == raw }) {
			delete(m.past, raw)
		}
	}
}

// answer is what one statfs call brought.
type answer struct {
	st  unix.Statfs_t
	err error
}

// ask calls statfs in a goroutine of its own. A call that hangs cannot be taken
// back: it is left, and the mount is not asked again before it has returned.
func (m *mounts) ask(ctx context.Context, raw string, up time.Duration) (unix.Statfs_t, error) {
	if since, hangs := m.begin(raw, up); hangs {
		return unix.Statfs_t{}, fmt.Errorf("it has not answered for %s", (up - since).Round(time.Second))
	}
	got := make(chan answer, 1)
	go func() {
		var a answer
		a.err = m.statfs(raw, &a.st)
		m.end(raw)
		got <- a
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return a.st, fmt.Errorf("cannot ask file system: %w", a.err)
		}
		return a.st, nil
	case <-ctx.Done():
		return unix.Statfs_t{}, context.Cause(ctx)
	}
}

func (m *mounts) begin(raw string, up time.Duration) (since time.Duration, hangs bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, hangs = m.asked[raw]; !hangs {
		m.asked[raw] = up
	}
	return since, hangs
}

func (m *mounts) end(raw string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asked, raw)
}

// unescape undoes what the kernel does to blanks in mountinfo: \040 and so on.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := octal(s[i:]); ok {
			b.WriteByte(c)
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[1:4]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n*8 + int(c-'0')
	}
	return byte(n), n < 256
}
