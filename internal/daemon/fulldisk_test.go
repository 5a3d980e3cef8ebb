package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/store"
)

// The first write that finds no room is told, and no other; the disk has room again when
// a write finds it a minute after the last that did not.
func TestTheFirstWriteThatFindsNoRoomIsTold(t *testing.T) {
	now, met := fleet.Instant{Wall: time.Unix(0, 0), Boot: "b"}, 0
	d := &fullDisk{dir: "/s", now: func() fleet.Instant { return now }, met: func() { met++ }}
	full := fmt.Errorf("cannot commit: %w", store.ErrFull)
	for _, step := range []struct {
		after time.Duration
		err   error
		met   int
		full  bool
	}{
		{0, nil, 0, false}, {0, errors.New("busy"), 0, false}, {0, full, 1, true}, {time.Second, nil, 1, true}, {time.Second, full, 1, true},
		{59 * time.Second, nil, 1, true}, {time.Second, errors.New("busy"), 1, true}, {0, nil, 1, false}, {0, full, 2, true},
	} {
		now = now.Add(step.after)
		d.wrote(step.err)
		if why := d.says(); met != step.met || (why != "") != step.full || step.full && !strings.HasPrefix(why, "the disk of /s is full: ") {
			t.Fatalf("after %+v: told %d times, %q", step, met, why)
		}
	}
}
