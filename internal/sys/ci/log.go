package ci

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"custos/internal/sys/httpjson"
)

// Limits of logs.
const (
	tailBytes = 64 << 10 // of a log are kept, from its end
	mostLog   = 32 << 20 // are read to get there
	mostSteps = 10       // of one pipeline have their logs read
)

// tail reads a log through and keeps its end.
func tail(from io.Reader) (string, error) {
	kept, total := make([]byte, 0, 2*tailBytes), 0
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		kept, total = append(kept, buf[:n]...), total+n
		if total > mostLog {
			return "", fmt.Errorf("the log has more than %d bytes", mostLog)
		}
		if len(kept) > 2*tailBytes-len(buf) {
			kept = append(kept[:0], kept[len(kept)-tailBytes:]...)
		}
		switch {
		case errors.Is(err, io.EOF):
			return string(kept[max(0, len(kept)-tailBytes):]), nil
		case err != nil:
			return "", fmt.Errorf("the log broke off: %w", httpjson.Plain(err))
		}
	}
}

// clip cuts what a server writes where a few words belong.
func clip(s string) string { return s[:min(len(s), 4<<10)] }

// exits are the ways in which the logs of Actions tell the exit status of a step.
var exits = regexp.MustCompile(`(?i)(?:process completed with exit code|exitcode '?:?|exit status|failure: exit code) ?'?(\d{1,3})\b`)

// exitOf is the last exit status that a log tells, -1 for none.
func exitOf(log string) int {
	found := exits.FindAllStringSubmatch(log, -1)
	if len(found) == 0 {
		return -1
	}
	n, err := strconv.Atoi(found[len(found)-1][1])
	if err != nil {
		return -1
	}
	return n
}
