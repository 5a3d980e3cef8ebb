// Package assess is stage 2 of the cycle: a snapshot and what is remembered go
// in; findings (rules true of a subject now) and alerts (their lives) come out.
//
// It is pure: the same inputs give the same bytes. Snapshot.At is the only now.
// Three rules hold everywhere: what was not seen neither fires nor ends an
// alert; only an answer of false, or a subject that is gone from a part that was
// well seen, ends one; and while the clock is behind what was recorded, nothing
// that depends on time moves.
package assess
