// Package api holds what travels between Custos and who asks it: the view
// models of every answer, for people and machines alike, and the client that
// asks. It imports nothing of ours, so that a program of someone else's can be
// built on it alone.
//
// Times are UTC. Durations are texts of Go's form ("1h30m0s"), and empty when
// they are not known. Sizes are bytes, and a *int64 is nil when it is not known.
// Texts are safe to show: terminal escapes are gone and secrets redacted.
package api
