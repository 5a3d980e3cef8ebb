package daemon

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/store"
)

// fullDisk is what the writes to the ledger tell of the disk that it lies on: the first
// that finds no room is an event by itself.
type fullDisk struct {
	dir string // the state folder
	now func() fleet.Instant
	met func() // told of that first one; it must not wait

	mu  sync.Mutex
	why string        // "" while there is room
	at  fleet.Instant // of the last write that found none
}

// roomAgain is how long no write may have found the disk full before it counts as
// mended: a small one may find room where the next does not.
const roomAgain = time.Minute

// wrote takes what became of a write.
func (d *fullDisk) wrote(err error) {
	if d.note(err) {
		d.met()
	}
}

// note says whether a write is the first that finds the disk full.
func (d *fullDisk) note(err error) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(err, store.ErrFull):
		first = d.why == ""
		d.why, d.at = "the disk of "+d.dir+" is full: "+err.Error(), d.now()
	case err == nil && d.why != "" && d.now().Since(d.at) >= roomAgain:
		d.why = ""
	}
	return first
}

// says why nothing more can be written down; "" while it can.
func (d *fullDisk) says() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

// full says why nothing can be written down now, "" where it can. Where the disk has room
// for a little, but not for what the last pass had to write, that write tells.
func (s *system) full() string {
	if why := noRoom(s.cfg.StateDir); why != "" || s.loop.Trouble() == "" {
		return why
	}
	return s.disk.says()
}

// leastRoom is what a disk must have left for a row of the ledger and what SQLite needs
// beside it.
const leastRoom = 64 << 10

// noRoom says that nothing more can be written in a folder, "" where it can, or cannot
// be told.
func noRoom(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Bavail*uint64(st.Bsize) >= leastRoom {
		return ""
	}
	return "the disk of " + fleet.Path(dir) + " is full: nothing is written down, and so nothing is done by rules"
}
