package ask

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/api"
)

// TestAnAnswerIsAsAtASocket asks with all that goes along, and with what does not.
func TestAnAnswerIsAsAtASocket(t *testing.T) {
	var got *http.Request
	var body []byte
	p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write(body)
	})
	req, _ := http.NewRequest(http.MethodPost, "http://custos/v1/x%2Fy?of=a%20b", strings.NewReader(`{"a":1}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.OnBehalf, "smith")
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := io.ReadAll(resp.Body)
	if err != nil || string(back) != `{"a":1}` || resp.StatusCode != http.StatusConflict || resp.ContentLength != 7 {
		t.Errorf("answered %d %q with length %d, %v", resp.StatusCode, back, resp.ContentLength, err)
	}
	if resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("answered with headers %v", resp.Header)
	}
	if got.Method != http.MethodPost || got.URL.RequestURI() != "/v1/x%2Fy?of=a%20b" || got.RemoteAddr != "a" || string(body) != `{"a":1}` {
		t.Errorf("asked %s %s of %s with %q", got.Method, got.URL.RequestURI(), got.RemoteAddr, body)
	}
	if got.Header.Get(api.OnBehalf) != "smith" || got.Header.Get("Authorization") != "" {
		t.Errorf("asked with headers %v", got.Header)
	}
	if p.counts.Answered.Load() != 1 || len(p.asker.all()) != 0 {
		t.Errorf("counted %d answers, and %d are open", p.counts.Answered.Load(), len(p.asker.all()))
	}
}

func TestAnswersWithoutABody(t *testing.T) {
	p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("wrote a body to 204: %v", err)
			}
		case "/head":
			w.Header().Set("Content-Length", "5")
			_, _ = w.Write([]byte("hello"))
		}
	})
	for _, c := range []struct {
		method, path string
		status       int
		length       int64
	}{{"GET", "/none", 204, -1}, {"HEAD", "/head", 200, 5}, {"GET", "/nothing", 200, -1}} {
		req, _ := http.NewRequest(c.method, "http://custos"+c.path, nil)
		resp, err := p.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || len(b) != 0 || resp.StatusCode != c.status || resp.ContentLength != c.length {
			t.Errorf("%s %s: %d %q, length %d, %v", c.method, c.path, resp.StatusCode, b, resp.ContentLength, err)
		}
	}
}

func TestAQuestionIsAsLargeAsItMayBe(t *testing.T) {
	p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})
	resp, err := p.client.Post("http://custos/", "", bytes.NewReader(make([]byte, 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(b) != "1048576" {
		t.Errorf("of 1 MiB came %s bytes", b)
	}
	_, err = p.client.Post("http://custos/", "", bytes.NewReader(make([]byte, 1<<20+1)))
	if api.ErrorOf(err).Kind != api.BadInput || errors.Is(err, ErrInDoubt) {
		t.Errorf("more than 1 MiB: %v", err)
	}
	_, err = p.client.Get("http://custos/" + strings.Repeat("x", mostPath))
	if api.ErrorOf(err).Kind != api.BadInput {
		t.Errorf("a path that is too long: %v", err)
	}
}

// TestASlowReaderHoldsUpItselfOnly has an answer of 50 MiB that nobody reads at first: its handler
// waits, others are answered meanwhile, and memory does not grow with it.
func TestASlowReaderHoldsUpItselfOnly(t *testing.T) {
	const size = 50 << 20
	var written atomic.Int64
	sum := sha256.New()
	p := newPair(t, Options{Beat: usualBeat}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			fmt.Fprint(w, "small")
			return
		}
		rnd := rand.NewChaCha8([32]byte{1})
		chunk := make([]byte, 100_000)
		for n := 0; n < size; n += len(chunk) {
			_, _ = rnd.Read(chunk)
			chunk = chunk[:min(len(chunk), size-n)]
			sum.Write(chunk)
			if _, err := w.Write(chunk); err != nil {
				t.Errorf("writing: %v", err)
				return
			}
			written.Add(int64(len(chunk)))
		}
	})
	before := heap()
	resp := p.get(t, "/big")
	defer resp.Body.Close()
	await(t, "that the window is full", func() bool { return written.Load() > (window-1)*usualData })
	for range 20 {
		small := p.get(t, "/small")
		if b, err := io.ReadAll(small.Body); string(b) != "small" || err != nil {
			t.Fatalf("meanwhile: %q, %v", b, err)
		}
		small.Body.Close()
	}
	if n := written.Load(); n > (window+1)*usualData {
		t.Errorf("%d bytes were written that nobody read", n)
	}
	most := uint64(0)
	got := sha256.New()
	buf := make([]byte, 64<<10)
	n, err := io.CopyBuffer(io.MultiWriter(got, counter(func(n int64) {
		if n%(10<<20) < int64(len(buf)) {
			most = max(most, heap())
		}
	})), struct{ io.Reader }{resp.Body}, buf)
	if err != nil || n != size || !bytes.Equal(got.Sum(nil), sum.Sum(nil)) {
		t.Errorf("read %d bytes of %d: %v", n, size, err)
	}
	if most > before+20<<20 {
		t.Errorf("%d MiB of memory more for 50 MiB", (most-before)>>20)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// counter counts what is written and tells.
func counter(tell func(int64)) io.Writer {
	n := int64(0)
	return writer(func(b []byte) { n += int64(len(b)); tell(n) })
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// TestEventsComeAtOnce reads server-sent events: each is there when it was flushed, however many parts
// that makes, and a stream on which nothing happens for long goes on.
func TestEventsComeAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	p := newPair(t, Options{HeadWithin: testBeat}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for text := range next {
			if err := rc.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", text)
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
		}
	})
	resp := p.get(t, "/v1/changes")
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	say := func(text string) {
		t.Helper()
		next <- text
		for lines.Scan() && lines.Text() == "" {
			continue
		}
		if lines.Text() != "data: "+text {
			t.Fatalf("read %q, not %q: %v", lines.Text(), text, lines.Err())
		}
	}
	for i := range 5 * window {
		say(fmt.Sprint(i))
	}
	quiet := time.After(p.asker.beat.gone() + 2*testBeat)
	<-quiet // what is tested is that nothing happens in this time
	say("after a while")
	close(next)
	for lines.Scan() && lines.Text() == "" {
		continue
	}
	if lines.Text() != "" || lines.Err() != nil {
		t.Errorf("at its end: %q, %v", lines.Text(), lines.Err())
	}
}

// TestWhoGoesAwayEndsTheHandler ends requests in three ways; the last one says nothing of it.
func TestWhoGoesAwayEndsTheHandler(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	begun := make(chan struct{}, 1)
	p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_ = http.NewResponseController(w).Flush()
		}
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})
	within := func(what string, d time.Duration) {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(d):
			t.Fatalf("%s: the handler goes on", what)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://custos/head", nil)
		_, err := p.client.Do(req)
		asked <- err
	}()
	<-begun
	cancel()
	within("cancelled", testBeat)
	if err := <-asked; !errors.Is(err, context.Canceled) || !errors.Is(err, ErrInDoubt) {
		t.Errorf("cancelled: %v", err)
	}
	resp := p.get(t, "/body")
	<-begun
	resp.Body.Close()
	within("closed", testBeat)
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("read what was closed")
	}
	resp = p.get(t, "/body")
	defer resp.Body.Close()
	<-begun
	p.a.Close()
	within("fell silent", p.asker.beat.gone()+2*p.asker.beat.every())
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without a connection: %v", err)
	}
	await(t, "that nothing is open", func() bool { return len(p.asker.all()) == 0 })
}

func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	p := newPair(t, Options{}, func(http.ResponseWriter, *http.Request) {})
	_, to := askOn(t, p.a, "a", "c")
	begun := time.Now()
	_, err := (&http.Client{Transport: to}).Get("http://custos/")
	if !errors.Is(err, ErrNotThere) || errors.Is(err, ErrInDoubt) || !api.IsUnreachable(err) {
		t.Errorf("asked nobody: %v", err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("that took %s", took)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	if _, err = p.client.Get("http://custos/"); !errors.Is(err, ErrNotThere) {
		t.Errorf("asked one that has stopped: %v", err)
	}
	p.hub.Shutdown()
	await(t, "that the hub is lost", func() bool { return !p.a.IsConnected() })
	if _, err = p.client.Get("http://custos/"); !errors.Is(err, ErrNoHub) || errors.Is(err, ErrInDoubt) || !api.IsUnreachable(err) {
		t.Errorf("asked while the hub is not there: %v", err)
	}
	if n, _ := p.a.Buffered(); n > 0 {
		t.Errorf("%d bytes are kept for later", n)
	}
	p.a.Close()
	if _, err = p.client.Get("http://custos/"); !errors.Is(err, ErrNoHub) || errors.Is(err, ErrInDoubt) {
		t.Errorf("asked without a hub: %v", err)
	}
}

// TestAnOrderIsGivenOnce has the API's client, which asks again what nobody can have read, give an
// order whose answer is lost.
func TestAnOrderIsGivenOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var b *nats.Conn
	p := newPair(t, Options{}, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		b.Close()
	})
	b = p.b
	client := api.NewClient(p.to)
	err := client.Down(context.Background())
	if api.ErrorOf(err).Kind != api.Lost || !errors.Is(err, ErrInDoubt) || asked.Load() != 1 {
		t.Errorf("an order was given %d times: %v", asked.Load(), err)
	}
	err = client.Down(context.Background())
	if !api.IsUnreachable(err) || errors.Is(err, ErrInDoubt) {
		t.Errorf("an order that nobody got: %v", err)
	}
}

// TestAHostThatDies has hosts die in four ways, before and after the head of an answer.
func TestAHostThatDies(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*testing.T, *os.Process, *nats.Conn){
		"killed":  func(t *testing.T, p *os.Process, _ *nats.Conn) { _ = p.Kill() },
		"stopped": func(t *testing.T, p *os.Process, _ *nats.Conn) { halt(t, p) },
	}
	for name, die := range ways {
		for _, path := range []string{"/begun", "/waiting"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				h := newHub(t)
				process := startHost(t, h)
				_, to := askOn(t, h.conn(t, "a"), "a", "killed")
				got := make(chan error, 1)
				client := &http.Client{Transport: to}
				await(t, "that the host is there", func() bool {
					ctx, cancel := context.WithTimeout(context.Background(), testBeat)
					defer cancel()
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://custos/waiting", nil)
					_, err := client.Do(req)
					return !errors.Is(err, ErrNotThere)
				})
				go func() {
					resp, err := client.Get("http://custos" + path)
					if err == nil {
						defer resp.Body.Close()
						_, err = io.ReadAll(resp.Body)
					}
					got <- err
				}()
				asked := time.Now()
				await(t, "that it is being answered", func() bool { return to.asker.heardOf("killed").After(asked) })
				begun := time.Now()
				die(t, process, nil)
				err := <-got
				if want := map[string]error{"/begun": io.ErrUnexpectedEOF, "/waiting": ErrInDoubt}[path]; !errors.Is(err, want) {
					t.Errorf("want %v, got %v", want, err)
				}
				if took, most := time.Since(begun), to.asker.beat.silent()+2*to.asker.beat.every(); took > most {
					t.Errorf("known after %s, want %s", took, most)
				}
			})
		}
	}
}

// TestTheBeatIsInTime holds the promises of the package with the beat that is usual.
func TestTheBeatIsInTime(t *testing.T) {
	b := beatOf(0)
	if b.silent()+b.check() > 10*time.Second || b.gone()+b.check() > 15*time.Second {
		t.Errorf("silent after %s, gone after %s", b.silent(), b.gone())
	}
	if most := window + int(b.gone()/b.every()) + 1; most > permissions("a").Response.MaxMsgs/2 {
		t.Errorf("%d parts may go to one reply subject", most)
	}
}

// TestTwoHundredAtOnce asks 200 questions at once, each with an answer of several parts.
func TestTwoHundredAtOnce(t *testing.T) {
	p := newPair(t, Options{AtOnce: 200, Beat: usualBeat}, func(w http.ResponseWriter, r *http.Request) {
		for range 5 {
			_, _ = w.Write(bytes.Repeat([]byte(r.URL.Path[1:2]), 16<<10))
		}
	})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			want := string(rune('a' + i%26))
			resp, err := p.client.Get("http://custos/" + want)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil || len(b) != 5*16<<10 || strings.Trim(string(b), want) != "" {
				t.Errorf("read %d bytes: %v", len(b), err)
			}
		})
	}
	all.Wait()
}

func TestMoreThanAreAnsweredAtOnce(t *testing.T) {
	for name, o := range map[string]Options{"of all": {AtOnce: 1}, "of one host": {AtOnce: 9, OfOne: 1}} {
		t.Run(name, func(t *testing.T) { moreAtOnce(t, o) })
	}
}

func moreAtOnce(t *testing.T, o Options) {
	wait := make(chan struct{})
	p := newPair(t, o, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-wait
	})
	resp := p.get(t, "/")
	defer resp.Body.Close()
	err := api.NewClient(p.to).Down(context.Background())
	if !api.IsUnreachable(err) || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("the second: %v", err)
	}
	close(wait)
	_, _ = io.ReadAll(resp.Body)
	await(t, "that there is room", func() bool {
		resp, err := p.client.Get("http://custos/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if p.counts.Busy.Load() == 0 {
		t.Error("none was counted")
	}
}

// TestHandlersThatGoWrong has each of them be one answer that failed.
func TestHandlersThatGoWrong(t *testing.T) {
	t.Parallel()
	refusal := errors.New("seen before")
	auth := func(subject string, h nats.Header, body []byte) (string, error) {
		c, _ := readCall(body)
		switch c.Path {
		case "/refused":
			return "", refusal
		case "/other":
			return "c", nil
		case "/auth-panics":
			panic("auth")
		}
		return believed(subject, h, body)
	}
	p := newPair(t, Options{Authenticate: auth, HeadWithin: testBeat, AtOnce: 4}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panics":
			_, _ = w.Write([]byte("half"))
			panic("fault")
		case "/panics-later":
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic("fault")
		case "/late":
			<-r.Context().Done()
		case "/short":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("short"))
		case "/bad-header":
			w.Header().Set("Location", "a\nb")
		}
	})
	for _, c := range []struct {
		path   string
		status int
		want   error
	}{
		{"/refused", 403, nil}, {"/other", 403, nil}, {"/auth-panics", 500, nil},
		{"/panics", 500, nil}, {"/panics-later", 0, io.ErrUnexpectedEOF}, {"/late", 0, ErrInDoubt}, {"/short", 0, io.ErrUnexpectedEOF}, {"/bad-header", 0, ErrInDoubt},
		{"/good", 200, nil},
	} {
		resp, err := p.client.Get("http://custos" + c.path)
		var b []byte
		if err == nil {
			b, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		switch {
		case c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%s: want %v, got %v %q", c.path, c.want, err, b)
		case c.want == nil && (err != nil || resp.StatusCode != c.status || c.status != 200 && !strings.Contains(string(b), `"kind"`)):
			t.Errorf("%s: want %d, got %q %v", c.path, c.status, b, err)
		}
	}
	if n := p.counts; n.Panics.Load() != 3 || n.Refused.Load() != 2 {
		t.Errorf("counted %d panics and %d refusals", n.Panics.Load(), n.Refused.Load())
	}
}

// TestAWriteThatWaitsTooLong has a handler set a deadline for a reader that does not read.
func TestAWriteThatWaitsTooLong(t *testing.T) {
	t.Parallel()
	wrote := make(chan error, 1)
	p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(testBeat))
		_, err := w.Write(make([]byte, 2*window*usualData))
		wrote <- err
	})
	resp := p.get(t, "/")
	defer resp.Body.Close()
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing: %v", err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || n != window*usualData {
		t.Errorf("read %d bytes: %v", n, err)
	}
}

// TestServeEnds has what is being answered end with it, as an error, and waits for handlers.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := newPair(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		if r.URL.Path == "/deaf" {
			<-release
		}
	})
	resp := p.get(t, "/")
	defer resp.Body.Close()
	deaf := p.get(t, "/deaf")
	defer deaf.Body.Close()
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "1 handlers go on") {
		t.Errorf("it ended with %v", err)
	}
	close(release)
	for _, r := range []*http.Response{resp, deaf} {
		if _, err := io.ReadAll(r.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("its answer ended with %v", err)
		}
	}
}

// TestWhoAsksSigns has the signature cover the subject and the whole message.
func TestWhoAsksSigns(t *testing.T) {
	h := newHub(t)
	sum := func(subject string, body []byte) string {
		return fmt.Sprintf("%x", sha256.Sum256(append([]byte(subject+"\n"), body...)))
	}
	auth := func(subject string, header nats.Header, body []byte) (string, error) {
		if header.Get("Sum") != sum(subject, body) {
			return "", errors.New("no such signature")
		}
		return believed(subject, header, body)
	}
	serveOn(t, h.conn(t, "b"), "b", Options{Authenticate: auth}, func(http.ResponseWriter, *http.Request) {})
	spoil := false
	sign := func(subject string, body []byte) (nats.Header, error) {
		out := nats.Header{"Sum": {sum(subject, body)}}
		if spoil {
			body[len(body)-1]++
		}
		return out, nil
	}
	a, err := NewAsker(h.conn(t, "a"), "a", AskerOptions{Sign: sign, Beat: testBeat})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	to, _ := a.To("b")
	for _, want := range []int{200, 403} {
		resp, err := (&http.Client{Transport: to}).Post("http://custos/", "", strings.NewReader("order"))
		if err != nil || resp.StatusCode != want {
			t.Fatalf("want %d, got %v %v", want, resp, err)
		}
		resp.Body.Close()
		spoil = true
	}
	a.sign = func(string, []byte) (nats.Header, error) { return nil, errors.New("no key") }
	if _, err := (&http.Client{Transport: to}).Get("http://custos/"); err == nil || errors.Is(err, ErrInDoubt) || errors.Is(err, ErrNotThere) {
		t.Errorf("without a signature: %v", err)
	}
}

// TestTwoDaemonsOfOneName has one of them do what is ordered, and not both.
func TestTwoDaemonsOfOneName(t *testing.T) {
	var done atomic.Int64
	order := func(http.ResponseWriter, *http.Request) { done.Add(1) }
	p := newPair(t, Options{}, order)
	serveOn(t, p.hub.conn(t, "b"), "b", Options{}, order)
	for i := range int64(20) {
		resp := p.get(t, "/")
		_, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		if done.Load() != i+1 {
			t.Fatalf("%d orders were done %d times", i+1, done.Load())
		}
	}
}

// TestTheWindowIsSmallerWhereManyAsk holds what all answers together may be ahead.
func TestTheWindowIsSmallerWhereManyAsk(t *testing.T) {
	a := &Asker{streams: map[string]*stream{}}
	for n := range 2 * budget {
		if got := a.window(); got < 1 || got > window || n > 1 && got > 1 && got*int64(n) > budget {
			t.Fatalf("of %d answers each may be %d ahead", n, got)
		}
		a.streams[fmt.Sprint(n)] = nil
	}
}

// TestWhatIsAllowedIsNotTakenBack has a call come late: it allows less than one after it.
func TestWhatIsAllowedIsNotTakenBack(t *testing.T) {
	a := newAnswer(nil, "a", "", call{Until: 1})
	a.allow("later", 9)
	a.allow("earlier", 3)
	if a.until != 9 {
		t.Errorf("parts below %d are allowed", a.until)
	}
}
