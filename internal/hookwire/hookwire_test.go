package hookwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func post(id string) Post {
	p := Post{Kind: "claude", Event: "PreToolUse"}
	p.Stamp()
	p.ID = id
	p.SetPayload([]byte(`{"a":"\u0000é"}`))
	return p
}

// first is a post as the custos-hook of the first release writes it: those bytes do not change
// while Oldest is 1.
const first = `{"v":1,"id":"a-1","kind":"claude","event":"PreToolUse","agent":"bob","instance":"i1","cwd":"/w","ppids":[{"pid":5,"start":6}],"boot":"b","up":9,"wall":10,"payload":"e30="}`

// A hook of the release before goes on being heard.
func TestTheReleaseBeforeIsRead(t *testing.T) {
	if Oldest > 1 && Oldest > Version-1 || Oldest > Version {
		t.Errorf("version %d is read, and not the one before it", Version)
	}
	frame := append([]byte{0, 0, 0, byte(len(first))}, first...)
	p, err := ReadPost(bytes.NewReader(frame))
	if err != nil || p.Agent != "bob" || p.Instance != "i1" || p.Event != "PreToolUse" || p.CWD != "/w" || string(p.Payload) != "{}" || len(p.PPIDs) != 1 || p.PPIDs[0].PID != 5 || p.UpNanos != 9 || p.Wall != 10 {
		t.Errorf("it is read as %+v, %v", p, err)
	}
}

func TestFramesRoundTrip(t *testing.T) {
	full := post("a")
	full.Payload, full.Truncated = bytes.Repeat([]byte{0xff}, maxPayload), true // the worst that fits
	var wire bytes.Buffer
	for _, p := range []Post{full, post("b")} {
		if err := WritePost(&wire, p); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPost(bytes.NewReader(wire.Bytes()[wire.Len()-lastFrame(wire.Bytes()):]))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(p) {
			t.Errorf("%v", err)
		}
	}
	if _, err := ReadPost(&wire); err != nil {
		t.Error(err)
	}
	if p, err := ReadPost(&wire); err != nil || p.ID != "b" {
		t.Errorf("%v %v", p.ID, err)
	}
	if _, err := ReadPost(&wire); !errors.Is(err, io.EOF) {
		t.Errorf("the end reads as %v", err)
	}
}

// lastFrame is the length of the last frame of a stream.
func lastFrame(b []byte) int {
	r := bytes.NewReader(b)
	last := 0
	for r.Len() > 0 {
		before := r.Len()
		if _, err := readFrame(r); err != nil {
			return 0
		}
		last = before - r.Len()
	}
	return last
}

func TestBadPostsLoseOnlyThemselves(t *testing.T) {
	for _, c := range []struct {
		change func(*Post)
		want   string
	}{
		{func(p *Post) { p.V = Version + 1 }, fmt.Sprintf("it is of version %d, this one reads versions %d to %d", Version+1, Oldest, Version)},
		{func(p *Post) { p.V = Oldest - 1 }, "this one reads versions"},
		{func(p *Post) { p.ID = "../../x" }, "its id"},
		{func(p *Post) { p.ID = "-rf" }, "its id"},
		{func(p *Post) { p.ID = strings.Repeat("x", 65) }, "its id"},
		{func(p *Post) { p.Kind = "" }, "its kind"},
		{func(p *Post) { p.Event = strings.Repeat("x", 65) }, "its kind or event"},
		{func(p *Post) { p.Agent = strings.Repeat("x", 5000) }, "too long"},
		{func(p *Post) { p.Payload = make([]byte, maxPayload+1) }, "too long"},
		{func(p *Post) { p.PPIDs = make([]Process, 7) }, "too long"},
		{func(p *Post) { p.Wall = -1 }, "before 1970"},
	} {
		var wire bytes.Buffer
		p := post("a")
		c.change(&p)
		if err := errors.Join(WritePost(&wire, p), WritePost(&wire, post("next"))); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPost(&wire)
		var bad *BadPost
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
		if next, err := ReadPost(&wire); err != nil || next.ID != "next" {
			t.Errorf("after %v: %v", bad, err)
		}
	}
	if _, err := ReadPost(strings.NewReader("\x00\x02\x00\x01")); !errors.Is(err, errOversize) {
		t.Errorf("oversize: %v", err)
	}
	if _, err := ReadPost(strings.NewReader("\x00\x00\x00\x09{")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("torn: %v", err)
	}
}

func TestMarker(t *testing.T) {
	for in, want := range map[string][2]string{"bob:i1": {"bob", "i1"}, "a:b: c:i": {"a:b: c", "i"}, "i1": {"", "i1"}, "": {"", ""}} {
		if a, i := Marker(in); a != want[0] || i != want[1] {
			t.Errorf("%q: %q %q", in, a, i)
		}
	}
}

func TestStamp(t *testing.T) {
	t.Setenv(MarkerVar, "bob:i1")
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PWD", "/somewhere/else")
	seen := map[string]bool{}
	for range 100 {
		var p Post
		p.Kind, p.Event = "k", "e"
		p.Stamp()
		if err := p.Check(); err != nil || seen[p.ID] {
			t.Fatalf("%v %s", err, p.ID)
		}
		seen[p.ID] = true
		if p.Agent != "bob" || p.Instance != "i1" || p.CWD != dir || p.Boot == "" || p.UpNanos == 0 && upNanos() != 0 || p.PPIDs[0].PID != os.Getppid() || p.PPIDs[0].Start == 0 {
			t.Fatalf("%+v", p)
		}
	}
}

func TestSetPayload(t *testing.T) {
	var p Post
	whole := []byte(`{"tool_name":"Write","tool_input":{"content":"` + strings.Repeat(`é\"\u00e9`, 100_000) + `"},"tool_use_id":"t1"}`)
	p.SetPayload(whole)
	var got struct {
		Name  string `json:"tool_name"`
		ID    string `json:"tool_use_id"`
		Input struct{ Content string }
	}
	if err := json.Unmarshal(p.Payload, &got); err != nil || got.ID != "t1" || !p.Truncated || len(p.Payload) > 2048 {
		t.Errorf("%v %+v %d", err, got.ID, len(p.Payload))
	}
	p = Post{}
	p.SetPayload(bytes.Repeat([]byte("[1,"), 50_000))
	if len(p.Payload) != maxPayload || !p.Truncated {
		t.Errorf("%d bytes", len(p.Payload))
	}
	p = Post{}
	p.SetPayload([]byte("{}"))
	if p.Truncated || string(p.Payload) != "{}" {
		t.Errorf("%+v", p)
	}
}

func FuzzShorten(f *testing.F) {
	f.Add([]byte(`{"a":"é\u00e9\"\\x","b":["long long"]}`), 4)
	f.Fuzz(func(t *testing.T, b []byte, max int) {
		max = 2 + (max&0x7fffffff)%100
		got := shorten(b, max)
		if json.Valid(b) && !json.Valid(got) {
			t.Fatalf("%q became %q", b, got)
		}
	})
}

func FuzzReadPost(f *testing.F) {
	var b bytes.Buffer
	if err := WritePost(&b, post("a")); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := bytes.NewReader(wire)
		for {
			p, err := ReadPost(r)
			var bad *BadPost
			if err != nil && !errors.As(err, &bad) {
				return
			}
			if err == nil {
				if err := p.Check(); err != nil {
					t.Fatal(err)
				}
				if strings.ContainsAny(fileName(p), "/\x00") {
					t.Fatalf("file name %q", fileName(p))
				}
			}
		}
	})
}

func TestSpool(t *testing.T) {
	run := t.TempDir()
	s := Spool{Dir: SpoolDir(run)}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			p := post(fmt.Sprintf("p%d", i))
			p.Wall = int64(100 - i)
			if err := s.Put(p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.List()
	if err != nil || len(list) != 20 || !slices.IsSorted(list) {
		t.Fatalf("%v %v", list, err)
	}
	p, err := s.Get(list[0])
	if err != nil || p.ID != "p19" || p.Wall != 81 {
		t.Errorf("%+v %v", p, err)
	}
	if info, err := os.Stat(filepath.Join(s.Dir, list[0])); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	gone := Spool{Dir: SpoolDir(filepath.Join(run, "never"))}
	if err := gone.Put(post("x")); err == nil {
		t.Error("a run folder was made up")
	}
}

func TestSpoolKeepsItsBounds(t *testing.T) {
	s := Spool{Dir: SpoolDir(t.TempDir()), MaxFiles: 5}
	for i := range 12 {
		p := post(fmt.Sprintf("p%d", i))
		p.Wall = int64(i)
		if err := s.Put(p); err != nil {
			t.Fatal(err)
		}
	}
	torn := filepath.Join(s.Dir, ".tmp-killed")
	if err := os.WriteFile(torn, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Limit(time.Now()); err != nil {
		t.Fatal(err)
	}
	list, _ := s.List()
	if len(list) != 5 || !strings.HasSuffix(list[0], "-p7.json") {
		t.Errorf("left: %v", list)
	}
	if _, err := os.Stat(torn); err != nil {
		t.Error("what a writer is at was swept away")
	}
	if err := s.Limit(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(torn); err == nil {
		t.Error("what a killed writer left is still there")
	}
	info, err := os.Stat(filepath.Join(s.Dir, list[4]))
	if err != nil {
		t.Fatal(err)
	}
	s.MaxBytes = 2*info.Size() + 50
	if err := s.Limit(time.Now()); err != nil {
		t.Fatal(err)
	}
	if list, _ = s.List(); len(list) != 2 || !strings.HasSuffix(list[1], "-p11.json") {
		t.Errorf("left: %v", list)
	}
	for _, want := range []int{10, 0} {
		if n, err := s.Dropped(); n != want || err != nil {
			t.Errorf("%d dropped, want %d (%v)", n, want, err)
		}
	}
}

func TestSpoolReadsNoStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	s := Spool{Dir: dir}
	outside := filepath.Join(t.TempDir(), "x")
	b, _ := json.Marshal(post("a"))
	if err := os.WriteFile(outside, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(string) error{
		"link.json":  func(p string) error { return os.Symlink(outside, p) },
		"dir.json":   func(p string) error { return os.Mkdir(p, 0o700) },
		"torn.json":  func(p string) error { return os.WriteFile(p, b[:len(b)/2], 0o600) },
		"empty.json": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"huge.json":  func(p string) error { return os.WriteFile(p, make([]byte, maxFrame+1), 0o600) },
	} {
		if err := put(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if p, err := s.Get(name); err == nil {
			t.Errorf("%s was read: %+v", name, p)
		}
	}
}

func TestSendIsBounded(t *testing.T) {
	dir, err := os.MkdirTemp("", "hw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := post("a")
	p.Payload = bytes.Repeat([]byte("x"), maxPayload)
	if _, err := Send(Socket(dir), p, time.Second); err == nil {
		t.Error("sent to nobody")
	}
	if _, err := Send(filepath.Join(dir, strings.Repeat("x", 200)), p, time.Second); err == nil {
		t.Error("sent to a path that is too long")
	}
	l, err := net.Listen("unix", Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		name   string
		answer func(net.Conn)
		want   string
	}{
		{"deaf", func(net.Conn) {}, "in time"},
		{"wrong id", func(c net.Conn) { _ = WriteAck(c, Ack{V: Version, ID: "b", OK: true}) }, "another event"},
		{"refused", func(c net.Conn) { _ = WriteAck(c, Ack{V: Version, ID: "a", Why: "full"}) }, "refused: full"},
		{"newer", func(c net.Conn) { _ = WriteAck(c, Ack{V: 9, ID: "a", OK: true}) }, "version 9"},
		{"rubbish", func(c net.Conn) { _, _ = c.Write([]byte("\x00\x00\x00\x01x")) }, "cannot read answer"},
		{"closed", func(c net.Conn) { _ = c.Close() }, "cannot post"},
	} {
		done := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				if _, err := ReadPost(conn); err == nil {
					c.answer(conn)
				}
			}
			done <- conn
		}()
		began := time.Now()
		_, err := Send(Socket(dir), p, 500*time.Millisecond)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %s", c.name, took)
		}
		if conn := <-done; conn != nil {
			_ = conn.Close()
		}
	}
}
