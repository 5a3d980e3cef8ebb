package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/terminal"
	"custos/internal/terminal/live"
)

// stage is a world with one agent, whose terminal shows what a test says.
type stage struct {
	*live.Hub
	mu     sync.Mutex
	text   string
	shots  []time.Time
	gone   error
	scene  string
	seat   string
	barred error
	bad    map[string]bool // sessions that have ended
	notes  []live.Note
	typed  []terminal.Stroke
	press  error
}

func newStage() *stage {
	s := &stage{text: "hello", scene: "one", seat: "one", bad: map[string]bool{}}
	s.Hub = live.New(live.Options{Find: s.find, Seat: s.sit, Good: s.good, Note: s.note, Changed: func() {}})
	return s
}

func (s *stage) find(context.Context, string) (live.Scene, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return live.Scene{ID: s.scene, Every: 100 * time.Millisecond, Shoot: s.shoot}, s.gone
}

func (s *stage) shoot(context.Context) ([]terminal.Line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shots = append(s.shots, time.Now())
	return terminal.Read(s.text), s.gone
}

func (s *stage) sit(context.Context, string) (live.Seat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return live.Seat{ID: s.seat, Press: func(_ context.Context, k []terminal.Stroke) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.typed = append(s.typed, k...)
		return s.press
	}}, s.barred
}

func (s *stage) good(_ context.Context, session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.bad[session]
}

func (s *stage) note(_ context.Context, n live.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, n)
}

func (s *stage) set(change func(*stage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// taken is how many pictures were taken so far.
func (s *stage) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.shots)
}

func (s *stage) noted() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, n := range s.notes {
		out = append(out, n.Text)
	}
	return strings.Join(out, "\n")
}

// looker is somebody who looks, and what they see by what they were told alone.
type looker struct {
	mu     sync.Mutex
	lines  []terminal.Line
	kinds  []string
	id     string
	gone   string
	typing string
	sizes  []int
	end    context.CancelFunc
	ended  chan error
}

func (s *stage) look(t *testing.T, after string, seen []terminal.Line) *looker {
	ctx, end := context.WithCancel(t.Context())
	l := &looker{end: end, ended: make(chan error, 1), lines: seen}
	go func() { l.ended <- s.Look(ctx, "builder", after, l.take) }()
	return l
}

func (l *looker) take(e live.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind != "" {
		l.kinds = append(l.kinds, e.Kind)
	}
	switch e.Kind {
	case "frame":
		var c struct {
			Whole bool
			terminal.Change
		}
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return err
		}
		if c.Whole {
			l.lines = nil
			l.kinds[len(l.kinds)-1] = "whole"
		}
		l.lines, l.id, l.gone = terminal.Apply(c.Change, l.lines), e.ID, ""
		l.sizes = append(l.sizes, len(e.Data))
	case "gone":
		l.gone = string(e.Data)
	case "typing":
		l.typing = string(e.Data)
	}
	return nil
}

func (l *looker) sees() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.lines {
		out = append(out, line.Text())
	}
	return strings.Join(out, "\n")
}

func (l *looker) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kinds)
}

// last is what it was told last.
func (l *looker) last() (id, gone, typing string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.gone, l.typing
}

func (l *looker) leaves() {
	l.end()
	<-l.ended
}

// While nobody looks nothing is looked at; however many look, it is for all of them at once,
// ten times a second at most, and less often when nothing happens.
func TestATerminalIsLookedAtOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		time.Sleep(time.Minute)
		if n := s.taken(); n != 0 {
			t.Fatalf("nobody looks, and %d pictures were taken", n)
		}
		var all []*looker
		for range 50 {
			all = append(all, s.look(t, "", nil))
		}
		for i := range 100 {
			s.set(func(s *stage) { s.text = fmt.Sprintf("hello %d\nmore", i) })
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		for i, l := range all {
			if got := l.sees(); got != "hello 99\nmore" {
				t.Errorf("looker %d sees %q", i, got)
			}
		}
		s.set(func(s *stage) {
			for i := 1; i < len(s.shots); i++ {
				if gap := s.shots[i].Sub(s.shots[i-1]); gap < 100*time.Millisecond {
					t.Errorf("two pictures were %s apart", gap)
				}
			}
			if n := len(s.shots); n < 50 || n > 65 {
				t.Errorf("%d pictures in 6 seconds", n)
			}
		})
		time.Sleep(10 * time.Second)
		before := s.taken()
		time.Sleep(10 * time.Second)
		if n := s.taken() - before; n < 35 || n > 41 {
			t.Errorf("%d pictures of a quiet terminal in 10 seconds", n)
		}
		for _, l := range all {
			l.leaves()
		}
		time.Sleep(time.Second)
		before = s.taken()
		time.Sleep(time.Minute)
		if n := s.taken() - before; n != 0 {
			t.Errorf("nobody looks any more, and %d pictures were taken", n)
		}
	})
}

// Who comes again goes on where they were; who was away for too long, or at another time,
// gets all of it.
func TestWhoComesAgainGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		stays := s.look(t, "", nil)
		first := s.look(t, "", nil)
		time.Sleep(time.Second)
		first.leaves()
		s.set(func(s *stage) { s.text = "hello\nworld" })
		time.Sleep(time.Second)
		again := s.look(t, first.id, first.lines)
		time.Sleep(time.Second)
		if got := again.told(); again.sees() != "hello\nworld" || slices.Contains(got, "whole") || !slices.Contains(got, "frame") {
			t.Errorf("it was told %v and sees %q", got, again.sees())
		}
		again.leaves()
		for i := range 100 {
			s.set(func(s *stage) { s.text = fmt.Sprint(i) })
			time.Sleep(150 * time.Millisecond)
		}
		for _, id := range []string{first.id, "OTHER-3", "junk"} {
			late := s.look(t, id, first.lines)
			time.Sleep(time.Second)
			if got := late.told(); late.sees() != "99" || !slices.Contains(got, "whole") {
				t.Errorf("after %q it was told %v and sees %q", id, got, late.sees())
			}
			late.leaves()
		}
		stays.leaves()
	})
}

// A looker that is slow is told of what is, not of all that was; one that fails is dropped.
func TestASlowLookerIsToldOfTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		var told int
		ended := make(chan error, 2)
		var mu sync.Mutex
		go func() {
			ended <- s.Look(t.Context(), "builder", "", func(e live.Event) error {
				time.Sleep(3 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				if told++; told == 5 {
					return errors.New("it reads no more")
				}
				return nil
			})
		}()
		for i := range 300 {
			s.set(func(s *stage) { s.text = fmt.Sprint(i) })
			time.Sleep(100 * time.Millisecond)
		}
		if err := <-ended; err == nil || told != 5 {
			t.Errorf("%d, %v", told, err)
		}
		before := s.taken()
		time.Sleep(time.Minute)
		if s.taken() != before {
			t.Error("it is looked at for one that was dropped")
		}
	})
}

// A terminal that goes is said, and the next one is shown whole.
func TestATerminalThatGoesIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		l := s.look(t, "", nil)
		defer l.leaves()
		time.Sleep(time.Second)
		s.set(func(s *stage) { s.gone = errors.New("its terminal is gone") })
		time.Sleep(3 * time.Second)
		if _, gone, _ := l.last(); gone != `{"says":"its terminal is gone"}` || l.sees() != "hello" {
			t.Errorf("it was told %s and sees %q", gone, l.sees())
		}
		s.set(func(s *stage) { s.gone, s.scene, s.text = nil, "two", "new" })
		time.Sleep(3 * time.Second)
		if got := l.told(); l.sees() != "new" || got[len(got)-1] != "whole" {
			t.Errorf("it was told %v and sees %q", got, l.sees())
		}
	})
}

var (
	ann  = live.Who{Session: "s1", View: "v1", By: "ann"}
	ann2 = live.Who{Session: "s1", View: "v2", By: "ann"}
	bob  = live.Who{Session: "s2", View: "v1", By: "bob"}
)

func keys(text string) []terminal.Stroke { return []terminal.Stroke{{Text: text}} }

// One person at a time types, everybody who looks is told who; what was typed is shown at
// once, each turn once, and only how much is written down.
func TestOnePersonTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		l := s.look(t, "", nil)
		defer l.leaves()
		time.Sleep(10 * time.Second)
		hold, _, err := s.Take(t.Context(), "builder", ann, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Take(t.Context(), "builder", bob, true); err == nil || !strings.Contains(err.Error(), "ann types there") {
			t.Errorf("bob takes it as well: %v", err)
		}
		if s.Typing("builder") != "ann" || s.Typing("other") != "" {
			t.Error("it is not told who types")
		}
		for _, turn := range []int64{1, 1, 2, 1} {
			if err := s.Type(t.Context(), "builder", hold, "s1", turn, keys(fmt.Sprint("t", turn))); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(s.typed) != "[{t1  } {t2  }]" {
			t.Errorf("%v was typed", s.typed)
		}
		for _, who := range [][2]string{{hold, "s2"}, {"other", "s1"}, {"", ""}} {
			if err := s.Type(t.Context(), "builder", who[0], who[1], 9, keys("x")); !errors.Is(err, live.ErrNotYours) {
				t.Errorf("%v: %v", who, err)
			}
		}
		if err := s.Type(t.Context(), "builder", hold, "s1", 9, []terminal.Stroke{{Key: "x; y"}}); err == nil || errors.Is(err, live.ErrNotYours) {
			t.Errorf("no key: %v", err)
		}
		time.Sleep(time.Second)
		if _, _, typing := l.last(); !strings.Contains(typing, `"by":"ann"`) {
			t.Errorf("who looks is told %s", typing)
		}
		s.Release("builder", hold, "s2")
		s.Release("builder", hold, "s1")
		s.Release("builder", hold, "s1")
		time.Sleep(time.Second)
		if _, _, typing := l.last(); !strings.HasPrefix(typing, `{"ended":"`) || s.Typing("builder") != "" {
			t.Errorf("who looks is told %s", typing)
		}
		want := "ann takes over the keyboard of agent builder by the page\nann typed 4 keys to agent builder by the page in 1s; it ended: they left it"
		if got := s.noted(); got != want {
			t.Errorf("written down is\n%s", got)
		}
	})
}

// What is typed is shown within 150 ms, however long nothing has happened.
func TestWhatIsTypedIsShownSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		l := s.look(t, "", nil)
		defer l.leaves()
		defer s.Close()
		hold, _, err := s.Take(t.Context(), "builder", ann, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			time.Sleep(time.Duration(i*37%900) * time.Millisecond)
			text := fmt.Sprint("echo ", i)
			if err := s.Type(t.Context(), "builder", hold, "s1", int64(i+1), keys("x")); err != nil {
				t.Fatal(err)
			}
			s.set(func(s *stage) { s.text = text })
			began := time.Now()
			for l.sees() != text {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(began); took > 150*time.Millisecond {
				t.Errorf("key %d was shown after %s", i, took)
			}
		}
	})
}

// Who types is stopped when they may not go on, and it is said why.
func TestTypingEnds(t *testing.T) {
	for _, c := range []struct {
		name, why string
		do        func(*stage)
		within    time.Duration
	}{
		{"idle", "nothing was typed for a minute", func(*stage) {}, 62 * time.Second},
		{"revoked", "their session has ended", func(s *stage) { s.bad["s1"] = true }, 2 * time.Second},
		{"another terminal", "is another one by now", func(s *stage) { s.seat = "two" }, 2 * time.Second},
		{"frozen", "frozen: by bob", func(s *stage) { s.barred = errors.New("frozen: by bob") }, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				hold, _, err := s.Take(t.Context(), "builder", ann, false)
				if err != nil {
					t.Fatal(err)
				}
				s.set(c.do)
				time.Sleep(c.within)
				if s.Typing("builder") != "" || !strings.Contains(s.noted(), c.why) {
					t.Errorf("written down is\n%s", s.noted())
				}
				if err := s.Type(t.Context(), "builder", hold, "s1", 1, keys("x")); !errors.Is(err, live.ErrNotYours) || len(s.typed) != 0 {
					t.Errorf("typed %v, %v", s.typed, err)
				}
			})
		})
	}
}

// Whoever may type there is asked at each write, not only now and then.
func TestEachWriteAsksWhoIsThere(t *testing.T) {
	for name, do := range map[string]func(*stage){
		"another one": func(s *stage) { s.seat = "two" },
		"frozen":      func(s *stage) { s.barred = errors.New("frozen") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				hold, _, err := s.Take(t.Context(), "builder", ann, false)
				if err != nil {
					t.Fatal(err)
				}
				s.set(do)
				if err := s.Type(t.Context(), "builder", hold, "s1", 1, keys("x")); !errors.Is(err, live.ErrNotYours) || len(s.typed) != 0 {
					t.Errorf("typed %v, %v", s.typed, err)
				}
				synctest.Wait()
				if s.Typing("builder") != "" {
					t.Error("it goes on")
				}
			})
		})
	}
}

// The keyboard of a person whose session has ended does not bar others. The same person takes
// it from another window, where they say so; who looks is never told that nobody has it.
func TestAKeyboardIsTakenFromWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		l := s.look(t, "", nil)
		defer l.leaves()
		first, n, err := s.Take(t.Context(), "builder", ann, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Take(t.Context(), "builder", ann2, false); !errors.Is(err, live.ErrElsewhere) {
			t.Errorf("the second window is told: %v", err)
		}
		s.set(func(s *stage) { s.barred = errors.New("it has ended") })
		if _, _, err := s.Take(t.Context(), "builder", ann2, false); err == nil || errors.Is(err, live.ErrElsewhere) || !strings.Contains(err.Error(), "it has ended") {
			t.Errorf("of one that has ended the second window is told: %v", err)
		}
		s.set(func(s *stage) { s.barred = nil })
		if err := s.Type(t.Context(), "builder", first, "s1", 1, keys("x")); err != nil {
			t.Errorf("the first window: %v", err)
		}
		time.Sleep(time.Second)
		before := len(l.told())
		_, m, err := s.Take(t.Context(), "builder", ann2, true)
		if err != nil || m <= n {
			t.Fatalf("it is number %d after %d: %v", m, n, err)
		}
		if err := s.Type(t.Context(), "builder", first, "s1", 2, keys("x")); !errors.Is(err, live.ErrNotYours) {
			t.Errorf("the first window types on: %v", err)
		}
		time.Sleep(time.Second)
		if _, _, typing := l.last(); !strings.Contains(typing, `"view":"v2"`) || strings.Count(strings.Join(l.told()[before:], " "), "typing") != 1 {
			t.Errorf("who looks is told %s, after %v", typing, l.told()[before:])
		}
		if said := s.noted(); !strings.Contains(said, "typed 1 keys to agent builder by the page in 1s; it ended: it was taken over in another window of the same browser\nann takes over") {
			t.Errorf("written down is\n%s", said)
		}
		s.set(func(s *stage) { s.bad["s1"] = true })
		if _, _, err := s.Take(t.Context(), "builder", bob, false); err != nil {
			t.Error(err)
		}
		if got := live.Unended(s.notes); len(got) != 1 || got[0].Of != s.notes[len(s.notes)-1].Of || !strings.Contains(got[0].Text, "bob takes over the keyboard of agent builder by the page") {
			t.Errorf("not ended are %q", got)
		}
		s.Close()
		if s.Typing("builder") != "" || len(live.Unended(s.notes)) != 0 {
			t.Error("it is not over when Custos ends")
		}
	})
}
