// Package cli is the command line of Custos: one file a command. A command asks
// through package api, of the daemon when one answers and of handlers in this
// very process when none does, and puts the answer into words or, with --json,
// hands it on as it is.
//
// Exit codes: 0 well, 1 alerts at or above --fail-on, 2 bad use or input,
// 3 could not look.
package cli
