// Package fleet holds the words of Custos: what was seen (Snapshot), what it
// means (Rule, Finding, Alert), what will be done (Plan, Action, Skipped) and
// what became of it (Result). It is pure data: no I/O, no clock, no globals.
//
// Every value survives a round trip through JSON byte for byte, because a
// recording is nothing but these values. JSON names, CEL names and the words of
// docs/glossary.md are the same.
package fleet
