package decide

import (
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// clock writes an instant for people, UTC.
func clock(i fleet.Instant) string {
	if i.IsZero() {
		return "never"
	}
	return i.Wall.UTC().Format("2006-01-02 15:04:05Z")
}

// outcome says what became of a try.
func outcome(r *fleet.ActionRecord) string {
	if r.Result == nil || r.Result.Status == "" {
		return "outcome unknown"
	}
	return strings.ReplaceAll(string(r.Result.Status), "_", " ")
}

func number(a *fleet.Alert) string { return strconv.FormatInt(a.Number, 10) }

func hintAck(a *fleet.Alert) string { return "custos ack " + number(a) }

// word quotes what a shell would not take as one plain word.
func word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
