package control

import (
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
)

// longestWait is how far a moment may lie ahead.
const longestWait = 10 * 366 * 24 * time.Hour

// momentOf is the moment that is given, or so long from now; the zero Instant when
// neither is. Both clocks give it: within this boot nothing can set it off.
func momentOf(what string, at time.Time, in string, now fleet.Instant) (fleet.Instant, error) {
	wait, err := spanOf(what, in)
	switch {
	case err != nil:
		return fleet.Instant{}, err
	case !at.IsZero() && in != "":
		return fleet.Instant{}, fmt.Errorf("%s: either a moment, or so long from now", what)
	case at.IsZero() && in == "":
		return fleet.Instant{}, nil
	case in == "":
		wait = fleet.Duration(at.Sub(now.Wall))
	}
	if time.Duration(wait) > longestWait {
		return fleet.Instant{}, fmt.Errorf("%s: it is more than ten years away", what)
	}
	return now.Add(time.Duration(wait)), nil
}

// spanOf reads a duration; 0 for none.
func spanOf(what, text string) (fleet.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no duration", what, fleet.Line(text, 40))
	}
	if d <= 0 {
		return 0, errors.New(what + ": it must be more than nothing")
	}
	return fleet.Duration(d), nil
}
