package observetest_test

import (
	"context"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
)

func TestFakePasses(t *testing.T) {
	observetest.Test(t, func() observe.Probe {
		return &observetest.Fake{
			Of: observe.Spec{Name: "fake", Part: fleet.PartExtra, Every: time.Second, Deadline: time.Second},
			Do: func(context.Context) (observe.Put, error) { return observetest.Facts("a"), nil },
		}
	})
}
