package server

import (
	"context"

	"custos/internal/api"
	"custos/internal/fleet"
)

// granting takes every grant.
type granting struct{}

func (granting) Grant(context.Context, fleet.Registration, api.Granted, fleet.Event) error {
	return nil
}
