package decide

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"time"

	"custos/internal/fleet"
)

// remembered is how long the records of ended actions are handed over at least
// (see fleet.Past.Actions).
const remembered = 24 * time.Hour

// identity returns the ID of the wish as an action: 16 hexadecimal digits of a
// hash over what is intended, which attempt it is, and what went before. A plan
// that was lost before it was committed is made again with the same IDs; a new
// attempt has a new one. Where nothing is remembered of earlier tries, whole
// days since the alert began stand for them, so that a try of yesterday, whose
// record is no longer handed over, is not taken for this one.
func (p *pass) identity(r *request, attempt int) string {
	h := sha256.New()
	field := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	f := r.finding
	for _, s := range []string{r.wish.Do, string(r.wish.Subject.Kind), r.wish.Subject.Name,
		f.Rule, string(f.Subject.Kind), f.Subject.Name, f.Since.Boot} {
		field(s)
	}
	if r.order != nil {
		field(r.order.ID)
	}
	days := int64(0)
	before := p.latest(p.history.ended[deedOf(r.wish.Do, r.wish.Subject, r.wish.Target)])
	if before != nil {
		field(before.ID)
	} else {
		days = int64(p.snap.At.Since(f.Since) / remembered)
	}
	for _, n := range []int64{int64(attempt), days, f.Since.Wall.UnixNano(), int64(f.Since.Up)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// jitter returns 0 to 20 % of a wait, always the same for one attempt at one
// subject.
func jitter(r *request, wait fleet.Duration) fleet.Duration {
	h := fnv.New64a()
	h.Write([]byte(r.wish.Subject.String()))
	h.Write([]byte{0})
	h.Write([]byte(r.wish.Do))
	h.Write([]byte{0, byte(len(r.tries))})
	const steps = 1000
	return wait / 5 / steps * fleet.Duration(h.Sum64()%(steps+1))
}
