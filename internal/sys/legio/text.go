package legio

import (
	"fmt"
	"strconv"
	"time"
)

// layouts are the forms in which moments are written: by JavaScript, and by
// SQLite itself, which leaves out that it means UTC.
func layouts() []string {
	return []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}
}

// moment reads a time; the zero one for nothing.
func moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range layouts() {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time", text)
}

// pid reads a process number; 0 for none.
func pid(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%.40q is no process", text)
	}
	return int(n), nil
}
