package lease

import (
	"context"

	"custos/internal/fleet"
)

// Claim is that something which is done once, for all hosts, is one holder's: a lease says who may act for a while, a
// claim who has come first, and it does not end. Another run of the same host's daemon is another holder: it cannot
// know how far the one before it came.
type Claim struct {
	Key    string
	Holder Holder
	At     fleet.Instant // when it was asked for, by the clock of its holder's host; for show
}

// Claims is where claims are kept, for a time that is longer than anybody asks for a key. It is safe for concurrent use.
type Claims interface {
	// Claim claims a key for the holder whose Claims these are, unless somebody has claimed it, and returns whose it
	// is: whoever asks is told the same, however often. After an error it is not known whether the key is claimed,
	// and by whom; whoever asks again is told.
	Claim(ctx context.Context, key string) (Claim, error)
}
