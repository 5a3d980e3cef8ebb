//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/sys/httpcache"
)

// The header fields of a write.
const (
	keyField, hostField, runField, epochField = "X-Key", "X-Host", "X-Run", "X-Epoch"
	actionField, messageField, sentField      = "X-Action", "X-Message", "X-Sent"
)

// resource is what hosts share: a server that takes every write as it comes and knows no leases, as
// a forge does not. It is reached through a socket in the file system, from every network. One answer
// of fifty is lost, though the write was taken.
type resource struct {
	Socket string
	log    *lines

	mu     sync.Mutex
	writes []write
	said   map[string]bool
	rand   *rand.Rand
}

func startResource(t *testing.T, dir string, seed uint64) *resource {
	t.Helper()
	log, err := openLines(filepath.Join(dir, "writes.log"))
	if err != nil {
		t.Fatal(err)
	}
	r := &resource{Socket: filepath.Join(dir, "resource.sock"), log: log, said: map[string]bool{}, rand: rand.New(rand.NewPCG(seed, 1))}
	l, err := net.Listen("unix", r.Socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /write", r.write)
	mux.HandleFunc("GET /said", r.isSaid)
	mux.HandleFunc("GET /next", r.next)
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return r
}

// write takes a write.
func (r *resource) write(rw http.ResponseWriter, req *http.Request) {
	h := req.Header
	epoch, err := strconv.ParseUint(h.Get(epochField), 10, 64)
	sent, wrong := strconv.ParseInt(h.Get(sentField), 10, 64)
	if err := errors.Join(err, wrong); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w := write{Sent: time.Duration(sent), Key: h.Get(keyField), Host: h.Get(hostField), Run: h.Get(runField), Epoch: epoch, Action: h.Get(actionField), Message: h.Get(messageField)}
	if r.take(w) {
		panic(http.ErrAbortHandler) // the answer is lost
	}
}

// take writes a write down, and says whether its answer is to be lost.
func (r *resource) take(w write) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.N, w.At = len(r.writes)+1, uptime()
	r.writes = append(r.writes, w)
	if w.Message != "" {
		r.said[w.Message] = true
	}
	_ = r.log.add(w, false) // it is kept in memory as well
	return r.rand.IntN(50) == 0
}

// isSaid says whether a message was said.
func (r *resource) isSaid(rw http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprint(rw, r.said[req.URL.Query().Get("message")])
}

// next is the first message of a key that was not said.
func (r *resource) next(rw http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := 1; ; n++ {
		if m := fmt.Sprintf("%s/%d", req.URL.Query().Get("key"), n); !r.said[m] {
			fmt.Fprint(rw, m)
			return
		}
	}
}

func (r *resource) all() []write {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]write(nil), r.writes...)
}

// client is a host's way to the resource: that of the clients of forges, by which the lease is asked for
// at each write.
type client struct{ http *http.Client }

// base sends a request, with the moment right after its lease was asked for.
type base struct {
	to  http.RoundTripper
	now func() time.Duration
}

func (b base) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set(sentField, strconv.FormatInt(int64(b.now()), 10))
	return b.to.RoundTrip(req)
}

func newClient(socket string, now func() time.Duration) (client, error) {
	to := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	h, err := httpcache.NewHost(httpcache.HostOptions{URL: "http://resource", PerHour: 1e9, AtOnce: 16, Base: base{to, now}})
	if err != nil {
		return client{}, err
	}
	return client{httpcache.NewTransport(h, "", nil).Client()}, nil
}

// ask reads from the resource, never from what is in store.
func (c client) ask(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://resource"+path, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Cache-Control", "no-cache")
	return c.send(req)
}

// write writes once, as w says.
func (c client) write(ctx context.Context, w write) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://resource/write", strings.NewReader("x"))
	if err != nil {
		return err
	}
	for field, value := range map[string]string{keyField: w.Key, hostField: w.Host, runField: w.Run, epochField: strconv.FormatUint(w.Epoch, 10), actionField: w.Action, messageField: w.Message} {
		req.Header.Set(field, value)
	}
	_, err = c.send(req)
	return err
}

func (c client) send(req *http.Request) (string, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text := make([]byte, 256)
	n, _ := resp.Body.Read(text) // it is whole: httpcache has read it
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the resource answers %s: %s", resp.Status, text[:n])
	}
	return string(text[:n]), nil
}
