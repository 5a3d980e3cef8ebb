package cli

import (
	"slices"
	"testing"
)

// How many arguments a command takes is what its usage says.
func TestArgumentsAreAsTheUsageSays(t *testing.T) {
	for use, fits := range map[string][]int{
		"status": {0}, "show NAME": {1}, "why [NAME]": {0, 1}, "step RUN STEP": {2}, "add ID REF...": {2, 3, 4},
		"wait NAME --for STATE": {1}, "explain --screen FILE": {0}, "why [not] NUMBER": {1, 2},
	} {
		for n := range 5 {
			if err := wanted(use)(nil, make([]string, n)); (err == nil) != slices.Contains(fits, n) {
				t.Errorf("%q with %d arguments: %v", use, n, err)
			}
		}
	}
}
