// Package files reads, finds and sets aside the small files that fleets leave
// about: locks, phase files, logs. Paths in and out are raw, as the kernel
// knows them. Finding and reading never follow a symbolic link that a pattern
// matched, never open anything but regular files, and are bounded in time,
// memory and bytes. What writes, SetAside among them, replaces nothing.
package files
