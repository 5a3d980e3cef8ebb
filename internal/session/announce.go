package session

import "context"

// Announcer is what a Provider may offer besides: it tells of what happens where
// its agents run, so that no caller has to wait for a look.
type Announcer interface {
	// Announce calls tell, one call at a time, until ctx ends; it returns soon
	// after. When what stands between goes away, or does not answer any more, that
	// is told, and it is listened to again as soon as it is there. It touches no
	// agent, and nothing that hangs keeps it from ending.
	Announce(ctx context.Context, tell func(Notice)) error
}

// Notice says that something happened. It is a reason to look, never a fact.
type Notice struct {
	What  string    // in words, safe to show; "" when the panes were looked through, and that is all
	Panes []Glimpse // then: every pane there is
}

// Glimpse is the little of a pane that is cheap to know often.
type Glimpse struct {
	Pane  string // as in fleet.PaneID
	Dead  bool
	Title string // as the program set it, at most 200 characters
	Wrote int64  // when its window was last written to, in seconds since 1970; 0: not told
}
