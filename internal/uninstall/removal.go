// Package uninstall removes what Custos made for itself, and says what would go and what stays.
// Nothing of it asks the daemon, the database or the configuration of agents.
package uninstall

import "custos/internal/sys/files"

// Living is an agent of ours that runs.
type Living struct {
	Name string
	PID  int
}

// Removal is what goes, or would, and what stays beside it.
type Removal = files.Removal
