package httpjson

import (
	"context"
	"net/http"
)

// fenceKey is that of the question which a context puts before each write.
type fenceKey struct{}

// Fenced returns a context in which whatever is sent to a server to change something is sent
// only when may, asked at that very instant, returns no error.
func Fenced(ctx context.Context, may func() error) context.Context {
	return context.WithValue(ctx, fenceKey{}, may)
}

// Passes asks what the context of a request has to be asked before it is sent; what only reads
// (GET, HEAD) passes.
func Passes(req *http.Request) error {
	may, is := req.Context().Value(fenceKey{}).(func() error)
	if !is || req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == "" {
		return nil
	}
	return may()
}
