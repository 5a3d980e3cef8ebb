package ask

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"custos/internal/hub/protocol"
)

// raw is a call as somebody else may write it.
func raw(head, body string) []byte { return []byte(head + "\n" + body) }

const testID = "0123456789ABCDEF"

func question1(more string) string {
	return `{"v":1,"kind":"ask","id":"` + testID + `","until":8,"method":"GET","path":"/","inbox":"_INBOX_c.t"` + more + `}`
}

// TestCallsThatAreNone sends what no asker writes: each is counted and answered with an error, at a
// reply subject of who asks only, and none reaches a handler.
func TestCallsThatAreNone(t *testing.T) {
	var handled atomic.Int64
	p := newPair(t, Options{}, func(http.ResponseWriter, *http.Request) { handled.Add(1) })
	c := p.hub.conn(t, "c")
	sub, err := c.SubscribeSync("_INBOX_c.>")
	if err != nil {
		t.Fatal(err)
	}
	swap := strings.NewReplacer
	calls := map[string][]byte{
		"nothing":          {},
		"no head":          []byte(question1("")),
		"no JSON":          raw("{", ""),
		"no object":        raw("7", ""),
		"another type":     raw(swap(`"until":8`, `"until":"8"`).Replace(question1("")), ""),
		"no version":       raw(swap(`"v":1,`, "").Replace(question1("")), ""),
		"a version later":  raw(swap(`"v":1`, `"v":3`).Replace(question1("")), ""),
		"no kind":          raw(swap(`"ask"`, `"order"`).Replace(question1("")), ""),
		"no id":            raw(swap(testID, "a.b").Replace(question1("")), ""),
		"no part allowed":  raw(swap(`"until":8`, `"until":0`).Replace(question1("")), ""),
		"too much allowed": raw(swap(`"until":8`, `"until":9223372036854775807`).Replace(question1("")), ""),
		"no path":          raw(swap(`"/"`, `"x"`).Replace(question1("")), ""),
		"a host":           raw(swap(`"/"`, `"http://evil/"`).Replace(question1("")), ""),
		"a long path":      raw(swap(`"/"`, `"/`+strings.Repeat("x", mostPath)+`"`).Replace(question1("")), ""),
		"no method":        raw(swap(`"GET"`, `"GET / HTTP/1.1"`).Replace(question1("")), ""),
		"a header in two":  raw(question1(`,"header":{"Accept":["a\r\nAuthorization: b"]}`), ""),
		"a large body":     raw(question1(""), strings.Repeat("x", mostBody+1)),
		"a large head":     raw(question1(`,"x":"`+strings.Repeat("x", mostHead)+`"`), ""),
		"another's inbox":  raw(swap("_INBOX_c", "_INBOX_a").Replace(question1("")), ""),
		"negative":         raw(`{"v":1,"kind":"go","id":"`+testID+`","until":-1}`, ""),
	}
	for name, data := range calls {
		if err := c.PublishRequest(protocol.AskSubject("b", "c"), "_INBOX_c.t.0", data); err != nil {
			t.Fatal(err)
		}
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := readPart(m.Data); err != nil || got.Status != http.StatusBadRequest || !got.End || !strings.Contains(string(got.Data), "cannot") {
			t.Errorf("%s: answered with %v %s, %v", name, got, got.Data, err)
		}
	}
	if n := p.counts.Malformed.Load(); n != int64(len(calls)) || handled.Load() != 0 {
		t.Errorf("%d of %d are counted, and %d were handled", n, len(calls), handled.Load())
	}
	p.get(t, "/").Body.Close()
}

// TestAHostAnswersWhereItMayOnly has host c name reply subjects that are not its own: where host b
// may publish then, by allow_responses, nothing comes.
func TestAHostAnswersWhereItMayOnly(t *testing.T) {
	var handled atomic.Int64
	p := newPair(t, Options{}, func(http.ResponseWriter, *http.Request) { handled.Add(1) })
	c := p.hub.conn(t, "c")
	spied := make(chan *nats.Msg, 16)
	if _, err := p.a.ChanSubscribe(Listens("a"), spied); err != nil {
		t.Fatal(err)
	}
	if _, err := p.a.ChanSubscribe("_INBOX_a.>", spied); err != nil {
		t.Fatal(err)
	}
	if err := p.a.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, inbox := range []string{"_INBOX_a.t", "custos.ask.a.b"} {
		data := raw(strings.Replace(question1(""), "_INBOX_c.t", inbox, 1), "")
		if err := c.PublishRequest(protocol.AskSubject("b", "c"), inbox+".0", data); err != nil {
			t.Fatal(err)
		}
	}
	for _, reply := range []string{"custos.ask.a.b", "_INBOX_a.t.0", "_INBOX_c.t.0.x", "_INBOX_c.t", "x"} {
		for _, data := range [][]byte{raw(question1(""), ""), raw(`{"v":1,"kind":"go","id":"`+testID+`","until":9}`, ""), raw("{", "")} {
			if err := c.PublishRequest(protocol.AskSubject("b", "c"), reply, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	await(t, "that all are counted", func() bool { return p.counts.Malformed.Load() >= 15 })
	p.get(t, "/").Body.Close() // what was sent before it has come
	for len(spied) > 0 {
		if m := <-spied; m.Subject == "custos.ask.a.b" || strings.HasPrefix(m.Subject, "_INBOX_a.t") {
			t.Errorf("host b sent %q to %s", m.Data, m.Subject)
		}
	}
	if handled.Load() != 1 {
		t.Errorf("%d questions were handled", handled.Load())
	}
}

// TestAnothersQuestionIsNotTouched has host c stop, steer and double the question of another host.
func TestAnothersQuestionIsNotTouched(t *testing.T) {
	var handled atomic.Int64
	seen := make(chan []byte, 8)
	auth := func(subject string, h nats.Header, body []byte) (string, error) {
		seen <- bytes.Clone(body)
		return believed(subject, h, body)
	}
	release := make(chan struct{})
	p := newPair(t, Options{Authenticate: auth}, func(w http.ResponseWriter, _ *http.Request) {
		handled.Add(1)
		_ = http.NewResponseController(w).Flush()
		<-release
		fmt.Fprint(w, "whole")
	})
	resp := p.get(t, "/")
	defer resp.Body.Close()
	asked := <-seen
	q, err := readCall(asked)
	if err != nil {
		t.Fatal(err)
	}
	c := p.hub.conn(t, "c")
	its := bytes.ReplaceAll(asked, []byte(q.Inbox), []byte("_INBOX_c.t"))
	for _, data := range [][]byte{raw(`{"v":1,"kind":"cancel","id":"`+q.ID+`"}`, ""), raw(`{"v":1,"kind":"go","id":"`+q.ID+`","until":9}`, ""), its} {
		if err := c.PublishRequest(protocol.AskSubject("b", "c"), "_INBOX_c.t.0", data); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.a.PublishRequest(protocol.AskSubject("b", "a"), q.Inbox+".0", asked); err != nil { // itself, once more
		t.Fatal(err)
	}
	if err := errors.Join(c.Flush(), p.a.Flush(), p.b.Flush()); err != nil {
		t.Fatal(err)
	}
	await(t, "c's own question of the same ID", func() bool { return handled.Load() == 2 })
	close(release)
	b, err := io.ReadAll(resp.Body)
	if err != nil || string(b) != "whole" || handled.Load() != 2 {
		t.Errorf("read %q, %v; %d were handled", b, err, handled.Load())
	}
	if n := p.counts.Refused.Load(); n != 1 {
		t.Errorf("%d were refused", n)
	}
}

// TestWhoIsNotAnsweredIsToldSo goes on with a question that is not being answered, as after its host began
// again: it need not wait until that host is taken to be silent.
func TestWhoIsNotAnsweredIsToldSo(t *testing.T) {
	p := newPair(t, Options{}, func(http.ResponseWriter, *http.Request) {})
	c := p.hub.conn(t, "c")
	sub, err := c.SubscribeSync("_INBOX_c.t.*")
	if err == nil {
		err = c.PublishRequest(protocol.AskSubject("b", "c"), "_INBOX_c.t.1", raw(`{"v":1,"kind":"go","id":"`+testID+`","until":9}`, ""))
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readPart(m.Data); err != nil || got.Fail == "" {
		t.Errorf("answered with %+v, %v", got, err)
	}
}

// TestVersions reads messages that are a version later, and what they hold that is not known here.
func TestVersions(t *testing.T) {
	p := newPair(t, Options{}, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "whole") })
	c := p.hub.conn(t, "c")
	later := strings.Replace(question1(`,"priority":{"of":1}`), `"v":1`, `"v":2`, 1)
	sub, _ := c.SubscribeSync("_INBOX_c.t.*")
	if err := c.PublishRequest(protocol.AskSubject("b", "c"), "_INBOX_c.t.0", raw(later, "")); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readPart(m.Data); err != nil || got.Status != http.StatusOK || string(got.Data) != "whole" {
		t.Errorf("a version later: %v, %v", got, err)
	}
	if got, err := readPart(raw(`{"v":2,"n":0,"status":200,"end":true,"sum":"x"}`, "body")); err != nil || string(got.Data) != "body" {
		t.Errorf("a part a version later: %v, %v", got, err)
	}
}

// script is a host that sends to each question what a test says.
func script(t *testing.T, h *hub) (asked chan *nats.Msg, send func(reply string, p part)) {
	t.Helper()
	nc := h.conn(t, "b")
	asked = make(chan *nats.Msg, 16)
	if _, err := nc.Subscribe(Listens("b"), func(m *nats.Msg) {
		if c, err := readCall(m.Data); err == nil && c.Kind == kindAsk {
			asked <- m
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return asked, func(reply string, p part) {
		data, err := p.encode()
		if err == nil {
			err = nc.Publish(reply, data)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAnAnswerIsWholeOrAnError sends the parts of answers with some lost, doubled and in another
// order: what is read is the whole answer, or the beginning of it and an error.
func TestAnAnswerIsWholeOrAnError(t *testing.T) {
	h := newHub(t)
	asked, send := script(t, h)
	_, to := askOn(t, h.conn(t, "a"), "a", "b")
	client := &http.Client{Transport: to}
	rapid.Check(t, func(t *rapid.T) {
		parts, want := drawParts(t)
		sent := disturb(t, parts)
		var sending sync.WaitGroup
		defer sending.Wait() // it says what went wrong to a test that is not over
		sending.Go(func() {
			m := <-asked
			for _, p := range sent {
				send(m.Reply, p)
			}
			send(m.Reply, part{N: int64(len(parts)), Alive: true}) // so a loss at the end is known at once
		})
		resp, err := client.Get("http://custos/")
		var got []byte
		if err == nil {
			got, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		isWhole := isPrefix(parts, sent)
		switch {
		case isWhole && (err != nil || string(got) != want):
			t.Fatalf("of a whole answer %q came %q, %v", want, got, err)
		case !isWhole && err == nil:
			t.Fatalf("an answer that is not whole is read as %q", got)
		case !strings.HasPrefix(want, string(got)):
			t.Fatalf("of %q came %q", want, got)
		}
	})
}

// drawParts are the parts of an answer, and what it says.
func drawParts(t *rapid.T) (parts []part, whole string) {
	for i := range rapid.IntRange(1, 6).Draw(t, "parts") {
		p := part{N: int64(i), Data: []byte(strings.Repeat(string(rune('a'+i)), rapid.IntRange(0, 3).Draw(t, "bytes")))}
		if i == 0 {
			p.Status = http.StatusOK
		}
		parts, whole = append(parts, p), whole+string(p.Data)
	}
	parts[len(parts)-1].End = true
	return parts, whole
}

func disturb(t *rapid.T, parts []part) (out []part) {
	for _, p := range parts {
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0: // lost
		case 1:
			out = append(out, p, p)
		case 2:
			out = append([]part{p}, out...)
		default:
			out = append(out, p)
		}
	}
	return out
}

// isPrefix says whether all parts were sent in order before anything else.
func isPrefix(parts, sent []part) bool {
	if len(sent) < len(parts) {
		return false
	}
	for i, p := range parts {
		if sent[i].N != p.N {
			return false
		}
	}
	return true
}

// TestPartsThatAreNone has a host answer with what no host of this version writes.
func TestPartsThatAreNone(t *testing.T) {
	h := newHub(t)
	asked, send := script(t, h)
	a, to := askOn(t, h.conn(t, "a"), "a", "b")
	client := &http.Client{Transport: to}
	first := part{Status: http.StatusOK, Data: []byte("a")}
	answers := map[string][]part{
		"no status":          {{Data: []byte("a")}},
		"no end of a status": {{Status: 100}},
		"a second head":      {first, {N: 1, Status: http.StatusOK}},
		"more than allowed":  append([]part{first}, manyParts(window+1)...),
		"too large":          {first, {N: 1, Data: make([]byte, mostData+1)}},
		"a header in two":    {{Status: http.StatusOK, Header: http.Header{"Location": {"a\nb"}}}},
		"a failure":          {first, {N: 1, Fail: "no more"}},
	}
	for name, parts := range answers {
		go func() {
			m := <-asked
			for _, p := range parts {
				send(m.Reply, p)
			}
		}()
		resp, err := client.Get("http://custos/")
		if err == nil {
			await(t, name, func() bool { return len(a.all()) == 0 }) // while nothing is read, nothing more is allowed
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrInDoubt) || strings.Contains(err.Error(), "nothing was heard") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(a.all()); n != 0 {
		t.Errorf("%d questions are open", n)
	}
}

func manyParts(n int) (out []part) {
	for i := range n {
		out = append(out, part{N: int64(i + 1), Data: []byte("x")})
	}
	return out
}

func FuzzReadCall(f *testing.F) {
	f.Add(raw(question1(""), "body"))
	f.Add(raw(`{"v":1,"kind":"go","id":"`+testID+`","until":9}`, ""))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readCall(data)
		if err != nil {
			return
		}
		again, err := c.encode()
		if err != nil {
			return // its head is larger than what is written, for what was left out is
		}
		if back, err := readCall(again); err != nil || back.ID != c.ID || back.Path != c.Path || !bytes.Equal(back.Body, c.Body) {
			t.Errorf("%q is read, written and read as %v, %v", data, back, err)
		}
		if c.Kind == kindAsk {
			if _, err := request(t.Context(), "a", c); err != nil && !strings.HasPrefix(err.Error(), "cannot read a question") {
				t.Error(err)
			}
		}
	})
}

func FuzzReadPart(f *testing.F) {
	f.Add(raw(`{"v":1,"n":0,"status":200,"header":{"Etag":["x"]},"end":true}`, "body"))
	f.Add(raw(`{"v":1,"n":3,"alive":true}`, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readPart(data)
		if err != nil {
			return
		}
		again, err := p.encode()
		if err != nil {
			return
		}
		if back, err := readPart(again); err != nil || back.N != p.N || !bytes.Equal(back.Data, p.Data) {
			t.Errorf("%q is read, written and read as %v, %v", data, back, err)
		}
	})
}
