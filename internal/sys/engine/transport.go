package engine

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// bounded carries requests to a unix socket, bounds what is read of each answer,
// and notes what time it is at the engine.
type bounded struct {
	base *http.Transport

	mu     sync.Mutex
	date   time.Time // in the newest answer
	at     time.Time // when that came, with our monotonic clock
	server string    // what the newest answer says that it is from
}

func newBounded(socket string) *bounded {
	var d net.Dialer
	return &bounded{base: &http.Transport{
		DialContext:  func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) },
		MaxIdleConns: 4, IdleConnTimeout: idle, DisableCompression: true,
	}}
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	b.note(resp.Header.Get("Date"), resp.Header.Get("Server"))
	resp.Body = &limited{ReadCloser: resp.Body, left: most}
	return resp, nil
}

func (b *bounded) note(date, server string) {
	at, err := http.ParseTime(date)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server = server; err == nil {
		b.date, b.at = at, time.Now()
	}
}

// answers is who answered last, in its own words.
func (b *bounded) answers() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

// now is the time at the engine, to the second; false while it has told none.
func (b *bounded) now() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() {
		return time.Time{}, false
	}
	return b.date.Add(time.Since(b.at)), true
}
