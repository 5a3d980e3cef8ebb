// Package formula reads formulas: workflows in TOML, of named steps with needs.
//
//	Parse      bytes → formula, and every mistake and every key that is not acted on, each with its place
//	Resolve    + the formulas it builds on (extends, compose, expand, advice, overlays) → one formula
//	Check      resolved formula → mistakes that would spoil a run
//	Render     + values of its variables → plain steps with needs: no loop, child, leg or placeholder is left
//	Graph      what follows what, in waves; as text and for Graphviz
//	Commands   the commands its text names, for lint
//	Prompt     what an agent is told that works on its prose
//
// Nothing here runs anything, reads a file or knows the time. The value of a
// variable is data: it reaches a script as an environment variable and a
// command as one argument, and never becomes part of a shell's text.
package formula
