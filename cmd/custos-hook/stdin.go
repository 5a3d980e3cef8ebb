package main

import (
	"encoding/json"
	"errors"
	"syscall"
	"time"
)

// maxStdin is the most of the standard input that is kept, in bytes; the rest is
// read and dropped, so that the CLI's write does not fail.
const maxStdin = 1 << 20

// complete says whether a JSON text is whole. One that is large is only looked through where it
// ends as an object does: each look costs as much as all that has come.
func complete(b []byte) bool {
	return (len(b) < maxStdin/4 || b[len(b)-1] == '}' || b[len(b)-1] == '\n') && json.Valid(b)
}

// readStdin reads the standard input to its end, but no longer than wait, and
// not beyond a complete JSON text when nothing more is there.
func readStdin(wait time.Duration, most int) []byte {
	var kept []byte
	buf := make([]byte, 64<<10)
	for until := time.Now().Add(wait); ; {
		ready, err := readable(0)
		if err == nil && !ready && !complete(kept) {
			ready, err = readable(time.Until(until))
		}
		if err != nil || !ready {
			return kept
		}
		n, err := syscall.Read(0, buf)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
			n = 0
		case err != nil || n <= 0:
			return kept
		}
		kept = append(kept, buf[:min(n, most-len(kept))]...)
		if !time.Now().Before(until) {
			return kept
		}
	}
}
