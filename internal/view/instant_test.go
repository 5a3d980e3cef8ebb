package view

import (
	"time"

	"custos/internal/fleet"
)

func instant(after time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}.Add(after)
}
