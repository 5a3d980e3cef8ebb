package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// ErrGone says that there is no container of this ID.
var ErrGone = errors.New("there is no such container")

// most is how much of one answer is read, in bytes: some thousand containers. A
// stream of events ends there too, and is opened again.
const most = 16 << 20

// Address reads what a person wrote for the place of a socket, "/PATH" or
// "unix:///PATH", and returns "unix:///PATH".
func Address(text string) (string, error) {
	path := strings.TrimPrefix(text, "unix://")
	if !filepath.IsAbs(path) || strings.ContainsAny(path, "\x00\n") {
		return "", fmt.Errorf(`%q is no unix socket: want a path, like "/var/run/docker.sock"`, text)
	}
	return "unix://" + filepath.Clean(path), nil
}

// conn is the way to one engine. It is safe for concurrent use.
type conn struct {
	address   string
	transport *bounded

	mu  sync.Mutex
	api *client.Client // nil until it is needed, and after a failure: another engine may answer next
}

func newConn(address string) (*conn, error) {
	address, err := Address(address)
	if err != nil {
		return nil, err
	}
	c := &conn{address: address, transport: newBounded(strings.TrimPrefix(address, "unix://"))}
	_, err = c.client()
	return c, err
}

// client is the client of the engine's own project, over our transport. It asks
// the engine once which version of the API it speaks.
func (c *conn) client() (*client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api != nil {
		return c.api, nil
	}
	api, err := client.New(client.WithHost(c.address), client.WithHTTPClient(&http.Client{
		Transport: c.transport, CheckRedirect: client.CheckRedirect}))
	if err != nil {
		return nil, fmt.Errorf("cannot speak to a container engine at %s: %w", c.address, err)
	}
	c.api = api
	return api, nil
}

// drop forgets what was agreed with the engine.
func (c *conn) drop(api *client.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == api {
		c.api = nil
	}
}

// call asks one thing of the engine; what says what could not be done.
func (c *conn) call(what string, ask func(*client.Client) error) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	err = ask(api)
	if err == nil {
		return nil
	}
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("cannot %s: %w", what, ErrGone)
	}
	if !isContext(err) {
		c.drop(api)
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

var errLong = fmt.Errorf("the answer has more than %d MiB", most>>20)

// limited is a body of which no more than left bytes are read.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLong
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}

// idle is how long a connection that is not used stays open.
const idle = 30 * time.Second
