// Package scenario reads stories: what is seen at some moments, and what is to be
// thought of it. docs/simulate.md has the language. A story goes in as text and comes
// out as snapshots and wants; who judges them is somebody else.
package scenario
