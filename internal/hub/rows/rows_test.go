package rows

import (
	"context"
	"fmt"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestAHostTellsAndABoardShows follows what a host sets: new rows, changed and removed ones.
func TestAHostTellsAndABoardShows(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	b := watch(t, js, Everything)
	p, _ := publish(t, h.js(t), "a", "r1")
	key, _ := Key("alert", "disk /var")
	for _, rows := range []map[string][]byte{rowsOf("agent.smith", "1", key, "full"), rowsOf("agent.smith", "2"), rowsOf("agent.jones", ""), {}} {
		p.Set(rows)
		want := Host{Rows: rows}.says()
		await(t, want, func() bool { return b.host("a").says() == want })
	}
	if got := b.host("a"); got.Silent || got.Run != "r1" || got.Age > time.Second || got.Odd != 0 || got.Cut != nil {
		t.Errorf("it is %+v", got)
	}
	await(t, "that it is counted", func() bool { return p.Counts.Removed.Load() == 3 })
	if n := &p.Counts; n.Rows.Load() != 4 || n.Removed.Load() != 3 || n.Loads.Load() != 1 || n.Bytes.Load() == 0 || n.Failed.Load() != 0 {
		t.Errorf("%d rows written and %d removed, %d loads, %d failures", n.Rows.Load(), n.Removed.Load(), n.Loads.Load(), n.Failed.Load())
	}
}

// TestOnlyTheNewestIsWritten sets a row a thousand times: it is written once a second.
func TestOnlyTheNewestIsWritten(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	b := watch(t, js, Everything)
	p, err := NewPublisher(h.js(t), PublisherOptions{Host: "a", Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	background(t, p.Run)
	begun := time.Now()
	for i := range 1000 {
		p.Set(rowsOf("a.1", fmt.Sprint(i)))
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %s", took)
	}
	await(t, "the newest", func() bool { return b.host("a").says() == "map[a.1:999]" })
	if n := p.Counts.Rows.Load(); n > 2 {
		t.Errorf("it was written %d times", n)
	}
}

// TestRowsOfAnEarlierRunGo has a daemon begin again that tells less.
func TestRowsOfAnEarlierRunGo(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	kv := bucket(t, js)
	p, stop := publish(t, h.js(t), "a", "r1")
	p.Set(rowsOf("a.1", "1", "a.2", "2", "a.3", "3"))
	await(t, "three rows", func() bool { return p.Counts.Rows.Load() == 3 })
	stop()
	if _, err := kv.PutString(context.Background(), "ab.a.1", "of another host"); err != nil {
		t.Fatal(err)
	}
	b := watch(t, js, Everything)
	p, _ = publish(t, h.js(t), "a", "r2")
	await(t, "its head", func() bool { return b.host("a").Run == "r2" })
	if got := b.host("a").says(); got != "map[a.1:1 a.2:2 a.3:3]" {
		t.Errorf("before it has said anything: %s", got)
	}
	p.Set(rowsOf("a.1", "1", "a.2", "new"))
	await(t, "what it tells", func() bool { return b.host("a").says() == "map[a.1:1 a.2:new]" })
	await(t, "that it is counted", func() bool { return p.Counts.Rows.Load() > 0 })
	if n := p.Counts.Rows.Load(); n != 1 || b.host("ab").says() != "map[a.1:of another host]" || b.host("a").Doubled {
		t.Errorf("%d were written, and another host is %s", n, b.host("ab").says())
	}
}

// TestALostBucketIsFilledAgain loses it in four ways; each time the board has everything again, and
// says meanwhile that it is not told.
func TestALostBucketIsFilledAgain(t *testing.T) {
	ctx := context.Background()
	for name, lose := range map[string]func(t *testing.T, h *hub, js jetstream.JetStream){
		"made anew": func(t *testing.T, _ *hub, js jetstream.JetStream) {
			if err := js.DeleteKeyValue(ctx, Bucket); err != nil {
				t.Fatal(err)
			}
			bucket(t, js)
		},
		"the hub began again": func(t *testing.T, h *hub, js jetstream.JetStream) {
			h.restart(t)
			await(t, "a bucket", func() bool {
				_, err := js.CreateKeyValue(ctx, Config(1))
				return err == nil
			})
		},
		"rows lost": func(t *testing.T, _ *hub, js jetstream.JetStream) {
			s, err := js.Stream(ctx, stream)
			if err == nil {
				err = s.Purge(ctx, jetstream.WithPurgeSubject(prefix+"a.a.2"))
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"connections lost": func(t *testing.T, h *hub, _ jetstream.JetStream) {
			h.restart(t) // with what it had, or without
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			js := h.js(t)
			config := Config(1)
			if name == "connections lost" {
				config.Storage = jetstream.FileStorage
			}
			kv, err := js.CreateKeyValue(ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			b := watch(t, js, Everything)
			p, _ := publish(t, h.js(t), "a", "r1")
			p.Set(rowsOf("a.1", "1", "a.2", "2"))
			const want = "map[a.1:1 a.2:2]"
			await(t, "all rows", func() bool { return b.host("a").says() == want })
			loads := p.Counts.Loads.Load()
			lose(t, h, js)
			await(t, "that it is read again", func() bool { return p.Counts.Loads.Load() > loads })
			await(t, "all rows in the bucket", func() bool {
				e, err := kv.Get(ctx, "a.a.2")
				return err == nil && string(e.Value()) == "2"
			})
			await(t, "all rows on the board", func() bool {
				got := b.Snapshot()
				return got.Blind == "" && b.host("a").says() == want && !b.host("a").Silent
			})
			p.Set(rowsOf("a.1", "3"))
			await(t, "that it goes on", func() bool { return b.host("a").says() == "map[a.1:3]" })
		})
	}
}

// TestSilence has heads cease: a host is silent by the board's own clock, which goes on while nothing
// comes, and by the server's where the board has begun later.
func TestSilence(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	kv := bucket(t, js)
	b := watch(t, js, Heads)
	wrong := func() time.Time { return time.Unix(0, 0) } // its own clock says nothing
	p, err := NewPublisher(h.js(t), PublisherOptions{Host: "a", Run: "r1", Beat: testBeat, Now: wrong})
	if err != nil {
		t.Fatal(err)
	}
	stop := background(t, p.Run)
	p.Set(rowsOf("a.1", "1"))
	await(t, "its head", func() bool { return b.host("a").Run == "r1" && !b.host("a").Silent })
	await(t, "its row", func() bool { return p.Counts.Rows.Load() == 1 })
	if got := b.host("a"); len(got.Rows) != 0 {
		t.Errorf("heads alone were wanted, and %s came", got.says())
	}
	stop()
	b.clock.add.Store(int64(silent) / 2)
	if got := b.host("a"); got.Silent || got.Age < silent/2 {
		t.Errorf("silent after %s", got.Age)
	}
	b.clock.add.Store(int64(silent) + int64(time.Second))
	if got := b.host("a"); !got.Silent {
		t.Errorf("not silent after %s", got.Age)
	}
	e, err := kv.Get(context.Background(), "a.head")
	if err != nil {
		t.Fatal(err)
	}
	await(t, "a while", func() bool { return time.Since(e.Created()) > 600*time.Millisecond })
	late := watch(t, js, Everything)
	await(t, "what is there", func() bool { return late.Snapshot().Whole })
	if got, age := late.host("a"), time.Since(e.Created()); got.Age > age+100*time.Millisecond || got.Age < age-500*time.Millisecond {
		t.Errorf("its head is %s old, and %s on a board that began later", age, got.Age)
	}
}

// TestAHostThatTellsNothingIsNone removes all that a host has told, and its head.
func TestAHostThatTellsNothingIsNone(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	kv := bucket(t, js)
	b := watch(t, js, Everything)
	p, stop := publish(t, h.js(t), "a", "r1")
	p.Set(rowsOf("a.1", "1"))
	await(t, "its row", func() bool { return len(b.host("a").Rows) == 1 })
	stop()
	for _, key := range []string{"a.a.1", "a.head"} {
		if len(b.Snapshot().Hosts) != 1 {
			t.Errorf("before %s goes there are %+v", key, b.Snapshot().Hosts)
		}
		if err := kv.Delete(context.Background(), key); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "that it is none", func() bool { return len(b.Snapshot().Hosts) == 0 })
}

// TestTwoDaemonsOfOneName has both tell.
func TestTwoDaemonsOfOneName(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	b := watch(t, js, Heads)
	publish(t, h.js(t), "a", "r1")
	await(t, "the first", func() bool { return b.host("a").Run == "r1" && !b.host("a").Doubled })
	publish(t, h.js(t), "a", "r2")
	await(t, "that there are two", func() bool { return b.host("a").Doubled })
}

// TestATwinIsNoticed: who tells under a name notices that another one does, too, and takes a bucket
// that was lost for none, nor one of its own heads that comes late.
func TestATwinIsNoticed(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	p, _ := publish(t, h.js(t), "a", "r1")
	await(t, "some heads", func() bool { return p.Counts.Heads.Load() >= 3 })
	if err := js.DeleteKeyValue(t.Context(), Bucket); err != nil {
		t.Fatal(err)
	}
	bucket(t, js)
	told := p.Counts.Heads.Load()
	await(t, "more heads", func() bool { return p.Counts.Heads.Load() >= told+3 })
	if p.Doubled() {
		t.Error("it takes a bucket that was lost for a twin")
	}
	if _, err := js.Publish(t.Context(), prefix+"a."+headKey, []byte(`{"v":1,"run":"r1","seq":1}`)); err != nil {
		t.Fatal(err)
	}
	told = p.Counts.Heads.Load()
	await(t, "more heads", func() bool { return p.Counts.Heads.Load() >= told+2 })
	if p.Doubled() {
		t.Error("it takes one of its own heads that comes late for a twin's")
	}
	q, _ := publish(t, h.js(t), "a", "r2")
	await(t, "that each notices the other", func() bool { return p.Doubled() && q.Doubled() })
}

// TestABoardIsBlindWithoutAHub says so, and keeps what was.
func TestABoardIsBlindWithoutAHub(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	kv := bucket(t, js)
	b := newBoard(t, h.js(t))
	if got := b.Snapshot(); got.Blind == "" || got.Whole {
		t.Errorf("before it began: %+v", got)
	}
	background(t, func(ctx context.Context) { b.Watch(ctx, Everything) })
	if _, err := kv.PutString(context.Background(), "a.a.1", "1"); err != nil {
		t.Fatal(err)
	}
	await(t, "a row", func() bool { return b.host("a").says() == "map[a.1:1]" && b.Snapshot().Blind == "" })
	before := b.told.Load()
	h.Shutdown()
	await(t, "that it is blind", func() bool { return b.Snapshot().Blind != "" })
	await(t, "that it is told", func() bool { return b.told.Load() > before })
	if got := b.host("a").says(); got != "map[a.1:1]" {
		t.Errorf("what was is %s", got)
	}
}

// TestChangesAreToldTogether has many rows change at once.
func TestChangesAreToldTogether(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	b := watch(t, js, Everything)
	p, _ := publish(t, h.js(t), "a", "r1")
	rows := map[string][]byte{}
	for i := range 2000 {
		rows[fmt.Sprint("a.", i)] = []byte("x")
	}
	p.Set(rows)
	await(t, "all", func() bool { return len(b.host("a").Rows) == 2000 })
	await(t, "that it is told", func() bool { return b.told.Load() > 0 })
	if n := b.told.Load(); n > 15 {
		t.Errorf("it was told %d times", n)
	}
	before := b.told.Load()
	heads := p.Counts.Heads.Load()
	await(t, "some heads", func() bool { return p.Counts.Heads.Load() > heads+12 })
	if n := b.told.Load(); n > before+2 { // the last rows, and that it is not silent any more
		t.Errorf("heads alone were told %d times", n-before)
	}
}

// TestABoardIsWatchedWhileSomebodyLooks begins with a look, and ends a while after the last.
func TestABoardIsWatchedWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	kv := bucket(t, js)
	if _, err := kv.PutString(context.Background(), "a.a.1", "1"); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(context.Background(), stream)
	if err != nil {
		t.Fatal(err)
	}
	consumers := func() int {
		info, err := s.Info(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Consumers
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := Attend(ctx, newBoard(t, js).Board, Everything)
	a.still = 300 * time.Millisecond
	for range 2 {
		if got := a.Look(); got.Whole || len(got.Hosts) != 0 || got.Blind == "" {
			t.Errorf("at the first look: %+v", got)
		}
		await(t, "what is there", func() bool { got := a.Look(); return got.Whole && len(got.Hosts) == 1 })
		if n := consumers(); n != 1 {
			t.Errorf("%d watch", n)
		}
		await(t, "that nobody watches", func() bool { return consumers() == 0 && !a.runs() })
	}
}

func (a *Attended) runs() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running
}

// TestWhatAHostMayDo runs both with the rights that they need, and no others.
func TestWhatAHostMayDo(t *testing.T) {
	t.Parallel()
	host := &natsserver.User{Username: "a", Password: "a", Permissions: &natsserver.Permissions{
		Publish: &natsserver.SubjectPermission{Allow: []string{
			"$KV.custos_fleet.a.>", "$JS.API.STREAM.INFO.KV_custos_fleet",
			"$JS.API.CONSUMER.CREATE.KV_custos_fleet.>", "$JS.API.CONSUMER.DELETE.KV_custos_fleet.>", "$JS.FC.KV_custos_fleet.>",
		}},
		Subscribe: &natsserver.SubjectPermission{Allow: []string{"_INBOX_a.>"}},
	}}
	h := newHub(t, host, &natsserver.User{Username: "hub", Password: "hub"})
	bucket(t, h.js(t, nats.UserInfo("hub", "hub")))
	refused := make(chan error, 16)
	js := h.js(t, nats.UserInfo("a", "a"), nats.CustomInboxPrefix("_INBOX_a"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	b := watch(t, js, Everything)
	p, _ := publish(t, js, "a", "r1")
	p.Set(rowsOf("a.1", "1", "a.2", "2"))
	await(t, "its rows", func() bool { return b.host("a").says() == "map[a.1:1 a.2:2]" })
	p.Set(rowsOf("a.1", "1"))
	await(t, "that one is gone", func() bool { return b.host("a").says() == "map[a.1:1]" })
	var heads, failed int64
	await(t, "a thorough look without a failure", func() bool { // a right that is missing fails each time, a machine under load once
		if n := p.Counts.Failed.Load(); n != failed {
			failed, heads = n, p.Counts.Heads.Load()
		}
		return p.Counts.Heads.Load() > heads+2*thorough
	})
	for len(refused) > 0 {
		t.Error(<-refused)
	}
}

// TestMarkersGo has the marker of a row that was removed end by itself.
func TestMarkersGo(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	p, _ := publish(t, h.js(t), "a", "r1")
	p.Set(rowsOf("a.1", "1"))
	await(t, "a row", func() bool { return p.Counts.Rows.Load() == 1 })
	p.Set(rowsOf())
	await(t, "that it is gone", func() bool { return p.Counts.Removed.Load() == 1 })
	s, err := js.Stream(context.Background(), stream)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(context.Background(), prefix+"a.a.1")
	if err != nil {
		t.Fatal(err)
	}
	if ttl, err := time.ParseDuration(m.Header.Get(jetstream.MsgTTLHeader)); err != nil || ttl != markers {
		t.Errorf("its marker stays for %q", m.Header.Get(jetstream.MsgTTLHeader))
	}
	if !s.CachedInfo().Config.AllowMsgTTL {
		t.Error("the bucket lets no marker end")
	}
}

// TestAnotherBucketIsSeenAtOnce looks at the bucket as with each head, and not as thoroughly as with some.
func TestAnotherBucketIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	p, err := NewPublisher(js, PublisherOptions{Host: "a", Run: "r1"})
	if err == nil {
		err = p.load(ctx, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, isAnother := range []bool{false, true} {
		p.stale.Store(false)
		if err := p.look(ctx, false); err != nil || p.stale.Load() != isAnother {
			t.Errorf("another bucket: %v, and it is seen as %v, %v", isAnother, p.stale.Load(), err)
		}
		if err := js.DeleteKeyValue(ctx, Bucket); err != nil {
			t.Fatal(err)
		}
		bucket(t, js)
	}
}

func TestWhatIsNoHost(t *testing.T) {
	for _, name := range []string{"", "a.b", "*", ">", "a b", "ä"} {
		if _, err := NewPublisher(nil, PublisherOptions{Host: name, Run: "r"}); err == nil {
			t.Errorf("%q is a host", name)
		}
	}
	if _, err := NewPublisher(nil, PublisherOptions{Host: "a"}); err == nil {
		t.Error("there is a publisher without a run")
	}
}

// TestANodeThatIsBehind: what a node tells that lacks what this host itself has told is not believed to be all.
func TestANodeThatIsBehind(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	other, _ := publish(t, js, "a", "r1")
	other.Set(rowsOf("a.1", "1"))
	await(t, "a row", func() bool { return other.Counts.Rows.Load() == 1 })
	b := newBoard(t, js)
	b.Own = "me"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go b.Watch(ctx, Everything)
	await(t, "that it is not believed", func() bool { return b.Snapshot().Blind == errBehind.Error() })
	if s := b.Snapshot(); s.Whole {
		t.Errorf("it is taken for all: %+v", s)
	}
	mine, _ := publish(t, js, "me", "r1")
	mine.Set(rowsOf())
	await(t, "all", func() bool { s := b.Snapshot(); return s.Whole && s.Blind == "" && len(s.Hosts) == 2 })
}

// TestWhatIsToldIsKnown: a publisher says what the bucket has, when it has all that was set, and not before, nor while
// it is not known.
func TestWhatIsToldIsKnown(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	p, _ := publish(t, js, "a", "r1")
	if p.Told() != nil {
		t.Error("it knows what is told before anything was")
	}
	for _, want := range []map[string][]byte{rowsOf("a.1", "1"), rowsOf("a.1", "2", "a.2", "1"), rowsOf("a.2", "1"), {}} {
		if p.Set(want); p.Told() != nil && len(p.Told()) != len(want) {
			t.Error("what was set before is taken to be told still")
		}
		await(t, "it is known", func() bool { return p.Told() != nil })
		got := p.Told()
		if len(got) != len(want) {
			t.Fatalf("it has told %d rows, want %d", len(got), len(want))
		}
		for key, value := range want {
			if string(got[key]) != string(value) {
				t.Errorf("%s is told as %q, want %q", key, got[key], value)
			}
		}
	}
	if p.stale.Store(true); p.Told() != nil {
		t.Error("it knows what is told though that is to be read anew")
	}
	p.wake()
	await(t, "it is known", func() bool { return p.Told() != nil })
}

// TestWhatIsReadAnewIsNotTold: while it is read what the bucket has, nothing that it had before is taken to be in it.
func TestWhatIsReadAnewIsNotTold(t *testing.T) {
	p, err := NewPublisher(nil, PublisherOptions{Host: "a", Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	p.stale.Store(false)
	all := rowsOf("a.1", "1")
	p.Set(all)
	if p.hasAll(all, 1); len(p.Told()) != 1 {
		t.Fatal("it does not know what it has told")
	}
	p.stale.Store(true)
	if !p.isStale() || p.Told() != nil {
		t.Errorf("it takes %v to be told while that is read anew", p.Told())
	}
}
