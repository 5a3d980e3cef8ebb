// Package rules reads the rule table and answers its expressions. In go TOML
// text (the built-in table, then the `rule` tables of custos.toml) and a
// snapshot; out come verdicts of three values: true, false, not known.
//
// Expressions are CEL over a typed vocabulary (vocabulary*.go). The accessor of
// a value that was not seen answers CEL's own Unknown, which CEL carries
// through &&, || and comprehensions as logic demands; an expression therefore
// never needs to ask whether something was seen, and cannot forget to. That is
// also why has() is missing.
//
// The package is pure: a Set, once parsed, is never changed, and any number of
// goroutines may evaluate it, each with Views of its own.
package rules
