package httpcache

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"custos/internal/sys/httpjson"
)

// longest is how long a server may ask to be left alone at once: GitHub's windows
// have an hour. One that says years is not obeyed for years.
const longest = 2 * time.Hour

// HostOptions say how a server is to be treated. Zero values mean the defaults.
type HostOptions struct {
	URL     string           // of the server: scheme and host are what counts
	PerHour int              // requests in an hour at most; 3000: GitHub allows 5000
	AtOnce  int              // requests at the same time at most; 4
	Now     func() time.Time // wall clock; time.Now
	Base    http.RoundTripper
}

// Host is one server. It is safe for concurrent use.
type Host struct {
	scheme, name string
	now          func() time.Time
	base         http.RoundTripper
	slots        chan struct{}
	perHour      float64

	mu      sync.Mutex
	tokens  float64 // requests that may be made now
	filled  time.Time
	until   time.Time // it is to be left alone until then
	why     string
	skew    time.Duration // its clock minus ours
	hasSkew bool
	sent    int
}

// NewHost returns the server of a URL.
func NewHost(o HostOptions) (*Host, error) {
	scheme, name, err := origin(o.URL)
	if err != nil {
		return nil, err
	}
	if o.PerHour <= 0 {
		o.PerHour = 3000
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Base == nil {
		o.Base = base(nil)
	}
	return &Host{scheme: scheme, name: name, now: o.Now, base: o.Base, slots: make(chan struct{}, o.AtOnce),
		perHour: float64(o.PerHour), tokens: float64(o.PerHour), filled: o.Now()}, nil
}

// base is Go's usual transport with limits of its own: an answer's header must not be
// large either.
func base(roots *x509.CertPool) http.RoundTripper {
	t := httpjson.Transport(roots)
	t.MaxResponseHeaderBytes, t.ResponseHeaderTimeout = 64<<10, patience
	return t
}

// Limited says that a server is left alone, and until when.
type Limited struct {
	Host  string
	Until time.Time
	Why   string
}

func (l *Limited) Error() string {
	return fmt.Sprintf("%s is left alone until %s: %s", l.Host, l.Until.UTC().Format("15:04:05 UTC"), l.Why)
}

// Sent counts the requests that were sent so far.
func (h *Host) Sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// Skew is the server's clock minus ours, and whether it ever told.
func (h *Host) Skew() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.skew, h.hasSkew
}

// Spare says whether more may be asked than must be: half of the budget is left.
func (h *Host) Spare() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fill(h.now())
	return h.tokens > h.perHour/2 && !h.now().Before(h.until)
}

// Clock is what time the server would say it is. Before its first answer it is ours.
func (h *Host) Clock() time.Time {
	skew, _ := h.Skew()
	return h.now().Add(skew)
}

// take counts one request, or says why it may not be sent.
func (h *Host) take() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if now.Before(h.until) {
		return &Limited{Host: h.name, Until: h.until, Why: h.why}
	}
	if h.fill(now); h.tokens < 1 {
		wait := time.Duration((1 - h.tokens) / h.perHour * float64(time.Hour))
		return &Limited{Host: h.name, Until: now.Add(wait), Why: "the budget of requests an hour is spent"}
	}
	h.tokens, h.sent = h.tokens-1, h.sent+1
	return nil
}

// fill adds to the budget what time has brought.
func (h *Host) fill(now time.Time) {
	if passed := now.Sub(h.filled).Hours(); passed > 0 {
		h.tokens = min(h.perHour, h.tokens+passed*h.perHour)
	}
	h.filled = now
}

// heed takes from an answer what it says about the clock and about limits.
func (h *Host) heed(resp *http.Response, asked, got time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	said, err := http.ParseTime(resp.Header.Get("Date"))
	if err == nil {
		mid := asked.Add(got.Sub(asked) / 2)
		h.skew, h.hasSkew = said.Add(500*time.Millisecond).Sub(mid), true // it tells whole seconds
	}
	until, why := h.limit(resp, got)
	if until.After(h.until) {
		h.until, h.why = until, why
	}
}

// limit is until when an answer asks to be left alone, by our clock; zero when it
// does not.
func (h *Host) limit(resp *http.Response, now time.Time) (time.Time, string) {
	refused := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusForbidden
	if after := resp.Header.Get("Retry-After"); after != "" && refused {
		if until, ok := h.retryAfter(after, now); ok {
			return clamp(until, now), fmt.Sprintf("it answered %d and asked for it", resp.StatusCode)
		}
	}
	for _, name := range []string{"X-RateLimit-", "RateLimit-"} { // GitHub's, GitLab's
		spent := resp.Header.Get(name+"Remaining") == "0"
		if epoch, err := strconv.ParseInt(resp.Header.Get(name+"Reset"), 10, 64); err == nil && spent {
			return clamp(h.reset(epoch, now), now), "its rate limit is spent"
		}
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return now.Add(time.Minute), "it answered 429"
	}
	return time.Time{}, ""
}

// reset is when a limit begins anew: a time by the server's clock, or as some have it the
// seconds until then.
func (h *Host) reset(n int64, now time.Time) time.Time {
	if n < int64(longest/time.Second) {
		return now.Add(time.Duration(max(n, 0)) * time.Second)
	}
	return time.Unix(n, 0).Add(-h.skew)
}

// retryAfter reads seconds, or a date by the server's clock.
func (h *Host) retryAfter(text string, now time.Time) (time.Time, bool) {
	if s, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
		return now.Add(time.Duration(min(max(s, 0), int64(longest/time.Second))) * time.Second), true
	}
	at, err := http.ParseTime(text)
	return at.Add(-h.skew), err == nil
}

func clamp(until, now time.Time) time.Time {
	if until.After(now.Add(longest)) {
		return now.Add(longest)
	}
	return until
}
