package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// Cut short while the handler runs, half a look is dropped and an error gives
// way to the reason; but of what was done the answer comes back.
func TestCutShortInProcess(t *testing.T) {
	for _, c := range []struct {
		method  string
		status  int
		want    int // 0: the context's error
		already bool
	}{
		{method: http.MethodGet, status: 200},
		{method: http.MethodPost, status: 503},
		{method: http.MethodPost, status: 200, want: 200},
		{method: http.MethodPost, status: 200, already: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if c.already {
				cancel()
			}
			served := false
			rt := InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				served = true
				cancel()
				w.WriteHeader(c.status)
			}))
			req, err := http.NewRequestWithContext(ctx, c.method, "http://custos/v1/patrol", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(req)
			if served == c.already {
				t.Errorf("served: %v", served)
			}
			if c.want == 0 && !errors.Is(err, context.Canceled) || c.want != 0 && (err != nil || resp.StatusCode != c.want) {
				t.Errorf("%+v, %v", resp, err)
			}
		})
	}
}
