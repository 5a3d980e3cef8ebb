// Package policy says what speaks against a call of a tool by an agent's CLI: values in (the
// call, where the agent works, the rules), values out (deny, ask, warn, or nothing). It never
// says that something is allowed: that would skip what the CLI itself asks people.
//
// A command of a shell is read into the simple commands that it would run, and what each
// would touch. What cannot be told from the text alone is opaque, with the reason, and the
// rules say what then. Links of the file system are not followed here: this is advice that
// stops accidents, and no boundary.
package policy
