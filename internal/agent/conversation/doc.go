// Package conversation reads what agent CLIs write of their conversations with a model:
// transcripts, which are the files (or the database) that each keeps, and outputs, which
// are what one prints that runs without a terminal. Both are one JSON object a line, in a
// language of the CLI's own; out come entries and events in ours. It is pure: lines go in.
//
// What is told there, hooks tell too, and of all of them the same is kept: of a prompt its
// hash and its first words, of a tool's call some of its arguments, of a failure its name.
package conversation
