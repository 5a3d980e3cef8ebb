package judge

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"custos/internal/sys/httpjson"
)

// again is how long to wait before the one repetition when the server does not
// say.
const again = time.Second

// StatusError says that the server answered with something other than 200.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // before which it need not be asked again; 0 when it did not say
	Says       string        // one line of its own words
}

func (e *StatusError) Error() string {
	s := "HTTP " + strconv.Itoa(e.Status)
	if e.Says != "" {
		s += ": " + strconv.Quote(e.Says)
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(", not before %v from now", e.RetryAfter)
	}
	return s
}

func (e *StatusError) passing() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// poster posts JSON to one address.
type poster struct {
	url   string
	keys  keyring
	sign  func(h http.Header, key string) // names the API's version and who asks; "" is no one by name
	http  *http.Client
	pause func(context.Context, time.Duration) error
}

func newPoster(s Settings, u *url.URL, sign func(http.Header, string)) (*poster, error) {
	roots, err := s.roots()
	if err != nil {
		return nil, err
	}
	transport := httpjson.Transport(roots)
	transport.DisableKeepAlives = true // questions are minutes apart
	transport.MaxResponseHeaderBytes = 64 << 10
	return &poster{
		url: u.String(), keys: keyring{s.Key, s.Environment}, sign: sign, pause: pause,
		http: &http.Client{Transport: transport, CheckRedirect: stay},
	}, nil
}

// roots are who vouches for the server; nil: whom the machine believes.
func (s Settings) roots() (*x509.CertPool, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	roots, err := httpjson.Roots(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	return roots, nil
}

// stay lets a server move the question about on its own host only, and as it is.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0]
	if to.URL.Host != from.URL.Host || to.URL.Scheme != from.URL.Scheme || to.Method != from.Method || len(via) > 3 {
		return ErrRedirect
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// conversation is the requests of one question: they share a key, and one
// repetition.
type conversation struct {
	*poster
	key      string
	calls    int
	repeated bool
}

func (p *poster) begin(ctx context.Context) (*conversation, error) {
	key, err := p.keys.read(ctx)
	return &conversation{poster: p, key: key}, err
}

// post sends body and returns the reply to it.
func (c *conversation) post(ctx context.Context, body any) ([]byte, error) {
	reply, err := c.once(ctx, body)
	var status *StatusError
	if !errors.As(err, &status) || !status.passing() || c.repeated {
		return reply, err
	}
	wait := status.RetryAfter
	if wait == 0 {
		wait = again
	}
	if end, bounded := ctx.Deadline(); bounded && time.Until(end) <= wait {
		return nil, err // there would be no time left to hear the answer
	}
	if err := c.pause(ctx, wait); err != nil {
		return nil, err
	}
	c.repeated = true
	return c.once(ctx, body)
}

func (c *conversation) once(ctx context.Context, body any) ([]byte, error) {
	req, err := httpjson.Request(ctx, http.MethodPost, c.url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "custos")
	c.sign(req.Header, c.key)
	c.calls++
	res, reply, err := httpjson.Ask(c.http, req, MaxReply)
	switch {
	case res != nil && res.StatusCode != http.StatusOK:
		return nil, &StatusError{Status: res.StatusCode, RetryAfter: retryAfter(res.Header, time.Now()), Says: scrub(complaint(reply), c.key)}
	case errors.Is(err, httpjson.ErrTooMuch):
		return nil, ErrTooMuch
	case err != nil:
		return nil, c.plain(ctx, err)
	}
	return reply, nil
}

// plain keeps of an error what is ours, and of its text what is no key.
func (c *conversation) plain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrRedirect):
		return ErrRedirect
	}
	return errors.New(line(scrub(err.Error(), c.key), 300))
}

// retryAfter reads the header in either of its forms; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseUint(v, 10, 32); err == nil {
		return time.Duration(s) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now).Round(time.Second)
	}
	return 0
}

// complaint is what an error's body says, in one line.
func complaint(body []byte) string {
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	var known struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &in) != nil {
		return line(string(body[:min(len(body), 400)]), 200)
	}
	var text string
	if json.Unmarshal(in.Error, &text) == nil {
		return line(text, 200)
	}
	_ = json.Unmarshal(in.Error, &known)
	return line(known.Type+" "+known.Message, 200)
}
