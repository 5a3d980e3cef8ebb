package conversation

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	limitEpoch = regexp.MustCompile(`\|(\d{10})(?:\D|$)`)
	limitAfter = regexp.MustCompile(`(?i)(?:try again|resets?) in ((?:\d+ ?(?:days?|d|hours?|h|minutes?|mins?|m|seconds?|secs?|s)[ ,]*(?:and )?)+)`)
	limitPart  = regexp.MustCompile(`(\d+) ?([dhms])`)
	limitClock = regexp.MustCompile(`(?i)(?:resets|try again at|reset at) (?:at )?(\d{1,2})(?::(\d{2}))? ?(am|pm)? (?:\(?UTC\)?|\(([A-Za-z_]+(?:/[A-Za-z0-9_+-]+){1,2})\))`)
)

// limitReset is when a limit is reset, as the text of a CLI says it, which it wrote at a
// time; zero where it does not say that, or says it in a time zone that is not known.
func limitReset(text string, at time.Time) time.Time {
	text = clipped(text)
	if m := limitEpoch.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseFloat(m[1], 64) // ten digits
		return Epoch(&seconds)
	}
	if at.IsZero() {
		return time.Time{}
	}
	if m := limitAfter.FindStringSubmatch(text); m != nil {
		return at.Add(limitDuration(m[1]))
	}
	if m := limitClock.FindStringSubmatch(text); m != nil {
		return nextClock(m[1], m[2], strings.ToLower(m[3]), m[4], at)
	}
	return time.Time{}
}

func limitDuration(text string) (d time.Duration) {
	unit := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}
	for _, m := range limitPart.FindAllStringSubmatch(strings.ToLower(text), 8) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 1e6 {
			return 0
		}
		d += time.Duration(n) * unit[m[2]]
	}
	return d
}

// nextClock is the first time after another one at which a clock in a zone, or in UTC, shows
// an hour and a minute; zero where the zone is not known here.
func nextClock(hour, minute, half, zone string, after time.Time) time.Time {
	in, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}
	}
	after = after.In(in)
	h, _ := strconv.Atoi(hour) // digits, as is the minute, which may be missing
	m, _ := strconv.Atoi(minute)
	switch {
	case half == "pm" && h < 12:
		h += 12
	case half == "am" && h == 12:
		h = 0
	}
	if h > 23 || m > 59 {
		return time.Time{}
	}
	at := time.Date(after.Year(), after.Month(), after.Day(), h, m, 0, 0, in)
	if !at.After(after) {
		at = at.AddDate(0, 0, 1)
	}
	return at.UTC()
}
