package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// nginx runs a real one that hands on to a page by some lines, and returns its address.
func nginx(t *testing.T, page, lines string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("nginx is not installed: apt-get install nginx-light")
		}
	}
	dir := t.TempDir()
	conf, socket := filepath.Join(dir, "nginx.conf"), filepath.Join(dir, "s")
	text := "daemon off;\nmaster_process off;\npid " + dir + "/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += fmt.Sprintf("%s_temp_path %s/%[1]s;\n", kind, dir)
	}
	text += fmt.Sprintf("server {\nlisten unix:%s;\nlocation / {\nproxy_pass %s;\nproxy_http_version 1.1;\nproxy_set_header Host %s;\n%s\n}\n}\n}\n", socket, page, strings.TrimPrefix(page, "http://"), lines)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.Command(program, "-p", dir, "-e", "stderr", "-c", conf)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for begun := time.Now(); ; <-time.After(5 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			return socket
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("nginx does not listen: %s", said.String())
		}
	}
}

// flooded is how many bytes of a stream the page gets rid of, by a proxy, to somebody who does
// not read.
func flooded(t *testing.T, lines string) int {
	t.Helper()
	written := make(chan int, 1)
	w := newWorld(t)
	w.API = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		n, event := 0, []byte("data: "+strings.Repeat("x", 64<<10)+"\n\n")
		out := http.NewResponseController(rw)
		for range 1000 {
			if out.SetWriteDeadline(time.Now().Add(time.Second)) != nil {
				break
			}
			if _, err := rw.Write(event); err != nil || out.Flush() != nil {
				break
			}
			n += len(event)
		}
		written <- n
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.Site.Port = l.Addr().(*net.TCPAddr).Port
	page := httptest.NewUnstartedServer(w.made(t))
	_ = page.Listener.Close()
	page.Listener = l
	page.Start()
	t.Cleanup(page.Close)
	t.Cleanup(page.CloseClientConnections)
	c, err := net.Dial("unix", nginx(t, "http://"+l.Addr().String(), lines))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprintf(c, "GET /changes HTTP/1.1\r\nHost: page\r\nCookie: custos-%d=ann\r\n\r\n", w.Site.Port); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-written:
		return n
	case <-time.After(30 * time.Second):
		t.Fatal("the page writes on")
	}
	return 0
}

// An nginx that keeps answers for who does not read them, as it does where nothing else is said,
// keeps no stream of the page, which asks it not to: who does not read is found out by the page,
// and dropped. Where nginx does not heed that, the line that docs/web.md has for it does.
func TestNginxKeepsNoStream(t *testing.T) {
	docs, err := os.ReadFile("../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ *proxy_buffering .*$`).FindString(string(docs))
	if line == "" {
		t.Fatal("web.md has no proxy_buffering")
	}
	const heedless, most = "\nproxy_ignore_headers X-Accel-Buffering;", 16 << 20 // what sockets hold, and not 64 MB
	for _, c := range []struct {
		lines string
		keeps bool
	}{{"proxy_buffering on;" + heedless, true}, {"proxy_buffering on;", false}, {line + heedless, false}} {
		if n := flooded(t, c.lines); (n > most) != c.keeps {
			t.Errorf("by %q the page gets rid of %d bytes that nobody reads", c.lines, n)
		}
	}
}

// Each stream of the page asks proxies to hand it on as it comes.
func TestEachStreamAsksNotToBeKept(t *testing.T) {
	w := newScreened(t, "hello")
	s := serveWorld(t, w.world)
	for _, path := range []string{"/changes", "/agents/builder/terminal"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(&http.Cookie{Name: fmt.Sprintf("custos-%d", s.Site.Port), Value: "ann"})
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-Accel-Buffering"); resp.StatusCode != http.StatusOK || got != "no" {
			t.Errorf("%s: %d, %q", path, resp.StatusCode, got)
		}
	}
}
