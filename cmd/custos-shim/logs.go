package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// block is what FALLOC_FL_COLLAPSE_RANGE counts in on the usual file systems.
const block = 4096

// pace is how often a log that grows is looked at. A log that does not grow
// costs nothing: the kernel tells when it is written to.
const pace = 250 * time.Millisecond

// capLogs keeps each log below max bytes, for as long as the shim lives: one
// half in the log itself, the half before it in *.1. Between two looks a log may
// be larger.
func capLogs(logs []*os.File, max int64) {
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	for {
		if err != nil {
			time.Sleep(pace) // no inotify left on this machine: look now and then
		} else {
			awaitWrite(watch, logs)
		}
		for before := int64(-1); ; time.Sleep(pace) {
			total := trimAll(logs, max)
			if total == before {
				break
			}
			before = total
		}
	}
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
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("cannot rotate %s: %w", f.Name(), err)
	}
	return nil
}

// save copies bytes [from, to) to *.1, which appears whole or not at all.
func save(f *os.File, from, to int64) error {
	tmp, err := os.OpenFile(f.Name()+".1.tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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
