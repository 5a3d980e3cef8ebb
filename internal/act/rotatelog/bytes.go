package rotatelog

import (
	"fmt"

	"custos/internal/fleet"
)

// parseBytes reads "10MiB", "512KiB", "1GiB" or a plain number of bytes.
func parseBytes(s string) (int64, error) {
	n, err := fleet.ParseSize(s)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q is nothing", s)
	}
	return n, err
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
