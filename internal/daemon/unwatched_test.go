package daemon

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"custos/internal/observe/watch"
)

// A watch that is refused is seen by the probe of Custos itself.
func TestARefusedWatchIsSeen(t *testing.T) {
	s := watching(t)
	if v := selfSeen(t, s); v.Unwatched != "" {
		t.Errorf("all is followed, and: %q", v.Unwatched)
	}
	s.part(t.Context(), "watch files", func(context.Context) error { return errors.New("no space left on device") })
	if v := selfSeen(t, s); v.Unwatched != "watch files: no space left on device" {
		t.Errorf("a watch was refused, and: %q", v.Unwatched)
	}
}

// Events of files that are lost, and a folder that cannot be watched any more, are seen
// by the probe of Custos itself: the ones for an hour, the other until it is watched again.
func TestLostEventsAreSeen(t *testing.T) {
	s := watching(t)
	s.unfollowed("watch files")(errors.New("cannot watch /w: too many levels"))
	s.unfollowed("watch files")(fmt.Errorf("%w: queue or buffer overflow", watch.ErrLost))
	const events = "changes of files: events were lost: queue or buffer overflow"
	if v := selfSeen(t, s); v.Unwatched != events+"; watch files: cannot watch /w: too many levels" {
		t.Errorf("told of %q", v.Unwatched)
	}
	s.unfollowed("watch files")(nil)
	if v := selfSeen(t, s); v.Unwatched != events {
		t.Errorf("told of %q", v.Unwatched)
	}
	if told := s.unwatched.tell(s.world.Now().Add(missedFor)); told != "" {
		t.Errorf("an hour later: %q", told)
	}
}
