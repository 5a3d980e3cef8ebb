// Package gates says what becomes of gates in a pass: those whose time has come are closed,
// and who waits for them is told; those that steps of formulas await are made. How a gate
// stands is ledger's to tell (ledger.WatchGates).
package gates
