package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

var errSeen = errors.New("seen enough")

// Who follows is told the newest number at once, and a newer one when something changes:
// by a pass, or by what somebody does.
func TestChangesArePushed(t *testing.T) {
	w := newWorld()
	o := w.options()
	o.Changes = NewChanges()
	srv := httptest.NewServer(New(o))
	defer srv.Close()
	c := api.NewClient(to(srv.URL))
	var got []int64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // lest what is never told is waited for
	defer cancel()
	err := c.Changes(ctx, func(n int64) error {
		got = append(got, n)
		switch len(got) {
		case 1:
			o.Changes.Note()
		case 2:
			_, err := c.Acknowledge(t.Context(), 3, api.AckOrder{})
			return err
		case 3:
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) || len(got) != 3 || got[1] <= got[0] || got[2] <= got[1] {
		t.Errorf("told %v, ended with %v", got, err)
	}
}

// What only asks, and what is refused, changes nothing.
func TestWhatOnlyAsksIsNoChange(t *testing.T) {
	w := newWorld()
	o := w.options()
	o.Changes = NewChanges()
	c := api.NewClient(api.InProcess(New(o)))
	before, _ := o.Changes.newest()
	if _, err := c.Alerts(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.agent = "builder"
	if _, err := c.Acknowledge(t.Context(), 3, api.AckOrder{}); err == nil {
		t.Fatal("an agent took up an alert")
	}
	if after, _ := o.Changes.newest(); after != before {
		t.Errorf("%d changes", after-before)
	}
}

// A burst of changes is a few numbers, of which the last one is the newest; silence is told
// of every quarter of a minute.
func TestABurstOfChangesIsFewNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newWorld().options()
		o.Changes = NewChanges()
		conn := piped(t, New(o))
		defer conn.Close()
		lines := asked(t, conn, "/v1/changes")
		begun, _ := o.Changes.newest()
		first := lines.next("data: ")
		go func() {
			for range 150 {
				o.Changes.Note()
				time.Sleep(time.Millisecond)
			}
		}()
		told, last := 0, first
		for last != fmt.Sprintf("data: %d", begun+150) {
			last = lines.next("data: ")
			told++
		}
		if told > 3 {
			t.Errorf("%d numbers of 150 changes", told)
		}
		began := time.Now()
		lines.next(": ")
		if took := time.Since(began); took < keepAlive || took > keepAlive+time.Second {
			t.Errorf("silence was told of after %v", took)
		}
	})
}

// Who does not read is dropped, and nothing is kept for it.
func TestAReaderThatReadsNothingIsDropped(t *testing.T) {
	for _, path := range []string{"/v1/changes", "/v1/events?after=0"} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan struct{})
			h := New(newWorld().options())
			conn := piped(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				h.ServeHTTP(w, req)
				close(ended)
			}))
			defer conn.Close()
			asked(t, conn, path) // and reads nothing of the answer
			select {
			case <-ended:
			case <-time.After(10 * unread):
				t.Errorf("%s goes on for who reads nothing", path)
			}
		})
	}
}

// An event that is written down is on its way with the change that tells of it, not with
// the next look at the log.
func TestEventsArePushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.options()
		o.Changes = NewChanges()
		conn := piped(t, New(o))
		defer conn.Close()
		lines := asked(t, conn, "/v1/events?after=1")
		lines.next("id: 2")
		lines.next(": so far")
		synctest.Wait()
		w.events = append(w.events, fleet.Event{ID: 3, At: instant(0), Kind: "ack", Text: "three"})
		o.Changes.Note()
		began := time.Now()
		lines.next("id: 3")
		if took := time.Since(began); took > 2*apart {
			t.Errorf("it came after %v", took)
		}
	})
}

// to sends every request to a server.
func to(base string) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		req.URL.Scheme, req.URL.Host = "http", strings.TrimPrefix(base, "http://")
		return http.DefaultTransport.RoundTrip(req)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// piped serves one connection, which holds nothing of what is not read.
func piped(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	mine, its := net.Pipe()
	l := &oneConn{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conns <- its
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = mine.Close(); _ = srv.Close() })
	return mine
}

type oneConn struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *oneConn) Close() error   { close(l.closed); return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// asked asks on a connection, and leaves the answer unread.
func asked(t *testing.T, conn net.Conn, path string) *answered {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://custos"+path, nil)
	if err == nil {
		err = req.Write(conn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &answered{t, bufio.NewScanner(conn)}
}

type answered struct {
	t *testing.T
	s *bufio.Scanner
}

// next is the next line that begins so.
func (a *answered) next(begins string) string {
	a.t.Helper()
	for a.s.Scan() {
		if strings.HasPrefix(a.s.Text(), begins) {
			return a.s.Text()
		}
	}
	a.t.Fatalf("no line begins with %q: %v", begins, a.s.Err())
	return ""
}
