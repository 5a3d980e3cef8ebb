package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestMirrorLosesNoCommit: four writers and one reader. What was committed is in
// memory too, however the machine shares out its time.
func TestMirrorLosesNoCommit(t *testing.T) {
	for name, each := range map[string]int{"idle": 150, "starved": 40} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			if name == "starved" {
				starve(t)
			}
			ctx, done := context.WithCancel(t.Context())
			var writers, reader sync.WaitGroup
			reader.Go(func() {
				for ctx.Err() == nil {
					_, _ = s.Past(ctx, at(0))
				}
			})
			for w := range 4 {
				writers.Go(func() {
					for n := range each {
						answered(t, s, fmt.Sprintf("o%d-%d", w, n))
					}
				})
			}
			writers.Wait()
			done()
			reader.Wait()
			if open := past(t, s, at(0)).Orders; len(open) != 0 {
				t.Errorf("%d of %d orders are open in memory, none in the database", len(open), 4*each)
			}
		})
	}
}

// TestNobodyWritesBeforeTheOneBeforeIsMadeGood: a transaction whose caller went
// away gives its connection back at once, beside its caller. Rows that another
// writes there would be taken for its own, and read before they are committed.
func TestNobodyWritesBeforeTheOneBeforeIsMadeGood(t *testing.T) {
	s := fresh(t)
	ctx, leave := context.WithCancel(t.Context())
	err := s.write(ctx, "be abandoned", at(0), func(tx *tx) error {
		if err := tx.takeOrder(fleet.Order{ID: "abandoned", Do: fleet.OrderStop, State: fleet.OrderOpen}); err != nil {
			return err
		}
		leave()
		soon, end := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer end()
		if _, _, err := s.TakeOrder(soon, fleet.Order{ID: "next", Do: fleet.OrderStop, At: at(0)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("another writes between: %v", err)
		}
		return ctx.Err()
	})
	wantErr(t, err, context.Canceled)
	answered(t, s, "next")
	if p := past(t, s, at(0)); len(p.Orders) != 0 {
		t.Errorf("in memory: %+v", p.Orders)
	}
}

// answered takes an order and ends it.
func answered(t *testing.T, s *Store, id string) {
	t.Helper()
	if _, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: id, Do: fleet.OrderStop, At: at(0)}); err != nil {
		t.Error(err)
	}
	if err := s.EndOrder(t.Context(), id, fleet.OrderRefused, "", at(0)); err != nil {
		t.Error(err)
	}
}

// starve keeps every core busy until the test ends.
func starve(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	t.Cleanup(func() { close(stop); busy.Wait() })
}
