package shim

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"path/filepath"
)

// The files of a headless agent's output.
const (
	Stdout = "stdout.log"
	Stderr = "stderr.log"
)

// Output is a part of what a headless agent printed.
type Output struct {
	Text []byte // whole lines
	Rest []byte // the line that it has not ended yet
	Next Mark   // the end of Text
	Gap  bool   // what came before Text, since the mark it was asked by, is not kept any more
}

// Mark is a place in a log, to go on from. A rotation moves places, so it is known
// again by what is printed before it.
type Mark struct {
	At  int64  // bytes from the beginning of the log; below 0 in the one before it
	Len int    // how many bytes before it are summed; 0: the beginning
	Sum uint64 // theirs
}

const (
	maxChunk = 1 << 20  // the most that one Output holds
	maxLog   = 16 << 20 // the most that is read of one log
	maxBlock = 64 << 10 // the longest block that is waited for
	summed   = 256      // the bytes that a place is known by
)

// End returns the end of what is kept of a log, whole lines of it; all of it, for an
// agent that has ended.
func End(dir, log string, ended bool) (Output, error) {
	k, err := readKept(dir, log)
	if err != nil {
		return Output{}, err
	}
	from := max(0, len(k.all)-maxChunk)
	if from > 0 {
		from += half(k.all[from:])
	}
	return k.output(from, ended), nil
}

// After returns what was printed after a mark, oldest first.
func After(dir, log string, m Mark, ended bool) (Output, error) {
	k, err := readKept(dir, log)
	if err != nil {
		return Output{}, err
	}
	from, found := k.find(m)
	out := k.output(from, ended)
	out.Gap = !found
	return out, nil
}

// kept is what is kept of a log: the part that was moved away, and the log itself.
type kept struct {
	all    []byte
	origin int64 // where all begins, as a mark tells it
}

// readKept reads the log before its older part: when it is rotated between the two,
// nothing is missing.
func readKept(dir, log string) (kept, error) {
	now, isCut, err := tail(filepath.Join(dir, log), maxLog)
	if err != nil {
		return kept{}, err
	}
	before, _, err := tail(filepath.Join(dir, log+".1"), maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept{}, err
	}
	if isCut { // its beginning was not read
		before = nil
	}
	return kept{append(before, now...), -int64(len(before))}, nil
}

// find returns the place of a mark, or false and the beginning when it is gone.
func (k kept) find(m Mark) (int, bool) {
	if m.Len == 0 {
		return 0, true
	}
	if at := m.At - k.origin; k.is(at, m) {
		return int(at), true
	}
	// It was rotated: what was in the log is in the older part now, no further from its beginning.
	for at := min(m.At, int64(len(k.all))); at >= int64(m.Len); at-- {
		if k.is(at, m) {
			return int(at), true
		}
	}
	return 0, false
}

func (k kept) is(at int64, m Mark) bool {
	return m.Len > 0 && at >= int64(m.Len) && at <= int64(len(k.all)) && sum(k.all[at-int64(m.Len):at]) == m.Sum
}

func (k kept) mark(at int) Mark {
	n := min(at, summed)
	return Mark{At: int64(at) + k.origin, Len: n, Sum: sum(k.all[at-n : at])}
}

func sum(b []byte) uint64 { return crc64.Checksum(b, crc64.MakeTable(crc64.ECMA)) }

func (k kept) output(from int, ended bool) Output {
	chunk := k.all[from:min(len(k.all), from+maxChunk)]
	n := whole(chunk)
	if ended && from+len(chunk) == len(k.all) {
		n = len(chunk)
	}
	out := Output{Text: chunk[:n], Next: k.mark(from + n)}
	if from+len(chunk) == len(k.all) {
		out.Rest = chunk[n:]
	}
	return out
}

// whole is how much of a chunk can be told by itself: whole lines, and no block
// (a key, a certificate) without its end.
func whole(chunk []byte) int {
	n := bytes.LastIndexByte(chunk, '\n') + 1
	if n == 0 && len(chunk) == maxChunk {
		return len(chunk)
	}
	begin := bytes.LastIndex(chunk[:n], []byte("-----BEGIN "))
	if begin >= 0 && n-begin < maxBlock && !bytes.Contains(chunk[begin:n], []byte("-----END ")) {
		return bytes.LastIndexByte(chunk[:begin], '\n') + 1
	}
	return n
}

// String is a mark as ParseMark reads it.
func (m Mark) String() string { return fmt.Sprintf("%d.%d.%x", m.At, m.Len, m.Sum) }

// ParseMark reads a mark.
func ParseMark(text string) (m Mark, err error) {
	if _, err = fmt.Sscanf(text, "%d.%d.%x", &m.At, &m.Len, &m.Sum); err != nil || m.Len < 0 || m.Len > summed || m.String() != text {
		return Mark{}, fmt.Errorf("cannot read the mark %q", text)
	}
	return m, nil
}
