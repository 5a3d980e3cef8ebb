package engine

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// Whatever an engine writes, its figures are plausible or there are none.
func FuzzUsage(f *testing.F) {
	f.Add(`{"read":"2026-11-20T09:00:00Z","cpu_stats":{"cpu_usage":{"total_usage":5}},"memory_stats":{"usage":400,"stats":{"inactive_file":100}}}`)
	f.Add(`{"read":"2026-11-20T09:00:00Z","cpu_stats":{"cpu_usage":{"total_usage":18446744073709551615}},"memory_stats":{"usage":18446744073709551615}}`)
	f.Add(`{"read":"0001-01-01T00:00:00Z","memory_stats":{}}`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := readUsage(json.NewDecoder(strings.NewReader(text)))
		if err == nil && (u.Memory < 0 || u.CPU < 0 || u.At.IsZero()) || err != nil && u != (Usage{}) {
			t.Errorf("%q gave %+v, %v", text, u, err)
		}
	})
}

func TestSizesDoNotOverflow(t *testing.T) {
	if got := plus(math.MaxInt64-1, 5); got != math.MaxInt64 {
		t.Errorf("the sum is %d", got)
	}
}
