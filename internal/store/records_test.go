package store

import (
	"errors"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

func adds(w ...fleet.WorkItem) func(fleet.Records) (fleet.Records, error) {
	return func(fleet.Records) (fleet.Records, error) { return fleet.Records{Work: w}, nil }
}

// TestRecordsAreNumberedAndKeyed: each new record has a number of its own; one
// whose key is known is the one that there is.
func TestRecordsAreNumberedAndKeyed(t *testing.T) {
	s := fresh(t)
	first, err := s.EditRecords(t.Context(), at(0), adds(fleet.WorkItem{Head: fleet.Head{Key: "k"}, Title: "a"}, fleet.WorkItem{Title: "b"}))
	ok(t, err)
	again, err := s.EditRecords(t.Context(), at(time.Second), adds(fleet.WorkItem{Head: fleet.Head{Key: "k"}, Title: "another"}))
	ok(t, err)
	if first.Work[0].ID != "w1" || first.Work[1].ID != "w2" || again.Work[0].ID != "w1" || again.Work[0].Title != "a" {
		t.Errorf("first %+v, again %+v", first.Work, again.Work)
	}
	if p := past(t, s, at(time.Second)); len(p.Records.Work) != 2 {
		t.Errorf("past %+v", p.Records.Work)
	}
}

// TestChangesUseUpNoNumbers: people read the numbers.
func TestChangesUseUpNoNumbers(t *testing.T) {
	s := fresh(t)
	_, err := s.EditRecords(t.Context(), at(0), adds(fleet.WorkItem{Title: "a"}))
	ok(t, err)
	for range 5 {
		_, err = s.EditRecords(t.Context(), at(0), func(r fleet.Records) (fleet.Records, error) { return r, nil })
		ok(t, err)
	}
	made, err := s.EditRecords(t.Context(), at(0), adds(fleet.WorkItem{Title: "b"}))
	if ok(t, err); made.Work[0].ID != "w2" {
		t.Errorf("the second is %s", made.Work[0].ID)
	}
}

// TestRecordChangedMeanwhile: a turn that was thought out from an older record is
// not committed, and nothing of it is.
func TestRecordChangedMeanwhile(t *testing.T) {
	s := fresh(t)
	made, err := s.EditRecords(t.Context(), at(0), adds(fleet.WorkItem{Title: "a"}))
	ok(t, err)
	_, err = s.EditRecords(t.Context(), at(time.Second), func(r fleet.Records) (fleet.Records, error) {
		r.Work[0].Title = "b"
		return fleet.Records{Work: r.Work[:1:1]}, nil
	})
	ok(t, err)
	stale := made.Work[0]
	stale.Title = "c"
	err = s.Commit(t.Context(), fleet.Turn{At: at(2 * time.Second), Plan: fleettest.Rows(fleet.Changes{Records: fleet.Records{Work: []fleet.WorkItem{stale, {Title: "new"}}}})})
	if !errors.Is(err, ErrConflict) {
		t.Errorf("committed: %v", err)
	}
	if p := past(t, s, at(3*time.Second)); len(p.Records.Work) != 1 || p.Records.Work[0].Title != "b" {
		t.Errorf("past %+v", p.Records.Work)
	}
}

// TestEditRefusedWritesNothing: an error of the edit is its caller's.
func TestEditRefusedWritesNothing(t *testing.T) {
	s := fresh(t)
	refusal := errors.New("no")
	_, err := s.EditRecords(t.Context(), at(0), func(fleet.Records) (fleet.Records, error) {
		return fleet.Records{Work: []fleet.WorkItem{{Title: "a"}}}, refusal
	})
	if p := past(t, s, at(0)); !errors.Is(err, refusal) || !p.Records.IsZero() {
		t.Errorf("%v: %+v", err, p.Records)
	}
}

// TestMailIsKeptUntilItIsOver: what is over counts for a day, what is not for ever.
func TestMailIsKeptUntilItIsOver(t *testing.T) {
	s := fresh(t)
	read := fleet.Mail{Sorted: true, Subject: "read", Copies: []fleet.MailCopy{{To: "a", State: fleet.CopyRead}}}
	unread := fleet.Mail{Sorted: true, Subject: "unread", Copies: []fleet.MailCopy{{To: "a", State: fleet.CopyTold}}}
	_, err := s.EditRecords(t.Context(), at(0), func(fleet.Records) (fleet.Records, error) {
		return fleet.Records{Mails: []fleet.Mail{read, unread}}, nil
	})
	ok(t, err)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{23 * time.Hour, 2}, {25 * time.Hour, 1}, {9000 * time.Hour, 1}} {
		if p := past(t, s, at(c.after)); len(p.Records.Mails) != c.want {
			t.Errorf("after %v: %d mails, want %d", c.after, len(p.Records.Mails), c.want)
		}
	}
}
