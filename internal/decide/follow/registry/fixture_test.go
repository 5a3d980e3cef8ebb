package registry

import (
	"time"

	"custos/internal/fleet"
)

func at(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC).Add(d), Up: fleet.Duration(time.Hour + d), Boot: "b"}
}

func reg(name string) fleet.Registration {
	return fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos}
}
