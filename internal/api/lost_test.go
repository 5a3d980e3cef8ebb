package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"custos/internal/api"
)

// deaf is what a daemon does to a connection before it dies.
type deaf func(net.Conn, func() string)

// The moments at which an answer may be lost.
func unread(net.Conn, func() string) {}

func unanswered(_ net.Conn, read func() string) { read() }

func halfAnswered(conn net.Conn, read func() string) {
	read()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\"")
}

// dying is a daemon that treats its connections one after the other as it is told, and
// answers whoever comes after. It counts what it has read.
type dying struct {
	socket string
	ended  chan struct{} // gets one for each connection that was cut
	mu     sync.Mutex
	read   []string
}

func newDying(t *testing.T, cuts ...deaf) *dying {
	t.Helper()
	dir, err := os.MkdirTemp("", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &dying{socket: filepath.Join(dir, "s"), ended: make(chan struct{}, len(cuts))}
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go d.serve(l, cuts)
	return d
}

func (d *dying) serve(l net.Listener, cuts []deaf) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		cut := deaf(answering)
		if len(cuts) > 0 {
			cut, cuts = cuts[0], cuts[1:]
		}
		in := bufio.NewReader(conn)
		cut(conn, func() string { return d.note(in) })
		conn.Close()
		select {
		case d.ended <- struct{}{}:
		default:
		}
	}
}

func answering(conn net.Conn, read func() string) {
	if read() != "" {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 12\r\n\r\n{\"id\":\"one\"}")
	}
}

func (d *dying) note(in *bufio.Reader) string {
	r, err := http.ReadRequest(in)
	if err != nil {
		return ""
	}
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = append(d.read, r.Method+" "+r.URL.Path+" "+string(body))
	return r.URL.Path
}

func (d *dying) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.read...)
}

func (d *dying) client(t *testing.T, checks ...func(net.Conn) error) *api.Client {
	t.Helper()
	c, err := api.Dial(t.Context(), d.socket, checks...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// What carries an ID is asked for again, whenever its answer is lost; what may be done
// twice only when nobody can have read it.
func TestALostAnswer(t *testing.T) {
	order := func(ctx context.Context, c *api.Client) error {
		_, err := c.Order(ctx, api.OrderRequest{ID: "one", Do: "stop", Agent: "a"})
		return err
	}
	nameless := func(ctx context.Context, c *api.Client) error {
		_, err := c.Order(ctx, api.OrderRequest{Do: "stop", Agent: "a"})
		return err
	}
	approval := func(ctx context.Context, c *api.Client) error {
		_, err := c.Approve(ctx, 3, api.ApproveOrder{})
		return err
	}
	look := func(ctx context.Context, c *api.Client) error { _, err := c.Agents(ctx); return err }
	for name, c := range map[string]struct {
		cut  deaf
		ask  func(context.Context, *api.Client) error
		read int
		kind string
	}{
		"an order, unread":             {unread, order, 1, ""},
		"an order, unanswered":         {unanswered, order, 2, ""},
		"an order, half answered":      {halfAnswered, order, 2, ""},
		"a nameless order, unread":     {unread, nameless, 1, ""},
		"a nameless order, unanswered": {unanswered, nameless, 1, api.Lost},
		"an approval, unread":          {unread, approval, 1, ""},
		"an approval, unanswered":      {unanswered, approval, 1, api.Lost},
		"an approval, half answered":   {halfAnswered, approval, 1, api.Lost},
		"a look, unanswered":           {unanswered, look, 2, ""},
		"a look, half answered":        {halfAnswered, look, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDying(t, c.cut)
			asking := d.client(t)
			if c.read == 1 && c.kind == "" {
				<-d.ended // nobody is there any more to read what is said
			}
			err := c.ask(t.Context(), asking)
			if got := kindOf(err); got != c.kind || len(d.asked()) != c.read {
				t.Errorf("%v of kind %q, and was read as %q; want %q and %d times", err, got, d.asked(), c.kind, c.read)
			}
			for _, asked := range d.asked() {
				if asked != d.asked()[0] {
					t.Errorf("it was another one the second time: %q", d.asked())
				}
			}
		})
	}
}

// When nobody is there any more who could be asked again, it is said that it may have
// been done; of what nobody can have read, and of what changes nothing, that nobody answers.
func TestAnAnswerThatCannotBeLearned(t *testing.T) {
	for name, c := range map[string]struct {
		cut   deaf
		kind  string
		again bool
		ask   func(context.Context, *api.Client) error
	}{
		"an order that was read": {unanswered, api.Lost, true, func(ctx context.Context, c *api.Client) error {
			_, err := c.Order(ctx, api.OrderRequest{ID: "one"})
			return err
		}},
		"an order that nobody read": {unread, api.Impostor, false, func(ctx context.Context, c *api.Client) error {
			_, err := c.Order(ctx, api.OrderRequest{ID: "one"})
			return err
		}},
		"a look": {unanswered, api.Impostor, false, func(ctx context.Context, c *api.Client) error { _, err := c.Agents(ctx); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDying(t, c.cut)
			dials := 0
			asking := d.client(t, func(net.Conn) error {
				if dials++; dials > 1 {
					return errors.New("somebody else is there now")
				}
				return nil
			})
			if name == "an order that nobody read" {
				<-d.ended
			}
			err := c.ask(t.Context(), asking)
			var e *api.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Again != c.again || !strings.Contains(e.Message, "somebody else is there now") {
				t.Errorf("%#v, want kind %q", err, c.kind)
			}
			if c.kind == api.Lost && (!strings.Contains(e.Message, "may have been taken") || e.Hint == "") {
				t.Errorf("it does not say what may have become of it: %+v", e)
			}
		})
	}
}

// An order that is answered by nobody until time is up may have been taken.
func TestAnOrderThatIsNotAnsweredInTime(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	d := newDying(t, func(_ net.Conn, read func() string) {
		read()
		cancel(&api.Error{Kind: api.Unreachable, Message: "it hangs"})
		read() // until the other end is closed
	})
	_, err := d.client(t).Order(ctx, api.OrderRequest{ID: "one"})
	if kindOf(err) != api.Lost || len(d.asked()) != 1 {
		t.Errorf("%v, asked %q", err, d.asked())
	}
}

func kindOf(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Who is interrupted while somebody who has heard the question answers it, is told that it
// may have been taken; of a look, and of what nobody heard, that it was interrupted.
func TestAQuestionThatIsInterrupted(t *testing.T) {
	order := func(ctx context.Context, c *api.Client) error {
		_, err := c.Order(ctx, api.OrderRequest{ID: "one"})
		return err
	}
	look := func(ctx context.Context, c *api.Client) error { _, err := c.Agents(ctx); return err }
	for name, c := range map[string]struct {
		ask    func(context.Context, *api.Client) error
		before bool
		kind   string
	}{
		"an order":            {order, false, api.Lost},
		"an order, not given": {order, true, context.Canceled.Error()},
		"a look":              {look, false, context.Canceled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			for _, inProcess := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.before {
					cancel()
				}
				if err := c.ask(ctx, interrupting(t, cancel, inProcess)); kindOf(err) != c.kind || !errors.Is(err, context.Canceled) {
					t.Errorf("in this process %v: %v, want %s", inProcess, err, c.kind)
				}
			}
		})
	}
}

// interrupting asks somebody who has the question interrupted when it is read.
func interrupting(t *testing.T, interrupt func(), inProcess bool) *api.Client {
	if inProcess {
		return api.NewClient(api.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			interrupt()
			w.WriteHeader(http.StatusServiceUnavailable)
		})))
	}
	return newDying(t, func(_ net.Conn, read func() string) {
		read()
		interrupt()
		read() // until the other end is closed
	}).client(t)
}
