package rotatelog

import (
	"fmt"
	"strconv"
	"strings"
)

// parseBytes reads "10MiB", "512KiB", "1GiB" or a plain number of bytes.
func parseBytes(s string) (int64, error) {
	shift := 0
	number := strings.TrimSpace(s)
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, shift = strings.TrimSpace(rest), 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1<<32 {
		return 0, fmt.Errorf("cannot read size %q: want a number such as 10MiB, 512KiB or 1GiB", s)
	}
	return n << shift, nil
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30 || n <= -1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20 || n <= -1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}
