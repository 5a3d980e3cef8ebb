package fleettest

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// checksFlag is rapid's flag for the number of cases of a property.
const checksFlag = "rapid.checks"

// Checks has each property of this test tried with n cases, and of the tests after
// it with as many as before. What the command line asks for goes before.
func Checks(t testing.TB, n int) {
	t.Helper()
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), checksFlag) }) {
		return
	}
	before := flag.Lookup(checksFlag).Value.String()
	set := func(n string) {
		if err := flag.Set(checksFlag, n); err != nil {
			t.Fatal(err)
		}
	}
	set(strconv.Itoa(max(n, 1)))
	t.Cleanup(func() { set(before) })
}

// Histories is how many random histories are asked for: CUSTOS_HISTORIES, or 300.
func Histories(t testing.TB) int {
	t.Helper()
	s := os.Getenv("CUSTOS_HISTORIES")
	if s == "" {
		return 300
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("cannot read CUSTOS_HISTORIES: %v", err)
	}
	return n
}

// WithoutRace skips a test under the race detector, which has nothing to find in what
// runs for long in one goroutine, and takes ten times as long over it: `make histories`
// runs each test that asks for this without it.
func WithoutRace(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("one goroutine for long: make histories runs it, without the race detector")
	}
}

// FewRaced has each property of this test tried 10 times under the race detector, and
// as often as ever without it: what is pure has nothing for it to find. `make histories`
// tries all.
func FewRaced(t testing.TB) {
	t.Helper()
	if Raced {
		Checks(t, 10)
	}
}
