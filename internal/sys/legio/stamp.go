package legio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"custos/internal/sys/files"
)

// stamp is what changes when a store does: the file, the log beside it, and how
// it is kept.
type stamp struct {
	main    file
	log     file // of the write-ahead log; zero when there is none
	index   bool // the log's index is there: a process has the store open
	journal bool // a change is under way, or was torn
	wal     bool // it is kept with a write-ahead log
}

type file struct {
	device, inode uint64
	size, mtime   int64 // bytes, nanoseconds since 1970
}

// shared says whether the store is read with SQLite's own locks, so that what
// changes meanwhile cannot tear what is read.
func (s stamp) shared() bool { return !s.wal || s.log.size > 0 }

// stampOf looks at a store without opening it as a database.
func stampOf(path string) (s stamp, err error) {
	if s.main, err = fileOf(path); err != nil {
		return s, err
	}
	if s.wal, err = keptWithLog(path); err != nil {
		return s, err
	}
	if s.log, err = fileOf(path + "-wal"); err != nil && !isMissing(err) {
		return s, err
	}
	_, noIndex := os.Lstat(path + "-shm")
	_, noJournal := os.Lstat(path + "-journal")
	s.index, s.journal = noIndex == nil, noJournal == nil
	return s, nil
}

// fileOf describes a regular file of this user's own. It follows no link: another
// agent could have laid it there.
func fileOf(path string) (file, error) {
	info, err := os.Lstat(path)
	if isMissing(err) {
		return file{}, because(errMissing, path, err)
	}
	if err != nil {
		return file{}, because(errStranger, path, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Getuid() {
		return file{}, because(errStranger, path, errors.New("want a regular file that belongs to this user"))
	}
	return file{uint64(st.Dev), st.Ino, info.Size(), info.ModTime().UnixNano()}, nil
}

// keptWithLog reads from the head of a database how it is kept: byte 18 is the
// version of its format for writing, 2 for a write-ahead log.
func keptWithLog(path string) (bool, error) {
	f, err := files.OpenPlain(path)
	if err != nil {
		return false, because(errStranger, path, err)
	}
	defer f.Close()
	var head [20]byte
	switch n, err := io.ReadFull(f, head[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return false, because(errSchema, path, errors.New("it is empty"))
	case err != nil:
		return false, because(errDamaged, path, err)
	case string(head[:16]) != "SQLite format 3\x00":
		return false, because(errDamaged, path, errors.New("it is no database"))
	}
	return head[18] == 2, nil
}

// because says what was tried and why it failed.
func because(kind error, path string, err error) error {
	return fmt.Errorf("cannot read %s: %w: %w", path, kind, err)
}
