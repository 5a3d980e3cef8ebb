// Package hookwire is what custos-hook and the daemon say to each other. An
// agent CLI runs custos-hook at each of its hooks; custos-hook posts what it was
// told to a unix socket, and spools it to a folder when it is not acknowledged
// in time. In go the hook's own words (a Post); out comes an Ack.
//
// Besides the reader of /proc/PID/stat it is the standard library only, and little
// of that: custos-hook has to start and end within 3 ms, inside of another program's
// turn.
//
// Promises: an event that was acknowledged is in the daemon's store; one that
// was not is in the spool, unless the spool is full, when the oldest goes and is
// counted. The same event may come by both ways: its ID tells.
package hookwire

import "path/filepath"

// Socket is where the daemon listens, below its run folder.
func Socket(run string) string { return filepath.Join(run, "hook.sock") }

// SpoolDir is where events wait that were not acknowledged.
func SpoolDir(run string) string { return filepath.Join(run, "spool") }
