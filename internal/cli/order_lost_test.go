package cli

import (
	"errors"
	"testing"

	"custos/internal/api"
)

// TestAnOrderThatIsForgotten: of an order that was taken, and is not known any more, it is not said that nothing was done.
func TestAnOrderThatIsForgotten(t *testing.T) {
	other := errors.New("other")
	for in, kind := range map[error]string{&api.Error{Kind: api.NotFound, Message: "cannot find order"}: api.Lost, &api.Error{Kind: api.Unreachable}: api.Unreachable, other: ""} {
		var is *api.Error
		if errors.As(unlessForgotten(in, "o1"), &is); is == nil && kind != "" || is != nil && is.Kind != kind {
			t.Errorf("%v: %+v", in, is)
		}
	}
}
