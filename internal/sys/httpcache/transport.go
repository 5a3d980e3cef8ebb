package httpcache

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"custos/internal/sys/httpjson"
)

// Limits of one answer: a page of a hundred issues with long texts has about a
// megabyte.
const (
	most     = 8 << 20
	patience = 10 * time.Second
)

// Transport is one account on a server: an http.RoundTripper that any SDK can use.
// It is safe for concurrent use.
type Transport struct {
	host   *Host
	scheme string // of the Authorization header: "token", "Bearer"; or with a colon a header of its own
	read   func(context.Context) (string, error)
	store  *store
	base   http.RoundTripper

	mu     sync.Mutex
	token  string
	readAt time.Time
}

// keep is how long a token is good before it is read again: it may be a program
// that prints it. One that the server does not take is read again at once.
const keep = time.Minute

// NewTransport returns a transport. token reads the token; nil for none.
func NewTransport(h *Host, scheme string, token func(context.Context) (string, error)) *Transport {
	return &Transport{host: h, scheme: scheme, read: token, store: newStore(), base: h.base}
}

// Trusting has it believe only a server that roots vouch for; nil changes nothing.
func (t *Transport) Trusting(roots *x509.CertPool) *Transport {
	if roots != nil {
		t.base = base(roots)
	}
	return t
}

// Client is an HTTP client over the transport that follows nothing.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: httpjson.Stay}
}

// RoundTrip sends one request, and returns its answer whole. An answer that broke
// off is an error, never a half. One that has not changed (304) comes from the
// store, as 200.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != t.host.scheme || !strings.EqualFold(req.URL.Host, t.host.name) {
		return nil, errors.New("it is another server: the token is not for that one")
	}
	ctx, cancel := context.WithTimeout(req.Context(), patience)
	defer cancel()
	select {
	case t.host.slots <- struct{}{}:
		defer func() { <-t.host.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	sent, err := t.prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	return t.send(sent, req)
}

// prepare is the request with the token and its conditions; with none where it wants an answer anew.
func (t *Transport) prepare(ctx context.Context, req *http.Request) (*http.Request, error) {
	out := req.Clone(ctx)
	if t.read != nil {
		token, err := t.secret(ctx)
		if err != nil {
			return nil, err
		}
		name, value := "Authorization", t.scheme+" "+token
		if own, ok := strings.CutSuffix(t.scheme, ":"); ok {
			name, value = own, token
		}
		out.Header.Set(name, value)
	}
	if req.Method == http.MethodGet && req.Header.Get("Cache-Control") != "no-cache" {
		t.store.condition(key(req), out.Header)
	}
	return out, t.host.take()
}

// secret is the token, as it was lately.
func (t *Transport) secret(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := t.host.now().Sub(t.readAt); t.token != "" && age >= 0 && age < keep {
		return t.token, nil
	}
	token, err := t.read(ctx)
	if err != nil {
		return "", err
	}
	t.token, t.readAt = token, t.host.now()
	return token, nil
}

func (t *Transport) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = ""
}

func (t *Transport) send(out, req *http.Request) (*http.Response, error) {
	if err := httpjson.Passes(out); err != nil {
		return nil, err
	}
	asked := t.host.now()
	resp, err := t.base.RoundTrip(out)
	if err != nil {
		return nil, httpjson.Plain(err)
	}
	t.host.heed(resp, asked, t.host.now())
	if resp.StatusCode == http.StatusUnauthorized {
		t.forget()
	}
	body, err := httpjson.Read(resp, most)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodGet {
		resp.Header, body = t.store.settle(key(req), resp, body)
	}
	resp.Request, resp.Body, resp.ContentLength = req, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// key is what an answer is stored under: what else a request differs in.
func key(req *http.Request) string { return req.URL.String() + "\x00" + req.Header.Get("Accept") }

// origin is the scheme and the host of a URL.
func origin(text string) (scheme, host string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", "", errors.New(`want a URL, like "https://git.example.org", without a password in it`)
	}
	return u.Scheme, strings.ToLower(u.Host), nil
}
