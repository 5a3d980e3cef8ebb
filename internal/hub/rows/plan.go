package rows

import "time"

// apart is how long a key rests after it was written: what changes meanwhile is written once.
const apart = time.Second

// shown is what a publisher believes to be in the bucket, and when it wrote what.
type shown struct {
	rows map[string][]byte
	at   map[string]time.Time
	rest time.Duration // apart
}

// plan is what may be written and removed now, so that the bucket becomes as want, and how long it is
// until more may be; 0: there is no more.
func (s shown) plan(want map[string][]byte, now time.Time) (put map[string][]byte, gone []string, next time.Duration) {
	put, all := Diff(s.rows, want)
	rests := func(key string) bool {
		left := s.rest - now.Sub(s.at[key])
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
		return left > 0
	}
	for key := range put {
		if rests(key) {
			delete(put, key)
		}
	}
	for _, key := range all {
		if !rests(key) {
			gone = append(gone, key)
		}
	}
	return put, gone, next
}

// note takes down what was written. Keys that have rested are forgotten.
func (s shown) note(put map[string][]byte, gone []string, now time.Time) {
	for key, at := range s.at {
		if now.Sub(at) >= s.rest {
			delete(s.at, key)
		}
	}
	for key, v := range put {
		s.rows[key], s.at[key] = v, now
	}
	for _, key := range gone {
		delete(s.rows, key)
		s.at[key] = now
	}
}
