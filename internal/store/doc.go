// Package store keeps what Custos remembers in one SQLite database: alerts,
// actions and their results, agents, silences, the outbox and the event log. It
// holds the only SQL of the project, and fits the ports that its consumers
// declare.
//
// What it promises:
//   - A turn is committed whole or not at all, and is on the disk when Commit
//     returns (synchronous=FULL).
//   - An action begins at most once: Start succeeds for one caller only, in
//     whatever process.
//   - What a person said (acknowledged, silenced) is in columns and
//     tables that no pass writes, so a pass that began earlier cannot undo it.
//   - A row that cannot be read is moved to set_aside and reported; a database
//     that cannot be read is renamed, never deleted, and the new one says
//     amnesia until a person confirms. Neither stops anything. One that is deleted
//     or replaced while it is open is written out whole to a new file.
//   - A database written by a newer Custos is refused, untouched.
package store
