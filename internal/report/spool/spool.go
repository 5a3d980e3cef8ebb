// Package spool reads replies that another program puts into a folder, as files:
// NAME-escalation-reply, a reply a line. A file is taken by renaming it, removed
// when all in it was acted on, and answered in NAME-escalation-answer.
package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/files"
)

// Inbox reads what is put into one folder. All that may write there speak as one
// person, whose name is not proven; no questions are asked there.
type Inbox struct {
	Dir  string // belongs to our user, and no other user may write into it
	Name string // of the files
	Now  func() time.Time
}

var _ report.Inbox = Inbox{}

const (
	listenFor   = 20 * time.Second
	lookEvery   = time.Second
	mostBytes   = 64 << 10 // of one file that are read
	mostAnswers = 256 << 10
)

// by is who speaks: the spool itself.
func (e Inbox) by() string { return "spool/" + e.Name }

// Place implements report.Inbox.
func (e Inbox) Place() fleet.Place {
	return fleet.Place{Name: e.by(), Room: e.Dir, People: []string{e.by()}}
}

func (e Inbox) path() string { return filepath.Join(e.Dir, e.Name+"-escalation-reply") }

// taken is the part of a name that tells when a file was taken, in nanoseconds.
const taken = ".taken-"

// Poll implements report.Inbox. The cursor is the file that was taken last, and how
// much of it: that much was acted on, so the file goes.
func (e Inbox) Poll(ctx context.Context, cursor string) (report.Batch, error) {
	clock := time.NewTicker(lookEvery)
	defer clock.Stop()
	end := e.Now().Add(listenFor)
	for {
		h, some, err := e.look(cursor)
		if err != nil || some || e.Now().After(end) {
			return h, err
		}
		select {
		case <-ctx.Done():
			return report.Batch{}, ctx.Err()
		case <-clock.C:
		}
	}
}

// look returns what there is in the next file, if there is one.
func (e Inbox) look(cursor string) (report.Batch, bool, error) {
	none := report.Batch{Cursor: cursor}
	if err := e.own(); err != nil {
		return none, false, err
	}
	stamp, size := parseCursor(cursor)
	if from, err := e.forget(stamp, size); from > 0 || err != nil {
		return e.read(stamp, from, err)
	}
	left, err := filepath.Glob(e.path() + taken + "*")
	if err != nil {
		return none, false, err
	}
	slices.Sort(left)
	if len(left) > 0 { // a crash came between
		return e.read(strings.TrimPrefix(left[0], e.path()+taken), 0, nil)
	}
	stamp = strconv.FormatInt(e.Now().UnixNano(), 10)
	switch err := os.Rename(e.path(), e.path()+taken+stamp); {
	case errors.Is(err, fs.ErrNotExist):
		return none, false, nil
	case err != nil:
		return none, false, fmt.Errorf("cannot take %s: %w", fleet.Path(e.path()), err)
	}
	return e.read(stamp, 0, nil)
}

// own refuses a folder that another user could write into.
func (e Inbox) own() error {
	var at unix.Stat_t
	if err := unix.Lstat(e.Dir, &at); err != nil {
		return fmt.Errorf("cannot look into the spool %s: %w", fleet.Path(e.Dir), err)
	}
	if at.Mode&unix.S_IFMT != unix.S_IFDIR || int(at.Uid) != os.Geteuid() || at.Mode&0o022 != 0 {
		return fmt.Errorf("cannot use the spool %s: it is no folder that our user alone may write into", fleet.Path(e.Dir))
	}
	return nil
}

func parseCursor(cursor string) (stamp string, size int64) {
	stamp, text, _ := strings.Cut(cursor, ":")
	size, _ = strconv.ParseInt(text, 10, 64)
	return stamp, size
}

// forget removes a file of which so much was acted on. When it has grown since, it
// returns where to go on.
func (e Inbox) forget(stamp string, size int64) (from int64, err error) {
	if stamp == "" {
		return 0, nil
	}
	path := e.path() + taken + stamp
	info, err := files.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil && info.Size > size && size < mostBytes {
		return size, nil
	}
	return 0, os.Remove(path)
}

// read returns the lines of a file that was taken, from a byte on.
func (e Inbox) read(stamp string, from int64, err error) (report.Batch, bool, error) {
	if err != nil {
		return report.Batch{}, false, err
	}
	path := e.path() + taken + stamp
	f, info, err := files.OpenOwn(path)
	if err != nil {
		return report.Batch{}, false, errors.Join(fmt.Errorf("cannot read %s, and sets it aside: %w", fleet.Path(e.path()), err), os.Rename(path, e.path()+".refused"))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, mostBytes), mostBytes-from))
	if err != nil {
		return report.Batch{}, false, fmt.Errorf("cannot read %s: %w", fleet.Path(path), err)
	}
	to := from + int64(len(text))
	age := max(e.Now().Sub(info.Modified()), 0)
	h := report.Batch{Cursor: stamp + ":" + strconv.FormatInt(to, 10), Missed: info.Size > to && to >= mostBytes}
	at := from
	for line := range bytes.Lines(text) {
		if s := strings.TrimSpace(string(line)); s != "" {
			h.Said = append(h.Said, fleet.Said{ID: fmt.Sprintf("%s:%d", stamp, at), Room: e.Dir, By: e.by(), Text: body(s), Age: fleet.Duration(age)})
		}
		at += int64(len(line))
	}
	return h, true, nil
}

// body is what was said in a line "TIME TAB SENDER TAB TEXT", or the line itself.
func body(line string) string {
	parts := strings.SplitN(line, "\t", 3)
	if len(parts) == 3 {
		return strings.TrimSpace(parts[2])
	}
	return line
}

// Answer implements report.Inbox: a line in the file of answers, once for each
// message. A file that has become large makes room for a new one.
func (e Inbox) Answer(_ context.Context, m fleet.Message) error {
	if err := e.own(); err != nil {
		return err
	}
	path := filepath.Join(e.Dir, e.Name+"-escalation-answer")
	if f, info, err := files.OpenOwn(path); err == nil {
		old, err := io.ReadAll(io.LimitReader(f, mostAnswers))
		f.Close()
		if err == nil && bytes.Contains(old, []byte("\t"+m.ID+"\t")) {
			return nil
		}
		if info.Size >= mostAnswers/2 {
			if err := os.Rename(path, path+".old"); err != nil {
				return fmt.Errorf("cannot answer: %w", err)
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot answer in %s: %w", fleet.Path(path), err)
	}
	f, err := files.OpenToWrite(path, os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot answer: %w", err)
	}
	line := fmt.Sprintf("%s\t%s\t%s\n", e.Now().UTC().Format(time.RFC3339), m.ID, strings.ReplaceAll(strings.TrimSpace(m.Body), "\n", " / "))
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
