package ask

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkAsk is one small GET to and fro over a hub on this machine, and the same over a unix socket:
// medians, and how many times as long the hub takes.
func BenchmarkAsk(b *testing.B) {
	small := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ok"}`) }
	p := newPair(b, Options{}, small)
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(small)}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	unix := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	var hubs, sockets []time.Duration
	for b.Loop() {
		hubs = append(hubs, took(b, p.client))
		sockets = append(sockets, took(b, unix))
	}
	slices.Sort(hubs)
	slices.Sort(sockets)
	over, by := hubs[len(hubs)/2], sockets[len(sockets)/2]
	b.ReportMetric(float64(over.Microseconds()), "µs-hub-p50")
	b.ReportMetric(float64(hubs[len(hubs)*99/100].Microseconds()), "µs-hub-p99")
	b.ReportMetric(float64(by.Microseconds()), "µs-socket-p50")
	b.ReportMetric(float64(over)/float64(by), "times")
}

func took(b *testing.B, c *http.Client) time.Duration {
	begun := time.Now()
	resp, err := c.Get("http://custos/v1/health")
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}
