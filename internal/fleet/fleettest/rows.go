package fleettest

import "custos/internal/fleet"

// Rows is a plan that does nothing but leave these rows behind.
func Rows(c fleet.Changes) fleet.Plan { return fleet.Plan{Follows: fleet.Follows{Changes: c}} }
