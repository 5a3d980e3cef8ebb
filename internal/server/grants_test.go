package server

import (
	"context"
	"time"

	"custos/internal/fleet"
)

// granting takes every grant.
type granting struct{}

func (granting) Grant(context.Context, fleet.Registration, string, bool, time.Time, fleet.Event) error {
	return nil
}
