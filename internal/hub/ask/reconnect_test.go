package ask

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestAConnectionIsLostInTheMiddle has connections break off while an answer is read: what is read is
// the whole of it, or its beginning and an error; and then the host is asked again.
func TestAConnectionIsLostInTheMiddle(t *testing.T) {
	want := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(want)
	for name, breaks := range map[string]func(*testing.T, *pair){
		"of who asks":    func(t *testing.T, p *pair) { reconnect(t, p.a.ForceReconnect) },
		"of who answers": func(t *testing.T, p *pair) { reconnect(t, p.b.ForceReconnect) },
		"the hub's": func(t *testing.T, p *pair) {
			p.hub.opts.Port = p.hub.Addr().(*net.TCPAddr).Port
			p.hub.Shutdown()
			p.hub.WaitForShutdown()
			p.hub.run(t)
		},
	} {
		for _, after := range []int{0, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(want) })
				resp := p.get(t, "/")
				defer resp.Body.Close()
				got := make([]byte, after)
				if _, err := io.ReadFull(resp.Body, got); err != nil {
					t.Fatal(err)
				}
				breaks(t, p)
				rest, err := io.ReadAll(resp.Body)
				got = append(got, rest...)
				if !bytes.HasPrefix(want, got) || (err == nil) != (len(got) == len(want)) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%d bytes came, garbled or cut: %v", len(got), err)
				}
				await(t, "that it is asked again", func() bool {
					resp, err := p.client.Get("http://custos/")
					if err != nil {
						return false
					}
					defer resp.Body.Close()
					b, err := io.ReadAll(resp.Body)
					return err == nil && bytes.Equal(b, want)
				})
			})
		}
	}
}

func reconnect(t *testing.T, force func() error) {
	t.Helper()
	if err := force(); err != nil {
		t.Error(err)
	}
}

// TestAQuietStreamOutlivesItsConnection has the connection of who asks break off while nothing is said.
// That it goes on is what is wanted here; that it goes on with something missing is not.
func TestAQuietStreamOutlivesItsConnection(t *testing.T) {
	next := make(chan string)
	p := newPair(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for text := range next {
			_, _ = io.WriteString(w, text)
			_ = rc.Flush()
		}
	})
	defer close(next)
	resp := p.get(t, "/")
	defer resp.Body.Close()
	reconnect(t, p.a.ForceReconnect)
	await(t, "that it is connected", func() bool { return p.a.IsConnected() && p.a.FlushTimeout(time.Second) == nil })
	next <- "on"
	b := make([]byte, 2)
	if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "on" {
		t.Errorf("read %q, %v", b, err)
	}
}
