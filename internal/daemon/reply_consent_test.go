package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// deadLock is a desk where a lock of the dead waits for somebody's approval.
func deadLock(t *testing.T) (s *system, d *replyHandler, lock string, a fleet.Alert) {
	s, d = atDesk(t, "[locks]\nforeign_namespace = false\nglobs = [\"~/*.lock\"]\n")
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	lock = filepath.Join(s.cfg.Home, "dev-poll.lock")
	old := time.Now().Add(-3 * time.Hour)
	err := os.WriteFile(lock, []byte(strconv.Itoa(gone.Process.Pid)+"\n"), 0o600)
	if err = errors.Join(err, os.Chtimes(lock, old, old)); err != nil {
		t.Fatal(err)
	}
	if _, err := (cycle{s}).Patrol(t.Context(), fleet.PatrolOrder{}); err != nil {
		t.Fatal(err)
	}
	past, err := s.ledger.Past(t.Context(), s.world.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range past.Alerts {
		if a.Subject == (fleet.Subject{Kind: fleet.KindLock, Name: lock}) && a.Status == fleet.AlertFiring {
			return s, d, lock, a
		}
	}
	t.Fatalf("no alert about %s: %+v", lock, past.Alerts)
	return nil, nil, "", fleet.Alert{}
}

// TestApprovalOfSomethingElse: what is done is what was asked, to the letter, at the
// instant of doing it.
func TestApprovalOfSomethingElse(t *testing.T) {
	s, _, lock, a := deadLock(t)
	said := annSays("$1", "approve "+strconv.FormatInt(a.Number, 10))
	reply, _ := ledger.ParseReply(said.Text)
	x := &exchange{place: chat(), said: said, reply: reply, id: answerID(chat(), said), by: "ann", at: s.world.Now()}
	heard := control.Incoming{Reply: reply, Place: x.place, Said: said, ID: x.id, By: x.by, At: x.at, Answer: x.answer}
	ask, err := s.asks(t.Context())
	if err != nil || ask[a.AlertKey].Hash == "" {
		t.Fatalf("asked %+v, %v", ask, err)
	}
	c, asked := s.control(false), askedInTime{askPort{s}, ledger.Asked{Key: ask[a.AlertKey].Key(), At: x.at}, true}
	c.Asks = asked
	if got, err := c.ActOn(t.Context(), heard); err != nil || !strings.Contains(got.Text, "has just changed") || len(got.Began) != 0 {
		t.Errorf("approved of something else: %+v, %v", got, err)
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Fatalf("it was done: %v", err)
	}
	asked.changed = false
	c.Asks = asked
	if got, err := c.ActOn(t.Context(), heard); err != nil || got.Text != "" || len(got.Began) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := s.actor.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was not done: %v", err)
	}
}

// askedInTime is a book in which the one ask was asked just now; changed says that by the
// instant of doing it something else would be done.
type askedInTime struct {
	askPort
	asked   ledger.Asked
	changed bool
}

func (b askedInTime) Asked(context.Context, string, fleet.AlertKey) (ledger.Asked, error) {
	return b.asked, nil
}

func (b askedInTime) AskOf(of fleet.AlertKey, number int64, actions []fleet.Action) fleet.Ask {
	ask := b.askPort.AskOf(of, number, actions)
	if b.changed {
		ask.Hash = strings.Repeat("0", len(ask.Hash))
	}
	return ask
}

// TestApprovalOfWhatWasNeverAsked: a number alone approves of nothing.
func TestApprovalOfWhatWasNeverAsked(t *testing.T) {
	s, d, lock, a := deadLock(t)
	got := take(t, s, d, chat(), annSays("$1", "approve "+strconv.FormatInt(a.Number, 10)))
	if len(got) != 1 || !strings.HasPrefix(got[0], "Not acted on") {
		t.Errorf("answered %q", got)
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Errorf("it was done: %v", err)
	}
}
