package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"custos/internal/fleet"
)

// Duration reads "20m", "1h30m", "1d" or "7d12h". A day is 24 hours.
func Duration(s string) (time.Duration, error) { return fleet.ParseDuration(s) }

var budget = regexp.MustCompile(`^\s*(\d{1,6})\s+in\s+(\S+)\s*$`)

// ParseBudget reads "20 in 1h".
func ParseBudget(s string) (Budget, error) {
	m := budget.FindStringSubmatch(s)
	if m == nil {
		return Budget{}, fmt.Errorf(`%q is no budget: write it like "20 in 1h"`, s)
	}
	n, _ := strconv.Atoi(m[1]) // at most six digits
	if n == 0 {
		return Budget{}, fmt.Errorf(`%q is no budget: it allows nothing at all`, s)
	}
	in, err := Duration(m[2])
	if err != nil {
		return Budget{}, err
	}
	if in == 0 {
		return Budget{}, fmt.Errorf(`%q is no budget: its window is empty`, s)
	}
	return Budget{Max: n, In: in}, nil
}

// String returns "20 in 1h0m0s".
func (b Budget) String() string { return fmt.Sprintf("%d in %s", b.Max, b.In) }
