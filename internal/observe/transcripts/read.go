package transcripts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/tail"
)

// window is how much of a file's end is read to know what a conversation is at.
const window = 256 << 10

// prime reads of a file what conversation it is, and what it was at before an offset; and
// says from where it is to be read on. Of a large file its first lines and its last are read.
// Lines that cannot be read tell nothing.
func prime(f file, before int64) (*conversation.Transcript, tail.Place, error) {
	size := min(f.info.Size, before)
	t := conversation.NewTranscript(f.kind, f.language, f.path, size <= window)
	from := tail.Place{}
	if size == 0 {
		return t, from, nil
	}
	if size > window {
		if _, err := entries(f, from, tail.Limits{Bytes: 1}, before, t.About); err != nil {
			return nil, from, err
		}
		var err error
		if from, err = tail.Last(f.path, window+f.info.Size-size); err != nil {
			return nil, from, err
		}
	}
	r, err := entries(f, from, tail.Limits{}, before, func(e conversation.Entry) { t.Take(e) })
	if cwd := heldIn(f); cwd != "" {
		t.About(conversation.Entry{CWD: cwd, Side: t.Side()})
	}
	return t, r.Next, err
}

// mostPath is more than any path has, in bytes.
const mostPath = 4096

// heldIn is the folder in which a conversation is held, where a file above it says so.
func heldIn(f file) string {
	if f.folder == "" {
		return ""
	}
	dir := filepath.Dir(f.path)
	for range 3 {
		dir = filepath.Dir(dir)
		if text, err := files.Read(filepath.Join(dir, f.folder), mostPath); err == nil {
			return fleet.Path(strings.TrimRight(string(text), "\n"))
		}
	}
	return ""
}

// entries gives what the lines tell that begin before an offset. A line that cannot be read
// may be torn, or of a newer version: it tells nothing.
func entries(f file, from tail.Place, limits tail.Limits, before int64, give func(conversation.Entry)) (tail.Reading, error) {
	return tail.Read(f.path, from, limits, func(at int64, line []byte) {
		if at >= before {
			return
		}
		told, _ := conversation.Read(f.language, line)
		for _, e := range told {
			give(e)
		}
	})
}

// vanished says whether an error is that a file is gone.
func vanished(err error) bool { return errors.Is(err, fs.ErrNotExist) }
