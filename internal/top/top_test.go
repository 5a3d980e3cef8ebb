package top

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Who tells of changes is listened to again a second after they stopped, and that they did
// is said once; who never told is not.
func TestWatchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		asked, heard := 0, []bool{}
		o := Options{Watch: func(_ context.Context, changed func()) error {
			if asked++; asked == 2 {
				changed()
				changed()
			}
			return errors.New("gone")
		}}
		watch(ctx, o, func(msg tea.Msg) { heard = append(heard, msg.(changeMsg).live) })
		if asked != 5 || !slices.Equal(heard, []bool{true, true, false}) {
			t.Errorf("asked %d times, heard %v", asked, heard)
		}
	})
}
