package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxSmall is how many bytes of a lock or phase file are read.
const MaxSmall = 4096

// pidMax is the highest pid Linux can be set to give (PID_MAX_LIMIT).
const pidMax = 1 << 22

// LockPID reads the content of a pid lock: a decimal pid as the first word
// ("123", "  123 host"), "pid=123" or "pid: 123", or a JSON object with a "pid".
// Anything else is an error, never a guess: a number that is no pid must not
// be taken for a process that has ended. A JSON lock of another host is an error too.
func LockPID(content []byte) (int, error) {
	if len(content) >= MaxSmall {
		return 0, fmt.Errorf("cannot read a pid: more than %d bytes", MaxSmall-1)
	}
	content = bytes.TrimSpace(content)
	if len(content) == 0 {
		return 0, fmt.Errorf("cannot read a pid: the file is empty")
	}
	if content[0] == '{' {
		return jsonPID(content)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	lower := strings.ToLower(first)
	for _, prefix := range []string{"pid=", "pid:"} {
		if rest, ok := strings.CutPrefix(lower, prefix); ok {
			first = rest
		}
	}
	words := strings.Fields(first)
	if len(words) == 0 {
		return 0, fmt.Errorf("cannot read a pid: the first line is empty")
	}
	return parsePID(words[0])
}

func jsonPID(content []byte) (int, error) {
	var lock struct {
		PID      *json.Number `json:"pid"`
		Host     string       `json:"host"`
		Hostname string       `json:"hostname"`
	}
	if err := json.Unmarshal(content, &lock); err != nil {
		return 0, fmt.Errorf("cannot read a pid: %w", err)
	}
	if lock.PID == nil {
		return 0, fmt.Errorf(`cannot read a pid: no "pid" in the JSON`)
	}
	here, err := os.Hostname()
	for _, host := range []string{lock.Host, lock.Hostname} {
		if host != "" && (err != nil || host != here) {
			return 0, fmt.Errorf("cannot tell: the lock is of host %q", host)
		}
	}
	return parsePID(lock.PID.String())
}

// parsePID takes digits only: no sign, no point, no exponent.
func parsePID(word string) (int, error) {
	for _, r := range word {
		if r < '0' || r > '9' {
			return 0, fmt.Errorf("cannot read a pid: %q is no number", short(word))
		}
	}
	pid, err := strconv.Atoi(word)
	if err != nil || pid < 1 || pid > pidMax {
		return 0, fmt.Errorf("cannot read a pid: %q is none", short(word))
	}
	return pid, nil
}

// short bounds what is quoted of a file.
func short(s string) string {
	if utf8.RuneCountInString(s) > 40 {
		return string([]rune(s)[:40]) + "…"
	}
	return s
}

// PhaseLine reads the content of a phase file: "PHASE:escalate reason" on the
// first line; without a reason there, "Reason: …" on the second. The phase is
// in lower case. Anything else is an error.
func PhaseLine(content []byte) (phase, reason string, err error) {
	first, rest, _ := strings.Cut(string(content), "\n")
	word, ok := strings.CutPrefix(strings.TrimSpace(first), "PHASE:")
	if !ok {
		return "", "", fmt.Errorf("cannot read a phase: the first line is %q, want PHASE:word", short(first))
	}
	phase, reason, _ = strings.Cut(word, " ")
	if phase == "" || strings.ContainsFunc(phase, notInPhase) || len(phase) > 40 {
		return "", "", fmt.Errorf("cannot read a phase: %q is no word", short(phase))
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		second, _, _ := strings.Cut(rest, "\n")
		if r, ok := strings.CutPrefix(second, "Reason:"); ok {
			reason = strings.TrimSpace(r)
		}
	}
	return strings.ToLower(phase), reason, nil
}

func notInPhase(r rune) bool {
	return r > unicode.MaxASCII || r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
