package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// shared makes a page once for all who ask for it at the same time: fifty browsers that are
// told of one change have the daemon look once. What has changed since, or is a second old,
// is made anew.
type shared struct {
	newest func() int64 // number of the last change
	now    func() time.Time

	mu   sync.Mutex
	made map[string]*madePage // by whose and which page it is
}

// madePage is a page, and its error, once it is made.
type madePage struct {
	number int64
	at     time.Time
	ended  chan struct{}

	body, packed []byte
	err          error
}

const (
	// sharedFor is how old a page may be that is shown: ages in it are told in seconds.
	sharedFor = time.Second
	// longestPage is how long a page may take to make, whoever has stopped waiting for it:
	// longer than the API takes for the whole picture.
	longestPage = 100 * time.Second
)

// get returns the page of a key, made by one of those who ask for it.
func (c *shared) get(ctx context.Context, key string, build func(context.Context) ([]byte, error)) (*madePage, error) {
	m, mine := c.current(key)
	if mine {
		go func() { // who asked first may go away
			defer close(m.ended)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestPage)
			defer cancel()
			if m.body, m.err = survived(ctx, build); m.err == nil {
				m.packed = packed(m.body)
			}
		}()
	}
	select {
	case <-m.ended:
		return m, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// survived builds a page. A panic is an error of that page alone: the daemon goes on.
func survived(ctx context.Context, build func(context.Context) ([]byte, error)) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot show the page: a fault of Custos: %v", p)
		}
	}()
	return build(ctx)
}

// current is the page that is made already, or being made; mine where it is yet to be.
// Those that are old go.
func (c *shared) current(key string) (m *madePage, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number, now := c.newest(), c.now()
	for k, m := range c.made {
		if age := now.Sub(m.at); m.number != number || age < 0 || age >= sharedFor {
			delete(c.made, k)
		}
	}
	if m = c.made[key]; m != nil {
		return m, false
	}
	m = &madePage{number: number, at: now, ended: make(chan struct{})}
	c.made[key] = m
	return m, true
}

func packed(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // into memory it does not fail
	_ = z.Close()
	return b.Bytes()
}

// send writes a page as the browser takes it.
func (m *madePage) send(w http.ResponseWriter, r *http.Request, status int) {
	h, body := w.Header(), m.body
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = m.packed
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the reader is gone when this fails
}
