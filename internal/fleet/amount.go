package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest is more than anybody waits for: ten years.
const longest = 3660 * 24 * time.Hour

var days = regexp.MustCompile(`^(\d{1,9})d`)

// ParseDuration reads what a person wrote: "20m", "1h30m", "1d" or "7d12h". A day is
// 24 hours.
func ParseDuration(s string) (time.Duration, error) {
	var whole time.Duration
	rest := s
	if m := days.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most nine digits
		if n > int(longest/(24*time.Hour)) {
			return 0, fmt.Errorf("%q is more than ten years", Line(s, 40))
		}
		if whole, rest = time.Duration(n)*24*time.Hour, s[len(m[0]):]; rest == "" {
			rest = "0s"
		}
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil || d < 0 || strings.HasPrefix(rest, "+"):
		return 0, fmt.Errorf(`%q is no duration: write it like "90s", "20m", "2h" or "1d"`, Line(s, 40))
	case d > longest || whole+d > longest:
		return 0, fmt.Errorf("%q is more than ten years", s)
	}
	return whole + d, nil
}

// ParseSize reads what a person wrote: "2000MiB", "4GiB", "512KiB", "80B" or a plain
// number of bytes.
func ParseSize(s string) (int64, error) {
	number, shift := s, 0
	for _, unit := range []struct {
		name  string
		shift int
	}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"B", 0}} {
		if rest, ok := strings.CutSuffix(s, unit.name); ok {
			number, shift = strings.TrimSpace(rest), unit.shift
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<60>>shift {
		return 0, fmt.Errorf(`%q is no size: write it like "512KiB", "200MiB" or "4GiB"`, Line(s, 40))
	}
	return n << shift, nil
}
