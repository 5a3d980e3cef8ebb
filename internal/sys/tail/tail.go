// Package tail reads files that other programs append lines to, a piece at a time,
// and goes on where it stopped: by device and inode, because a name may be given to
// another file, and by the offset behind the last whole line. It only reads, and opens
// nothing but regular files, so that no pipe and no link is ever waited for.
package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"custos/internal/sys/files"
)

// Place is how far a file was read.
type Place struct {
	Device uint64
	Inode  uint64
	Offset int64 // of the first byte that was not read: the beginning of a line
	Skip   int64 // bytes behind it that are known to belong to a line that is too long
}

// Limits bound one reading; what is zero has its default.
type Limits struct {
	Line  int   // longest line that is read, in bytes; 8 MiB
	Bytes int64 // after so many the reading stops at the end of a line; 16 MiB
}

const (
	defaultLine  = 8 << 20
	defaultBytes = 16 << 20
	piece        = 128 << 10 // that is read at once
)

// Reading says what one reading found.
type Reading struct {
	Next     Place
	Info     files.Info
	Anew     bool // it is another file than that of the place, or was cut or written over: it was read from its beginning
	Lines    int  // that were given
	Skipped  int  // that were too long, and not given
	More     bool // it ended at Limits.Bytes: there is more to read at once
	Bytes    int64
	Consumed int64 // bytes of whole lines, those that were skipped included
}

// Read gives each whole line behind a place to line, without its end, and with the offset
// at which it begins; the bytes are line's own only until it returns. A last line that has
// no end yet is left for the next time. A file that is another one than it was, is shorter,
// or has no end of a line at the place, is read from its beginning.
//
// The error is fs.ErrNotExist for a file that is gone, files.ErrNotRegular for what is no
// file, and otherwise says why it cannot be read; then nothing is known of it.
func Read(path string, from Place, limits Limits, line func(offset int64, text []byte)) (Reading, error) {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return Reading{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer f.Close()
	r := reader{f: f, limits: limits.orDefault(), give: line}
	r.Info = info
	if err := r.begin(from); err == nil {
		err = r.run()
	} else {
		return Reading{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err != nil {
		return Reading{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return r.Reading, nil
}

// Last is the place from which the last bytes of a file can be read: the beginning of the
// first line that begins in them; where none does, the end of the line that fills them.
func Last(path string, window int64) (Place, error) {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return Place{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer f.Close()
	p := Place{Device: info.Device, Inode: info.Inode}
	if info.Size <= window {
		return p, nil
	}
	b := make([]byte, window+1)
	n, err := f.ReadAt(b, info.Size-window-1)
	if err != nil && !errors.Is(err, io.EOF) {
		return Place{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if end := bytes.IndexByte(b[:n], '\n'); end >= 0 {
		p.Offset = info.Size - window + int64(end)
	} else {
		p.Skip = info.Size
	}
	return p, nil
}

func (l Limits) orDefault() Limits {
	if l.Line <= 0 {
		l.Line = defaultLine
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	return l
}

type reader struct {
	Reading
	f      *os.File
	limits Limits
	give   func(offset int64, text []byte)
	long   []byte // the beginning of a line that is longer than a piece
}

// begin finds out whether the file is the one of the place, and unchanged before it.
func (r *reader) begin(from Place) error {
	r.Next = Place{Device: r.Info.Device, Inode: r.Info.Inode}
	if from.Offset <= 0 && from.Skip <= 0 {
		r.Anew = from.Device != 0 && (from.Device != r.Info.Device || from.Inode != r.Info.Inode)
		return nil
	}
	same, err := r.continues(from)
	if err != nil {
		return err
	}
	if r.Anew = !same; same {
		r.Next = from
	}
	return nil
}

func (r *reader) continues(from Place) (bool, error) {
	if from.Device != r.Info.Device || from.Inode != r.Info.Inode || from.Skip < 0 || from.Offset < 0 || from.Offset+from.Skip > r.Info.Size {
		return false, nil
	}
	if from.Offset == 0 {
		return true, nil
	}
	var before [1]byte
	if _, err := r.f.ReadAt(before[:], from.Offset-1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return before[0] == '\n', nil
}

// pieces are lent, because a look at many files needs one at a time.
var pieces = sync.Pool{New: func() any { b := make([]byte, piece); return &b }}

func (r *reader) run() error {
	lent, _ := pieces.Get().(*[]byte)
	defer pieces.Put(lent)
	for {
		at := r.Next.Offset + r.Next.Skip + int64(len(r.long))
		n, err := r.f.ReadAt(*lent, at)
		r.Bytes += int64(n)
		r.take((*lent)[:n])
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.Consumed >= r.limits.Bytes:
			r.More = true
			return nil
		}
	}
}

// take gives the lines that end in a piece, and remembers what is behind the last of them.
func (r *reader) take(b []byte) {
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		r.ends(b[:end])
		b = b[end+1:]
	}
	if r.Next.Skip > 0 || len(r.long)+len(b) > r.limits.Line {
		r.Next.Skip += int64(len(r.long) + len(b))
		r.long = nil
		return
	}
	r.long = append(r.long, b...)
}

// ends is told of the last bytes of a line.
func (r *reader) ends(b []byte) {
	length := r.Next.Skip + int64(len(r.long)+len(b))
	if r.Next.Skip > 0 || length > int64(r.limits.Line) {
		r.Skipped++
	} else {
		if len(r.long) > 0 {
			b = append(r.long, b...)
		}
		r.Lines++
		r.give(r.Next.Offset, b)
	}
	r.Next.Offset, r.Next.Skip, r.long = r.Next.Offset+length+1, 0, r.long[:0]
	r.Consumed += length + 1
}
