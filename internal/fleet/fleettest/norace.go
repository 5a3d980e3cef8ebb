//go:build !race

package fleettest

// Raced says whether the tests run with the race detector.
const Raced = false
