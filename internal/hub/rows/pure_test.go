package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"
)

func drawRows(t *rapid.T, name string) map[string][]byte {
	return rapid.MapOf(rapid.StringMatching(`a\.[a-e]{1,2}`), rapid.SliceOfN(rapid.Byte(), 0, 2)).Draw(t, name)
}

// TestDiff applies what Diff says, and nothing that it says is needless.
func TestDiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, now := drawRows(t, "before"), drawRows(t, "now")
		put, gone := Diff(before, now)
		got := maps.Clone(before)
		for _, key := range gone {
			if _, is := got[key]; !is {
				t.Fatalf("%s goes, and is not there", key)
			}
			delete(got, key)
		}
		for key, v := range put {
			if old, was := before[key]; was && bytes.Equal(old, v) {
				t.Fatalf("%s is written, and is so already", key)
			}
			got[key] = v
		}
		if !maps.EqualFunc(got, now, bytes.Equal) {
			t.Fatalf("got %v, want %v", got, now)
		}
	})
}

// TestKeys has every ID come back, no two have one key, and every key fit the bucket.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_-]{1,20}`), rapid.StringN(1, 60, mostID), rapid.Just("=YQ"), rapid.Just("a.b"), rapid.Just("*")).Draw(t, "id")
		key, err := Key("agent", id)
		if err != nil {
			t.Fatal(err)
		}
		kind, back, is := Named(key)
		if !is || kind != "agent" || back != id || !isRow(key) {
			t.Fatalf("%q is %q, and comes back as %q of %q", id, key, back, kind)
		}
		if strings.Count(key, ".") != 1 || !rowKey.MatchString(key) {
			t.Fatalf("%q is no key of the bucket", key)
		}
	})
	for _, key := range []string{"", "head", "cut", "a.", ".a", "a.b.c", "a.=", "a.=YQ", "a.=!!", "a.b=", "a b.c", "a.*", "a.>", strings.Repeat("a", 65) + ".b", "a." + strings.Repeat("b", mostID+1)} {
		if isRow(key) && key != "a.=YQ" {
			t.Errorf("%q is a row", key)
		}
	}
	if isRow("a.=YQ") { // "a", which is written as it is
		t.Error("an ID has two keys")
	}
	for _, c := range [][2]string{{"", "a"}, {"a.b", "a"}, {"a", ""}, {"a", strings.Repeat("x", mostID+1)}} {
		if key, err := Key(c[0], c[1]); err == nil {
			t.Errorf("%q of %q has the key %q", c[1], c[0], key)
		}
	}
}

// TestIsRowIsNamed holds the short way of isRow against the long one.
func TestIsRowIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-zA-Z0-9_=.\- *é]{0,8}\.?[a-zA-Z0-9_=.\- *é@\[`+"`"+`{]{0,8}`).Draw(t, "key")
		if _, _, is := Named(key); is != isRow(key) {
			t.Fatalf("%q: %v and %v", key, is, isRow(key))
		}
	})
}

func TestWhatIsNoRowIsSaid(t *testing.T) {
	got := limit(rowsOf("a.1", "1", "no key", "x", headKey, "x", cutKey, "x", "a.large", strings.Repeat("x", mostRow+1)))
	if len(got) != 2 || string(got[cutKey]) != `{"large":["a.large"],"odd":3,"of":5}` || string(got["a.1"]) != "1" {
		t.Errorf("told are %q", got)
	}
}

func TestWhatIsTooMuchIsSaid(t *testing.T) {
	all := map[string][]byte{}
	for i := range mostRows {
		all[fmt.Sprintf("a.%05d", i)] = []byte("x")
	}
	if got := limit(all); len(got) != mostRows || got[cutKey] != nil {
		t.Errorf("of %d rows %d are told", mostRows, len(got))
	}
	all["b.large"] = make([]byte, mostRow+1)
	all["b.most"] = make([]byte, mostRow)
	all["no key"] = []byte("x")
	all[headKey] = []byte("x")
	all[cutKey] = []byte("x")
	got := limit(all)
	var cut Cut
	if err := json.Unmarshal(got[cutKey], &cut); err != nil {
		t.Fatal(err)
	}
	if len(got) != mostRows+1 || got["b.large"] != nil || got["b.most"] != nil || got[headKey] != nil || got["a.00000"] == nil {
		t.Errorf("%d rows are told", len(got))
	}
	if len(cut.Large) != 1 || cut.Large[0] != "b.large" || cut.Odd != 3 || cut.More != 1 || cut.Of != mostRows+5 {
		t.Errorf("it is said of them: %+v", cut)
	}
}

// TestAHubThatTellsNothing: while this host's own beats do not come back nobody is silent, and what they missed then
// does not count; who stays away when they come again is.
func TestAHubThatTellsNothing(t *testing.T) {
	var now time.Duration
	b, err := NewBoard(nil, BoardOptions{Own: "me", Now: func() time.Duration { return now }})
	if err != nil {
		t.Fatal(err)
	}
	beat := func(name string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hears(name, now)
		if b.hosts[name] == nil {
			b.hosts[name] = newHost()
		}
		b.hosts[name].beats(fmt.Appendf(nil, `{"v":1,"run":"r","seq":%d}`, now), now)
	}
	b.replace(map[string]*hostState{})
	is := func(blind bool, silent ...string) {
		t.Helper()
		s, got := b.Snapshot(), []string{}
		for _, h := range s.Hosts {
			if h.Silent {
				got = append(got, h.Name)
			}
		}
		if (s.Blind != "") != blind || !blind && !slices.Equal(got, silent) {
			t.Errorf("at %s: blind %q, silent %v; want %v, %v", now, s.Blind, got, blind, silent)
		}
	}
	for ; now <= 60*time.Second; now += 5 * time.Second {
		beat("me")
		beat("here")
		if now <= 20*time.Second {
			beat("gone")
		}
	}
	is(false, "gone")
	now += 60 * time.Second // the hub is stopped
	is(true)
	beat("me")
	is(false)
	now += 10 * time.Second
	beat("me")
	beat("here")
	is(false)
	now += 5 * time.Second
	beat("me")
	is(false, "gone")
}

// TestWhoIsHeard: what the hub has of a host when it is listened to first says nothing of whether that is there now: it is
// heard when it tells, and silent when it does not.
func TestWhoIsHeard(t *testing.T) {
	now := time.Hour
	b, err := NewBoard(nil, BoardOptions{Own: "me", Now: func() time.Duration { return now }})
	if err != nil {
		t.Fatal(err)
	}
	old := func(ago time.Duration) *hostState {
		h := newHost()
		h.beats([]byte(`{"v":1,"run":"r","seq":1}`), now-ago)
		return h
	}
	b.replace(map[string]*hostState{"here": old(time.Second), "gone": old(2 * time.Second), "long": old(time.Minute)})
	is := func(heard, silent, late string) {
		t.Helper()
		b.mu.Lock()
		b.hears("me", now)
		b.mu.Unlock()
		var got [3]string
		for _, h := range b.Snapshot().Hosts {
			for i, is := range []bool{h.Heard, h.Silent, h.IsLate()} {
				if is {
					got[i] += h.Name + " "
				}
			}
		}
		if want := [3]string{heard, silent, late}; got != want {
			t.Errorf("at %s: heard, silent and late are %q; want %q", now, got, want)
		}
	}
	is("", "", "long ")
	b.hasChanged()
	now += 5 * time.Second
	b.hosts["here"].beats([]byte(`{"v":1,"run":"r","seq":2}`), now)
	is("here ", "", "long ")
	if !b.hasChanged() {
		t.Error("that a host is heard is no change")
	}
	now += 10 * time.Second
	b.hosts["here"].beats([]byte(`{"v":1,"run":"r","seq":3}`), now)
	is("here ", "gone long ", "gone long ")
	now += 15 * time.Second // nothing of its own came back in them, so that it is the hub that was away
	is("", "", "gone here long ")
	for range 2 { // and now the hub tells again, and "here" does not
		now += 5 * time.Second
		is("", "", "gone here long ")
	}
	now += 5 * time.Second
	is("", "gone here long ", "gone here long ")
}

// TestAHostThatTellsTooManyBytes: what is beyond them is told of by its count, and nobody keeps more.
func TestAHostThatTellsTooManyBytes(t *testing.T) {
	all := map[string][]byte{}
	for i := range 70 {
		all[fmt.Sprintf("a.%05d", i)] = make([]byte, mostRow)
	}
	got := limit(all)
	var cut Cut
	if err := json.Unmarshal(got[cutKey], &cut); err != nil || len(got) != 65 || cut.More != 6 {
		t.Errorf("%d rows are told, and %+v, %v", len(got), cut, err)
	}
	h := newHost()
	for key, v := range all {
		h.put(key, v)
	}
	if len(h.rows) != 64 || h.odd != 6 || h.size != mostAll {
		t.Errorf("%d rows of %d bytes, %d set aside", len(h.rows), h.size, h.odd)
	}
	for key := range h.rows {
		h.remove(key)
	}
	if h.put("a.new", make([]byte, mostRow)); h.size != mostRow {
		t.Errorf("%d bytes are left", h.size)
	}
}

// TestAKeyIsWrittenOnceASecond plans histories of what is wanted: nothing is written twice within
// a second, and when nothing more is wanted, all is written after one.
func TestAKeyIsWrittenOnceASecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shown{map[string][]byte{}, map[string]time.Time{}, apart}
		last := map[string]time.Time{}
		now := time.Unix(0, 0)
		var want map[string][]byte
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			want = drawRows(t, "want")
			put, gone, next := s.plan(want, now)
			for _, key := range append(gone, keysOf(put)...) {
				if at, was := last[key]; was && now.Sub(at) < apart {
					t.Fatalf("%s is written again after %s", key, now.Sub(at))
				}
				last[key] = now
			}
			s.note(put, gone, now)
			if isDone := maps.EqualFunc(s.rows, want, bytes.Equal); isDone != (next == 0) || next > apart {
				t.Fatalf("more is to be written in %s", next)
			}
		}
		put, gone, _ := s.plan(want, now.Add(apart))
		s.note(put, gone, now.Add(apart))
		if len(s.at) != len(put)+len(gone) {
			t.Fatalf("%d keys rest, and %d were written", len(s.at), len(put)+len(gone))
		}
		if !maps.EqualFunc(s.rows, want, bytes.Equal) {
			t.Fatalf("got %v, want %v", s.rows, want)
		}
	})
}

func keysOf(m map[string][]byte) (out []string) {
	for key := range m {
		out = append(out, key)
	}
	return out
}

func told(run string, seq int64) []byte {
	b, _ := json.Marshal(head{V: 1, Run: run, Seq: seq})
	return b
}

// TestTwoOfOneName tells two daemons of one name from one that took another's place.
func TestTwoOfOneName(t *testing.T) {
	type came struct {
		run string
		seq int64
		at  time.Duration
	}
	s := time.Second
	for name, c := range map[string]struct {
		heads []came
		want  bool
		now   time.Duration
	}{
		"one":                    {[]came{{"a", 1, 0}, {"a", 2, 5 * s}, {"a", 3, 10 * s}}, false, 10 * s},
		"one that began again":   {[]came{{"a", 1, 0}, {"b", 1, s}, {"b", 2, 6 * s}}, false, 6 * s},
		"two":                    {[]came{{"a", 1, 0}, {"b", 1, s}, {"a", 2, 5 * s}}, true, 5 * s},
		"three":                  {[]came{{"a", 1, 0}, {"b", 1, s}, {"c", 1, 2 * s}, {"a", 2, 5 * s}}, true, 5 * s},
		"copies of one":          {[]came{{"a", 7, 0}, {"a", 7, s}}, true, s},
		"two, of which one went": {[]came{{"a", 1, 0}, {"b", 1, s}, {"a", 2, 5 * s}, {"a", 3, 10 * s}, {"a", 4, 20 * s}}, false, 20 * s},
		"one that took turns":    {[]came{{"a", 1, 0}, {"b", 1, 14 * s}, {"a", 2, 30 * s}}, false, 30 * s},
		"one that was back late": {[]came{{"a", 1, 0}, {"b", 1, 20 * s}, {"a", 2, 40 * s}}, false, 40 * s},
	} {
		h := newHost()
		for _, x := range c.heads {
			h.beats(told(x.run, x.seq), x.at)
		}
		if got := h.value("h", c.now, 0); got.Doubled != c.want || got.Silent {
			t.Errorf("%s: doubled %v, silent %v", name, got.Doubled, got.Silent)
		}
	}
}

// TestAHostTellsNoMoreThanItMay has a host tell what none of this version does.
func TestAHostTellsNoMoreThanItMay(t *testing.T) {
	h := newHost()
	h.put("a.large", make([]byte, mostRow+1))
	for i := range mostRows + 10 {
		h.put(fmt.Sprint("a.", i), []byte("x"))
	}
	h.put("a.b.c", nil)
	h.put("a.0", []byte("y"))
	for _, bad := range []string{"", "{", "7", `{"v":1}`, `{"v":0,"run":"a"}`, `{"v":1,"run":"` + strings.Repeat("a", 65) + `"}`, `{"v":1,"run":"a","x":"` + strings.Repeat("a", mostHead) + `"}`} {
		h.beats([]byte(bad), 0)
	}
	got := h.value("h", 0, 0)
	if len(got.Rows) != mostRows || got.Rows["a.large"] != nil || got.Odd != 19 || string(got.Rows["a.0"]) != "y" || !got.Silent || got.Run != "" {
		t.Errorf("%d rows, %d odd, silent %v", len(got.Rows), got.Odd, got.Silent)
	}
}

// TestASnapshotIsAValue changes a host after it was shown.
func TestASnapshotIsAValue(t *testing.T) {
	h := newHost()
	h.put("a.1", []byte("1"))
	before := h.value("h", 0, 0)
	h.put("a.1", []byte("2"))
	h.put("a.2", []byte("2"))
	h.remove("a.1")
	if string(before.Rows["a.1"]) != "1" || len(before.Rows) != 1 {
		t.Errorf("what was shown is now %q", before.Rows)
	}
	if after := h.value("h", 0, 0); len(after.Rows) != 1 || after.Rows["a.2"] == nil {
		t.Errorf("it is %q", after.Rows)
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add(told("a", 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := readHead(data); err == nil && (h.Run == "" || h.V < 1) {
			t.Errorf("%q is read as %+v", data, h)
		}
	})
}

// entry is what a watch hands over.
type entry struct {
	jetstream.KeyValueEntry
	key   string
	value []byte
	gone  bool
}

func (e entry) Key() string   { return e.key }
func (e entry) Value() []byte { return e.value }
func (e entry) Operation() jetstream.KeyValueOp {
	if e.gone {
		return jetstream.KeyValuePurge
	}
	return jetstream.KeyValuePut
}

// TestWhatIsAChange says of each thing that comes to a board whether it is told.
func TestWhatIsAChange(t *testing.T) {
	now := time.Second
	b, err := NewBoard(nil, BoardOptions{Now: func() time.Duration { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		come entry
		add  time.Duration
		want bool
	}{
		{"a host", entry{key: "a.head", value: told("r1", 1)}, 0, true},
		{"a head", entry{key: "a.head", value: told("r1", 2)}, time.Second, false},
		{"another run", entry{key: "a.head", value: told("r2", 1)}, 0, true},
		{"a row", entry{key: "a.a.1", value: []byte("1")}, 0, true},
		{"that a row went", entry{key: "a.a.1", gone: true}, 0, true},
		{"silence", entry{}, silent, true},
		{"silence that goes on", entry{}, silent, false},
		{"a head after silence", entry{key: "a.head", value: told("r2", 2)}, 0, true},
		{"two", entry{key: "a.head", value: told("r2", 2)}, 0, true},
		{"that a host went", entry{key: "a.head", gone: true}, 0, true},
	} {
		now += c.add
		if c.come.key != "" {
			b.update(c.come)
		}
		if got := b.hasChanged(); got != c.want {
			t.Errorf("%s: told %v", c.what, got)
		}
		if b.hasChanged() {
			t.Errorf("%s: told twice", c.what)
		}
	}
	if got := b.Snapshot().Hosts; len(got) != 0 {
		t.Errorf("left are %+v", got)
	}
}
