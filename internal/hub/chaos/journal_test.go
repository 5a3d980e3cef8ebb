//go:build linux

package chaos

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// uptime is CLOCK_BOOTTIME, as this process has it.
func uptime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it is there since Linux 2.6.39
	return time.Duration(ts.Nano())
}

// lines is a file to which JSON objects are appended, one a line: what was written outlives the
// process that wrote it. It is safe for concurrent use.
type lines struct {
	mu sync.Mutex
	f  *os.File
}

func openLines(path string) (*lines, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &lines{f: f}, err
}

// add appends one; sync has it on the disk as well.
func (l *lines) add(v any, sync bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err = l.f.Write(append(text, '\n')); err == nil && sync {
		err = l.f.Sync()
	}
	return err
}

// readLines reads a file of lines. Of a process that was killed the last one may be cut short: it is
// passed over.
func readLines[T any](path string) (out []T, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var v T
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// readJournals reads those of all hosts in a folder, in the order of time.
func readJournals(t *testing.T, dir string) (all []entry) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no journals in %s: %v", dir, err)
	}
	for _, file := range files {
		one, err := readLines[entry](file)
		if err != nil {
			t.Fatalf("cannot read %s: %v", file, err)
		}
		all = append(all, one...)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return int(a.At - b.At) })
	return all
}
