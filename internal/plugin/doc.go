// Package plugin reads plugins: folders with a plugin.md, whose front matter
// says when (the gate) and how (a script, or an agent) it is run, and whose text
// tells an agent what to do. It takes bytes and returns values, and runs nothing.
//
// The front matter is YAML between lines of ---, or TOML between lines of +++, as
// the patrols of Gas Town have them. What is wrong is told with file and line; a
// key that is not known is an error, since a gate with a slip in it would never
// open, or always.
package plugin
