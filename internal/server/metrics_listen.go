package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// MetricsListener is where metrics are served besides the socket.
type MetricsListener struct {
	Address string                                // HOST:PORT
	Token   func(context.Context) (string, error) // nil: none is asked for; only on loopback
}

// Loopback says whether only this machine reaches an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ListenMetrics opens the address. One that other machines reach is refused
// without a token.
func ListenMetrics(o MetricsListener) (net.Listener, error) {
	if o.Token == nil && !Loopback(o.Address) {
		return nil, fmt.Errorf("cannot serve metrics at %s: other machines may reach it, and there is no token", o.Address)
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics: %w", err)
	}
	return l, nil
}

// GuardMetrics serves the page at /metrics, and nothing else: to who shows the
// token, or, without one, to who names this machine by its loopback address. A
// name that leads here by the trick of a foreign web page gets nothing.
func GuardMetrics(o MetricsListener, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, req *http.Request) {
		switch {
		case o.Token == nil && !Loopback(withPort(req.Host)):
			http.Error(w, "cannot answer: ask at a loopback address", http.StatusForbidden)
		case o.Token != nil && !bears(req, o.Token):
			w.Header().Set("WWW-Authenticate", `Bearer realm="custos"`)
			http.Error(w, "cannot answer: a token is needed", http.StatusUnauthorized)
		default:
			page.ServeHTTP(w, req)
		}
	})
	return mux
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return host
}

// bears says whether a request shows the token. It compares them in a time that shows
// nothing of them; one that cannot be read, or is empty, admits nobody.
func bears(req *http.Request, token func(context.Context) (string, error)) bool {
	want, err := token(req.Context())
	got, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if err != nil || !ok || want == "" {
		return false
	}
	a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(got))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
