package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"regexp"
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
// be taken for a process that has ended. A lock of another host is an error too: in JSON
// its "host" or "hostname", in text what says so, or a word that may be a host's name where
// such locks have it, behind the pid or alone in the line after it.
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
	if err := ofThisHost(hostsIn(words[1:], string(content))...); err != nil {
		return 0, err
	}
	return parsePID(words[0])
}

// hostsIn are the words of a text lock that name a host, or may.
func hostsIn(behind []string, content string) (hosts []string) {
	_, after, _ := strings.Cut(content, "\n")
	next, _, _ := strings.Cut(after, "\n")
	if alone := strings.Fields(next); len(alone) == 1 && mayBeHost(alone[0]) {
		hosts = alone
	}
	if len(behind) > 0 && mayBeHost(behind[0]) {
		hosts = append(hosts, behind[0])
	}
	for _, m := range saidHost.FindAllStringSubmatch(content, -1) {
		hosts = append(hosts, m[1])
	}
	return hosts
}

var (
	saidHost = regexp.MustCompile(`(?i)\bhost(?:name)?[ \t]*[=:][ \t]*([^\s,;]+)`)
	hostName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)
)

// mayBeHost says whether a word may be the name or the address of a host; a number or a
// time is none.
func mayBeHost(word string) bool {
	_, err := netip.ParseAddr(word)
	return err == nil || hostName.MatchString(word) && strings.ContainsFunc(word, unicode.IsLetter)
}

// ofThisHost returns an error where a host is named that is not this one.
func ofThisHost(hosts ...string) error {
	here, err := os.Hostname()
	for _, host := range hosts {
		if host != "" && host != "localhost" && (err != nil || !strings.EqualFold(host, here)) {
			return fmt.Errorf("cannot tell: the lock is of host %q", short(host))
		}
	}
	return nil
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
	if err := ofThisHost(lock.Host, lock.Hostname); err != nil {
		return 0, err
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
