package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"custos/internal/sys/files"
)

const askedFile = "asked"

// Somebody is who asked for an end where there was no room to write down who: some
// person, for no other stop is written down without a name.
const Somebody = "somebody"

// ErrNameless says that the word stands, and not whose it is.
var ErrNameless = errors.New("who asked for its end could not be written down")

// asking is how long before an end it may have been asked for: many times what a stop
// takes. What comes later is another end, and the stop was refused or cut off.
const asking = 10 * time.Minute

// SayAsked writes down, beside what the shim writes, who asked for an instance's end:
// for one that is ended where the ledger cannot be written. On a full disk there is
// still room for an empty file, which stands for some person: ErrNameless says so. A
// word that is there with the name already is kept, and only its time is set.
func SayAsked(dir, by string, person bool) error { return sayAsked(write, dir, by, person) }

func sayAsked(write func(path, text string) error, dir, by string, person bool) error {
	name := filepath.Join(dir, askedFile)
	err := write(name, by+"\n")
	if isFull(err) && asked(name) == by {
		now := time.Now()
		err = os.Chtimes(name, now, now)
	}
	if isFull(err) && person && write(name, "") == nil {
		return fmt.Errorf("%w: %w", ErrNameless, err)
	}
	if err != nil {
		return fmt.Errorf("cannot write down who asked for its end: %w", err)
	}
	return nil
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// UnsayAsked takes back what SayAsked wrote of one who asked; nothing, where it is of
// another.
func UnsayAsked(dir, by string) error {
	name := filepath.Join(dir, askedFile)
	if is := asked(name); is != by && is != Somebody {
		return nil
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot take back who asked for its end: %w", err)
	}
	return nil
}

// AskedBy returns who asked for the end of an instance that came at a moment; "" when
// it is not said here, or so long before that it was not what ended it.
func AskedBy(dir string, ended time.Time) string {
	name := filepath.Join(dir, askedFile)
	if info, err := os.Lstat(name); err != nil || ended.Sub(info.ModTime()) > asking {
		return ""
	}
	return asked(name)
}

// asked reads who is written down; "" for none.
func asked(name string) string {
	text, err := files.Read(name, maxFile)
	if err != nil {
		return ""
	}
	if by, _, _ := strings.Cut(string(text), "\n"); by != "" {
		return by
	}
	return Somebody
}
