package api_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/api"
)

// A daemon that takes up another configuration is not at its socket for a moment:
// who was speaking to it goes on with the one that comes back.
func TestADaemonThatComesBackIsAsked(t *testing.T) {
	dir, err := os.MkdirTemp("", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	asked := 0
	serve := func() *http.Server {
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Error(err)
			return nil
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = w.Write([]byte("{}"))
		})}
		go func() { _ = s.Serve(l) }()
		return s
	}
	first := serve()
	c, err := api.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Health(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // with its connections, and its socket
		t.Fatal(err)
	}
	back := make(chan *http.Server)
	time.AfterFunc(300*time.Millisecond, func() { back <- serve() })
	if _, err := c.Order(t.Context(), api.OrderRequest{}); err != nil {
		t.Error(err)
	}
	if err := (<-back).Close(); err != nil || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
