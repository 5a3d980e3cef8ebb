//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// block is what FALLOC_FL_COLLAPSE_RANGE counts in on the usual file systems.
const block = 4096

// pace is how often a log that grows is looked at. A log that does not grow
// costs nothing: the kernel tells when it is written to.
const pace = 250 * time.Millisecond

// logs are what a headless agent prints to, each to be kept below max bytes: one
// half in the log itself, the half before it in *.1.
type logs struct {
	max   int64
	files []*os.File

	mu sync.Mutex // held while they are trimmed
}

// keep keeps the logs capped for as long as the shim lives. Between two looks a
// log may be larger.
func (l *logs) keep() {
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	for {
		if err != nil {
			time.Sleep(pace) // no inotify left on this machine: look now and then
		} else {
			awaitWrite(watch, l.files)
		}
		for before := int64(-1); ; time.Sleep(pace) {
			l.mu.Lock()
			total := trimAll(l.files, l.max)
			l.mu.Unlock()
			if total == before {
				break
			}
			before = total
		}
	}
}

// leave trims the logs for the last time, for what was printed since the last look
// would stay otherwise. The lock is not given back: the shim is about to end, and
// must not do so in the middle of a copy.
func (l *logs) leave() {
	l.mu.Lock()
	trimAll(l.files, l.max)
}

// awaitWrite sleeps until one of the logs is written to.
func awaitWrite(watch int, logs []*os.File) {
	for _, f := range logs {
		if _, err := unix.InotifyAddWatch(watch, f.Name(), unix.IN_MODIFY|unix.IN_ONESHOT); err != nil {
			time.Sleep(pace)
			return
		}
	}
	var events [4096]byte
	if _, err := unix.Read(watch, events[:]); err != nil {
		time.Sleep(pace)
	}
}

// trimAll trims the logs that are too large and returns a number that changes
// whenever something was written.
func trimAll(logs []*os.File, max int64) (total int64) {
	for _, f := range logs {
		info, err := f.Stat()
		if err != nil {
			continue
		}
		total += info.Size() + info.ModTime().UnixNano()
		if info.Size() > max/2 {
			_ = trim(f, info.Size(), max/2) // the next look tries again
		}
	}
	return total
}

// trim moves the older part of a log that is size bytes long to *.1, of which
// keep bytes are kept. The agent goes on writing meanwhile, at the log's end
// wherever that is, and loses nothing where the file system can cut off a head;
// elsewhere what it wrote during the last instant of the copy is lost.
func trim(f *os.File, size, keep int64) error {
	n := (size - 1) / block * block
	if n <= 0 {
		return nil
	}
	if err := save(f, max(0, n-keep), n); err != nil {
		return fmt.Errorf("cannot rotate %s: %w", f.Name(), err)
	}
	if unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_COLLAPSE_RANGE, 0, n) == nil {
		return nil
	}
	if err := moveAll(f, keep); err != nil {
		return fmt.Errorf("cannot rotate %s: %w", f.Name(), err)
	}
	return nil
}

// moveAll moves the last bytes of a log to *.1, to its very end, for that is what
// people read first, and empties it.
func moveAll(f *os.File, keep int64) error {
	info, err := f.Stat()
	if err == nil {
		err = save(f, max(0, info.Size()-keep), info.Size())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	return err
}

// save copies bytes [from, to) to *.1, which appears whole or not at all.
func save(f *os.File, from, to int64) error {
	tmp, err := create(f.Name() + ".1.tmp")
	if err != nil {
		return err
	}
	_, err = io.Copy(tmp, io.NewSectionReader(f, from, to-from))
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), f.Name()+".1")
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
