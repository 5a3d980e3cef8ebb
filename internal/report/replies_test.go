package report_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
)

// room is a place of a test: it says what it has from the cursor on, which is a
// count, and keeps what it is told.
type room struct {
	mu     sync.Mutex
	says   []fleet.Said
	hears  []string
	fails  int  // times still that it cannot be heard
	mute   int  // times still that nothing can be said in it
	panics bool // once
}

func (r *room) Place() fleet.Place {
	return fleet.Place{Name: "ops", Room: "!r", People: []string{"@ann"}, Asks: true}
}

func (r *room) Poll(ctx context.Context, cursor string) (report.Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.panics {
		r.panics = false
		panic("odd")
	}
	if r.fails > 0 {
		r.fails--
		return report.Batch{}, errors.New("down")
	}
	n := 0
	fmt.Sscan(cursor, &n)
	if n == len(r.says) {
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		r.mu.Lock()
	}
	return report.Batch{Said: slices.Clone(r.says[n:]), Cursor: fmt.Sprint(len(r.says))}, ctx.Err()
}

func (r *room) Answer(_ context.Context, m fleet.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mute > 0 {
		r.mute--
		return errors.New("down")
	}
	if strings.Contains(m.Body, "too odd") {
		return report.ErrPermanent
	}
	r.hears = append(r.hears, m.Body)
	return nil
}

// books are the desk and the outbox of a test.
type books struct {
	mu      sync.Mutex
	taken   []string
	refuses int // times still that nothing can be taken
	out     []fleet.Message
	gone    []string
	kept    map[string]string
}

func (b *books) Take(_ context.Context, p fleet.Place, s fleet.Said) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses > 0 {
		b.refuses--
		return errors.New("the disk is full")
	}
	if slices.Contains(b.taken, s.ID) {
		return nil
	}
	b.taken = append(b.taken, s.ID)
	b.out = append(b.out, fleet.Message{ID: "r-" + s.ID, To: fleet.AnswersFor(p.Name), Body: "to " + s.Text})
	return nil
}

func (b *books) MessagesFor(_ context.Context, to string, _ int) ([]fleet.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to != "@ops" {
		return nil, errors.New("for " + to)
	}
	return slices.Clone(b.out), nil
}

func (b *books) Sent(_ context.Context, id string, _ fleet.Instant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out = slices.DeleteFunc(b.out, func(m fleet.Message) bool { return m.ID == id })
	return nil
}

func (b *books) Failed(ctx context.Context, id string, at fleet.Instant, _ string, next fleet.Instant) error {
	b.mu.Lock()
	b.gone = append(b.gone, id)
	b.mu.Unlock()
	if !next.IsZero() {
		return errors.New("it is not given up")
	}
	return b.Sent(ctx, id, at)
}

func (b *books) Told(_ context.Context, to string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []byte(b.kept[to]), nil
}

func (b *books) Keep(_ context.Context, to string, text []byte, _ fleet.Instant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[to] = string(text)
	return nil
}

// listen listens for so long, and returns what went wrong.
func listen(t *testing.T, r *room, b *books, d time.Duration) (wrong []string) {
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	var mu sync.Mutex
	report.NewReplies(report.RepliesOptions{Inboxes: []report.Inbox{r}, Handler: b, Cursors: b, Answers: b,
		Now: func() fleet.Instant { return fleet.Instant{Wall: time.Now()} }}).Run(ctx, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, err.Error())
	})
	return wrong
}

func saidOnce(n int) (out []fleet.Said) {
	for i := range n {
		out = append(out, fleet.Said{ID: fmt.Sprint("$", i), Text: fmt.Sprint("reply ", i)})
	}
	return out
}

// Whatever fails on the way, each reply is taken once and answered once, and the
// cursor moves only when all before it was taken.
func TestEachReplyIsAnsweredOnce(t *testing.T) {
	for name, breaks := range map[string]func(*room, *books){
		"nothing":           func(*room, *books) {},
		"cannot be heard":   func(r *room, _ *books) { r.fails = 4 },
		"it panics":         func(r *room, _ *books) { r.panics = true },
		"cannot be taken":   func(_ *room, b *books) { b.refuses = 3 },
		"cannot be said":    func(r *room, _ *books) { r.mute = 5 },
		"all of it at once": func(r *room, b *books) { r.fails, r.mute, b.refuses, r.panics = 2, 2, 2, true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, b := &room{says: saidOnce(3)}, &books{kept: map[string]string{}}
				breaks(r, b)
				wrong := listen(t, r, b, 10*time.Minute)
				if want := []string{"to reply 0", "to reply 1", "to reply 2"}; !slices.Equal(r.hears, want) {
					t.Errorf("answered %q", r.hears)
				}
				if b.kept["replies/ops"] != "3" || (name == "nothing") != (len(wrong) == 0) {
					t.Errorf("heard up to %q; went wrong: %q", b.kept["replies/ops"], wrong)
				}
				listen(t, r, b, time.Minute) // the next Custos
				if len(r.hears) != 3 || len(b.taken) != 3 {
					t.Errorf("after a restart: answered %q, taken %q", r.hears, b.taken)
				}
			})
		})
	}
}

// An answer that is refused for good holds up no other.
func TestAnswerThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := &room{says: saidOnce(2)}, &books{kept: map[string]string{}}
		r.says[0].Text = "too odd"
		listen(t, r, b, time.Minute)
		if !slices.Equal(r.hears, []string{"to reply 1"}) || !slices.Equal(b.gone, []string{"r-$0"}) {
			t.Errorf("answered %q, given up %q", r.hears, b.gone)
		}
	})
}

// A place that is down for a day is not asked more than once a minute, and it is
// said once.
func TestPlaceThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := &room{fails: 1 << 30}, &books{kept: map[string]string{}}
		wrong := listen(t, r, b, 24*time.Hour)
		if tries := 1<<30 - r.fails; tries > 24*60+10 || len(wrong) != 1 {
			t.Errorf("%d tries, told %q", tries, wrong)
		}
	})
}
