package httpcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is an HTTP server, and an account there whose clock is moved by hand.
type server struct {
	*httptest.Server
	host  *Host
	to    *Transport
	mu    sync.Mutex
	now   time.Time
	token string
	read  int // times the token was read
}

func (s *server) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func serve(t *testing.T, o HostOptions, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{Server: httptest.NewServer(answer), now: time.Now(), token: "hunter2"}
	t.Cleanup(s.Close)
	o.URL, o.Now = s.URL, func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}
	var err error
	if s.host, err = NewHost(o); err != nil {
		t.Fatal(err)
	}
	s.to = NewTransport(s.host, "token", func(context.Context) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.read++
		return s.token, nil
	})
	return s
}

func (s *server) get(t *testing.T, path string) (string, error) {
	t.Helper()
	resp, err := s.to.Client().Get(s.URL + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(b)), nil
}

// A limit that is spent is heeded by whatever name it is told, and as a time or as the
// seconds until then.
func TestSpentLimits(t *testing.T) {
	for name, c := range map[string]struct {
		header func(now time.Time) [2]string
		want   time.Duration
	}{
		"GitHub": {func(now time.Time) [2]string {
			return [2]string{"X-RateLimit-", fmt.Sprint(now.Add(10 * time.Minute).Unix())}
		}, 10 * time.Minute},
		"GitLab":       {func(now time.Time) [2]string { return [2]string{"RateLimit-", fmt.Sprint(now.Add(time.Minute).Unix())} }, time.Minute},
		"in seconds":   {func(time.Time) [2]string { return [2]string{"RateLimit-", "30"} }, 30 * time.Second},
		"for ever":     {func(time.Time) [2]string { return [2]string{"RateLimit-", "9999999999999"} }, longest},
		"no number":    {func(time.Time) [2]string { return [2]string{"RateLimit-", "soon"} }, 0},
		"another name": {func(time.Time) [2]string { return [2]string{"Rate-", "30"} }, 0},
	} {
		var s *server
		s = serve(t, HostOptions{}, func(w http.ResponseWriter, _ *http.Request) {
			h := c.header(s.host.now())
			w.Header().Set(h[0]+"Remaining", "0")
			w.Header().Set(h[0]+"Reset", h[1])
		})
		if _, err := s.get(t, "/"); err != nil {
			t.Fatal(err)
		}
		_, err := s.get(t, "/")
		var l *Limited
		if errors.As(err, &l) != (c.want > 0) || l != nil && (l.Until.Sub(s.host.now())-c.want).Abs() > 3*time.Second {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if s.host.Spare() != (c.want == 0) {
			t.Errorf("%s: more may be asked: %v", name, s.host.Spare())
		}
	}
}

// Half of the budget is for what must be asked.
func TestSpare(t *testing.T) {
	s := serve(t, HostOptions{PerHour: 10}, func(http.ResponseWriter, *http.Request) {})
	for n := range 8 {
		if want := n < 5; s.host.Spare() != want {
			t.Errorf("after %d: %v", n, !want)
		}
		if _, err := s.get(t, "/"); err != nil {
			t.Fatal(err)
		}
	}
	if s.pass(30 * time.Minute); !s.host.Spare() {
		t.Error("it does not come back")
	}
}

// The token stands behind a word, or in a header of its own.
func TestWhereTheTokenStands(t *testing.T) {
	for scheme, want := range map[string][2]string{"Bearer": {"Bearer hunter2", ""}, "token": {"token hunter2", ""}, "PRIVATE-TOKEN:": {"", "hunter2"}} {
		var got [2]string
		s := serve(t, HostOptions{}, func(_ http.ResponseWriter, r *http.Request) {
			got = [2]string{r.Header.Get("Authorization"), r.Header.Get("PRIVATE-TOKEN")}
		})
		s.to.scheme = scheme
		if _, err := s.get(t, "/"); err != nil || got != want {
			t.Errorf("%s: %q, %v", scheme, got, err)
		}
	}
}

func TestConditional(t *testing.T) {
	for header, condition := range map[string]string{"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"} {
		version, same := "Mon, 02 Jan 2006 15:04:05 GMT", 0
		s := serve(t, HostOptions{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(header, version)
			w.Header().Set("Link", "next")
			if r.Header.Get(condition) == version {
				same++
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "body of ", version)
		})
		for n := range 3 {
			if got, err := s.get(t, "/a"); err != nil || got != "200 body of "+version || same != n {
				t.Errorf("%s: %q, %v, %d the same", header, got, err, same)
			}
		}
		version = "Tue, 03 Jan 2006 15:04:05 GMT"
		if got, _ := s.get(t, "/a"); got != "200 body of "+version {
			t.Errorf("%s: changed, but %q", header, got)
		}
		if got, _ := s.get(t, "/b"); got != "200 body of "+version || same != 2 {
			t.Errorf("%s: another page: %q", header, got)
		}
	}
}

// What is stored is bounded; the least lately used goes.
func TestStoreIsBounded(t *testing.T) {
	large := strings.Repeat("x", 7)
	s := serve(t, HostOptions{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, large)
	})
	s.to.store.most = 32
	for n := range 8 {
		if _, err := s.get(t, fmt.Sprint("/", n)); err != nil {
			t.Fatal(err)
		}
	}
	s.to.store.mu.Lock()
	defer s.to.store.mu.Unlock()
	_, newest := s.to.store.kept[s.URL+"/7\x00"]
	if s.to.store.bytes > 32 || len(s.to.store.kept) != 4 || !newest {
		t.Errorf("%d bytes of %d answers are kept", s.to.store.bytes, len(s.to.store.kept))
	}
}

func TestBudget(t *testing.T) {
	s := serve(t, HostOptions{PerHour: 60}, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	for range 60 {
		if _, err := s.get(t, "/"); err != nil {
			t.Fatal(err)
		}
	}
	var l *Limited
	if _, err := s.get(t, "/"); !errors.As(err, &l) || !strings.Contains(err.Error(), "budget") || s.host.Sent() != 60 {
		t.Errorf("over the budget: %v", err)
	}
	s.pass(time.Minute + time.Second)
	if _, err := s.get(t, "/"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	if _, err := s.get(t, "/"); err == nil {
		t.Error("one a minute, but two went")
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header map[string]string
		least  time.Duration
		most   time.Duration
	}{
		"seconds":      {429, map[string]string{"Retry-After": "90"}, 90 * time.Second, 90 * time.Second},
		"503":          {503, map[string]string{"Retry-After": "90"}, 90 * time.Second, 90 * time.Second},
		"nothing said": {429, nil, time.Minute, time.Minute},
		"for ever":     {403, map[string]string{"Retry-After": "99999999999"}, longest, longest},
		"nonsense":     {429, map[string]string{"Retry-After": "soon"}, time.Minute, time.Minute},
		"spent":        {200, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(time.Now().Add(10 * time.Minute).Unix())}, 9 * time.Minute, 11 * time.Minute},
		"a 403":        {403, nil, 0, 0},
		"a 500":        {500, map[string]string{"Retry-After": "90"}, 0, 0},
	} {
		s := serve(t, HostOptions{}, func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
		})
		if _, err := s.get(t, "/"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := s.get(t, "/")
		var l *Limited
		if limited := errors.As(err, &l); limited != (c.most > 0) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if l != nil {
			if wait := l.Until.Sub(s.host.now()); wait < c.least || wait > c.most+time.Second {
				t.Errorf("%s: left alone for %v", name, wait)
			}
			s.pass(c.most + time.Second)
			if _, err := s.get(t, "/"); err != nil {
				t.Errorf("%s: and afterwards %v", name, err)
			}
		}
	}
}

// A date in Retry-After is one of the server's clock.
func TestRetryAfterDate(t *testing.T) {
	s := serve(t, HostOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		theirs := time.Now().Add(-time.Hour)
		w.Header().Set("Date", theirs.UTC().Format(http.TimeFormat))
		w.Header().Set("Retry-After", theirs.Add(5*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(429)
	})
	_, _ = s.get(t, "/")
	var l *Limited
	if _, err := s.get(t, "/"); !errors.As(err, &l) || l.Until.Sub(s.host.now()) < 4*time.Minute || l.Until.Sub(s.host.now()) > 6*time.Minute {
		t.Errorf("%v", err)
	}
}

// A token is read now and then, and at once when the server does not take it.
func TestToken(t *testing.T) {
	s := serve(t, HostOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "token hunter2" {
			w.WriteHeader(401)
		}
	})
	for range 3 {
		if got, err := s.get(t, "/"); err != nil || !strings.HasPrefix(got, "200") {
			t.Fatal(got, err)
		}
	}
	s.pass(keep)
	s.token = "other"
	_, _ = s.get(t, "/")
	s.token = "hunter2"
	if got, _ := s.get(t, "/"); !strings.HasPrefix(got, "200") || s.read != 3 {
		t.Errorf("%s, read %d times", got, s.read)
	}
}

func TestOtherServersGetNothing(t *testing.T) {
	s := serve(t, HostOptions{}, func(http.ResponseWriter, *http.Request) {})
	other := serve(t, HostOptions{}, func(_ http.ResponseWriter, r *http.Request) { t.Error("it was asked: ", r.Header) })
	for _, address := range []string{other.URL, strings.Replace(s.URL, "http:", "https:", 1)} {
		if _, err := s.to.Client().Get(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, bad := range []string{"", "git.example", "ftp://x", "https://me:pw@x", "https://"} {
		if _, err := NewHost(HostOptions{URL: bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// Who comes when all places are taken waits, no longer than its context.
func TestAtOnce(t *testing.T) {
	arrived, release := make(chan struct{}, 3), make(chan struct{})
	s := serve(t, HostOptions{AtOnce: 2}, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := s.get(t, "/"); err != nil {
				t.Error(err)
			}
		})
		<-arrived
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.to.Client().Do(req); !errors.Is(err, context.DeadlineExceeded) || len(arrived) > 0 {
		t.Errorf("a third: %v", err)
	}
	close(release)
	wg.Wait()
}
