package triage

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// hash names the evidence by what does not change while nothing happens: no
// times, no measured loads, no spinners, and not what was said of it before, or
// each verdict would be a reason to ask again. What was tried meanwhile is a
// reason.
func (e evidence) hash() (string, error) {
	e.Now, e.Times, e.Verdicts, e.Unseen = "", nil, nil, nil
	e.Why, e.Agent.Reason, e.Agent.Source = "", "", ""
	e.Agent.Signals = hints(e.Agent.Signals)
	e.Screen, e.Output = timeless(e.Screen), timeless(e.Output)
	text, err := encode(e)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), err
}

// hints is what the signals mean, without their words, which hold numbers.
func hints(all []signalSeen) (out []signalSeen) {
	for _, s := range all {
		if s.Hint != "" {
			out = append(out, signalSeen{Source: s.Source, Hint: s.Hint})
		}
	}
	slices.SortFunc(out, func(a, b signalSeen) int { return strings.Compare(a.Source+"\x00"+a.Hint, b.Source+"\x00"+b.Hint) })
	return slices.Compact(out)
}

var (
	// passing is a duration or a time of day, as a status line counts it.
	passing = regexp.MustCompile(`\b(?:\d+(?:\.\d+)?\s?(?:seconds?|minutes?|hours?|days?|secs?|mins?|ms|[smhd])\s?)+\b|\b\d{1,2}:\d{2}(?::\d{2})?\b`)
	// turning are the signs that spinners are made of.
	turning = regexp.MustCompile(`[\x{2800}-\x{28FF}✢✳✶✻✽·∗*|/\\◐◓◑◒◴◷◶◵-]`)
)

func timeless(lines []string) (out []string) {
	for _, l := range lines {
		l = strings.Join(strings.Fields(turning.ReplaceAllString(passing.ReplaceAllString(l, "#"), "")), " ")
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}
