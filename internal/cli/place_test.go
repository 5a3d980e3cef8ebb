package cli

import (
	"context"
	"errors"
	"testing"

	"custos/internal/api"
)

// TestWhatIsNotTaken: a second host is asked only where it is certain that the first one took nothing.
func TestWhatIsNotTaken(t *testing.T) {
	for kind, want := range map[string]bool{api.Unreachable: true, api.Forbidden: true, api.NotFound: true, api.BadInput: true,
		api.Lost: false, api.Internal: false, api.CannotLook: false, api.Held: false, api.Unseen: false, api.Changed: false, api.Impostor: false} {
		if got := isNotTaken(&api.Error{Kind: kind}); got != want {
			t.Errorf("after %s another host is asked: %v", kind, got)
		}
	}
	for _, err := range []error{nil, errors.New("what"), context.DeadlineExceeded, errQueued, &ended{message: "refused"}} {
		if isNotTaken(err) {
			t.Errorf("after %v another host is asked", err)
		}
	}
}
