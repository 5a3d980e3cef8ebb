package daemon

import (
	"context"
	"errors"
	"testing"
)

// A watch that is refused is seen by the probe of Custos itself.
func TestARefusedWatchIsSeen(t *testing.T) {
	s := watching(t)
	if v := selfSeen(t, s); v.Unwatched != "" {
		t.Errorf("all is followed, and: %q", v.Unwatched)
	}
	s.part(t.Context(), "watch files", func(context.Context) error { return errors.New("no space left on device") })
	if v := selfSeen(t, s); v.Unwatched != "watch files: no space left on device" {
		t.Errorf("a watch was refused, and: %q", v.Unwatched)
	}
}
