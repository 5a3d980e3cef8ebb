package api

import (
	"errors"
	"fmt"
	"testing"
)

// What was put around an error of the API is said, with its kind and its way out: of an upgrade
// that was put back, "the daemon does not answer" is not the news.
func TestWhatIsPutAroundAnErrorIsSaid(t *testing.T) {
	deaf := &Error{Kind: Unreachable, Message: "it does not answer", Hint: "custos health"}
	for name, c := range map[string]struct {
		err  error
		want Error
	}{
		"itself":  {deaf, *deaf},
		"wrapped": {fmt.Errorf("0.1.0 is back: %w", deaf), Error{Kind: Unreachable, Message: "0.1.0 is back: it does not answer", Hint: "custos health"}},
		"joined":  {errors.Join(deaf, errors.New("nor was it written down")), Error{Kind: Unreachable, Message: "it does not answer\nnor was it written down", Hint: "custos health"}},
		"another": {errors.New("odd"), Error{Kind: Internal, Message: "odd"}},
	} {
		if got := ErrorOf(c.err); *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
	if deaf.Message != "it does not answer" {
		t.Errorf("the error itself was changed: %+v", deaf)
	}
}
