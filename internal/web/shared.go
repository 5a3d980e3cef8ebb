package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
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
	mark   string // stands in a page where each answer has the ID of a form: one that nobody can guess

	mu   sync.Mutex
	made map[string]*madePage // by whose and which page it is
}

// madePage is a page, and its error, once it is made.
type madePage struct {
	number int64
	at     time.Time
	ended  chan struct{}

	body, packed []byte   // packed: nil where there are forms
	parts        [][]byte // of the body, with the ID of a form between them; nil where there is none
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
				m.prepare(c.mark)
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

// prepare has a page be sent as often as it is asked for.
func (m *madePage) prepare(mark string) {
	if parts := bytes.Split(m.body, []byte(mark)); mark != "" && len(parts) > 1 {
		m.parts = parts
		return
	}
	m.packed = packed(m.body)
}

// own is the page for one who asks: each of its forms has an ID that no other form has.
func (m *madePage) own() []byte {
	if m.parts == nil {
		return m.body
	}
	var b bytes.Buffer
	for i, part := range m.parts {
		if i > 0 {
			b.WriteString(rand.Text())
		}
		b.Write(part)
	}
	return b.Bytes()
}

// send writes a page as the browser takes it.
func (m *madePage) send(w http.ResponseWriter, r *http.Request, status int) {
	h, body := w.Header(), m.own()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		if m.packed == nil {
			body = packed(body)
		} else {
			body = m.packed
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the reader is gone when this fails
}
