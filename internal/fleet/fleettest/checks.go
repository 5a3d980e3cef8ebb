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
