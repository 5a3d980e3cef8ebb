// Package lease says who of several hosts may act on what they share (a repository of a forge, a
// branch that is merged into), and who does what is done once for all of them. A lease is soft: its
// holder relies on it for a time, by its own clock, and whatever it does is checked once more where
// it is done (by the epoch in the ledger, by git's compare-and-swap, by what a forge says was
// written). Where leases are kept is a Store; when one is asked for, renewed and given back is a
// Keeper, which is pure. A Claim is made once, and lasts.
package lease

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/fleet"
)

// Holder is one run of one daemon. Two that have the name of one host (a machine that was
// cloned, a daemon that was started again) are two holders.
type Holder struct {
	Host string `json:"host"`
	Run  string `json:"run"` // random, of one run of a daemon
}

// IsNobody says whether it is none.
func (h Holder) IsNobody() bool { return h == Holder{} }

// Lease is that one holder may act on what is shared.
type Lease struct {
	Key    string // what is shared: fleet says how it is named
	Holder Holder // zero: nobody holds it
	Epoch  uint64 // larger with each change of holder
	// Until is the last moment at which its holder may rely on it, by the clock of this host,
	// counted from before it was asked for. Of another's lease it says nothing.
	Until fleet.Instant
	Token uint64 // by which a store tells this state of the lease from every other one
}

// The errors of a Store that are answers. After any other one it is not known what became of
// what was asked for: it may have been done.
var (
	// ErrHeld is of a lease that somebody holds: the lease that comes with it says who.
	ErrHeld = errors.New("the lease is held")
	// ErrLost is of a lease that was another's, or nobody's, by the time it was asked for.
	ErrLost = errors.New("the lease is lost")
)

// Store is where leases are kept. What it does is decided by one comparison in one place (a
// compare-and-swap), and never by something that was read before. It is safe for concurrent use.
// A lease that is not renewed ends by itself, its time after it was asked for last, and not before.
type Store interface {
	// Acquire takes a lease that nobody holds; ErrHeld, with the lease, where somebody does. The
	// epoch is larger than each that the store has given for the key, and not less than floor.
	Acquire(ctx context.Context, key string, floor uint64) (Lease, error)
	// Renew has the lease last for its whole time again; ErrLost where it is not in the state
	// of its token any more. The epoch stays.
	Renew(ctx context.Context, l Lease) (Lease, error)
	// Release gives a lease back. One that is lost already is no error.
	Release(ctx context.Context, l Lease) error
	// Watch tells of every lease of these keys that is held (nil: of all keys), then of one without a key, which says that these
	// were all, and then of each change: of one that is nobody's any more, too, by its key alone.
	// It returns when ctx ends, with nil, or when it cannot tell any more. What it tells is for
	// show, and for asking at the right moment.
	Watch(ctx context.Context, keys []string, tell func(Lease)) error
}

// MostEpoch is the largest epoch that is believed of others: no honest store comes near, and what is larger
// must not keep a lease from everybody for good.
const MostEpoch = 1 << 61

// longestKey is how many bytes a key may have.
const longestKey = 512

// CheckKey says what is wrong with a key.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("cannot take a lease without a key")
	case len(key) > longestKey:
		return fmt.Errorf("cannot take a lease whose key has %d bytes, %d at most", len(key), longestKey)
	}
	return nil
}
