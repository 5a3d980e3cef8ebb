package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// told is what is told of a folder: files that appear, go, or were written and
// closed. A step that prints without end is not told of until it ends.
const told = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_DELETE | unix.IN_ONLYDIR

// watch tells of changes in the folders of open runs. The zero watch tells of
// nothing.
type watch struct {
	mu   sync.Mutex
	fd   int
	on   bool
	dirs map[string]int32 // watch of each folder
}

// Watch calls changed when something happens in the folder of an open run or of
// one of its steps: a phase was written, a step has ended. Which folders these
// are every look learns anew. It returns when ctx ends.
func (p *Probe) Watch(ctx context.Context, changed func()) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("cannot watch the folders of runs: %w", err)
	}
	file := os.NewFile(uintptr(fd), "inotify") // read through the poller: closing it ends the read
	p.watch.begin(fd)
	stop := context.AfterFunc(ctx, func() {
		p.watch.end()
		file.Close()
	})
	defer stop()
	changed() // the next look has the folders watched
	events := make([]byte, 64<<10)
	for {
		if _, err := file.Read(events); err != nil {
			if ctx.Err() != nil || errors.Is(err, os.ErrClosed) {
				return nil
			}
			p.watch.end()
			return errors.Join(fmt.Errorf("cannot watch the folders of runs: %w", err), file.Close())
		}
		changed()
	}
}

func (w *watch) begin(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fd, w.on, w.dirs = fd, true, map[string]int32{}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = false
}

// follow watches the folders that can tell something, and no others. What cannot
// be watched is seen by looks alone.
func (w *watch) follow(all []fleet.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return
	}
	wanted := folders(all)
	for dir, wd := range w.dirs {
		if !wanted[dir] {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // the folder may be gone already
			delete(w.dirs, dir)
		}
	}
	for dir := range wanted {
		// Asked anew each time: it may have been removed and made again.
		if wd, err := unix.InotifyAddWatch(w.fd, dir, told); err == nil {
			w.dirs[dir] = int32(wd)
		}
	}
}

// folders are those of open runs, and of their steps that run, and the spool of
// replies while one is awaited.
func folders(all []fleet.Run) map[string]bool {
	out := map[string]bool{}
	for _, r := range running(all) {
		out[r.File("")] = true
		if ledger.AwaitsReply(r) {
			for _, file := range r.ReplyFiles() {
				out[filepath.Dir(file)] = true
			}
		}
		out[r.StepsDir()] = true
		for _, s := range r.Steps {
			if s.Do == fleet.StepRun && s.State == fleet.StepRunning {
				out[r.StepDir(s.ID, s.Attempt)] = true
			}
		}
	}
	return out
}
