// Package runs says what becomes of the runs of formulas in a pass: which schedules begin
// one (Due), and what the facts mean for those there are (Advance).
package runs
