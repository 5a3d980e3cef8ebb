package forgetest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is one way to fail. Its zero value fails every request in no way.
type Fault struct {
	Path  string // of the requests that it meets: a part of their URI, or of its path as it is meant; "" for all
	Times int    // how many of them; 0 for all

	Status  int             // answered at once, with Body
	Body    string          // of that answer
	Header  http.Header     // of that answer
	Half    bool            // the answer breaks off in the middle
	Endless bool            // every page of a list has a next one
	Wait    <-chan struct{} // the answer comes when this is closed
	Met     func()          // called when a request meets it

	met int
}

// Break adds a fault; it returns what ends it.
func (s *Server) Break(f Fault) (mend func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := &f
	s.faults = append(s.faults, fault)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := range s.faults {
			if s.faults[i] == fault {
				s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
				return
			}
		}
	}
}

// Limited is what a forge answers that was asked too often: 403 as GitHub's second
// limit, for a time.
func Limited(after time.Duration) Fault {
	return Fault{Status: http.StatusForbidden, Body: `{"message":"You have exceeded a secondary rate limit."}`,
		Header: http.Header{"Retry-After": {strconv.Itoa(int(after / time.Second))}}}
}

// Spent is what GitHub answers when its hour is spent.
func Spent(reset time.Time) Fault {
	return Fault{Status: http.StatusForbidden, Body: `{"message":"API rate limit exceeded"}`,
		Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {fmt.Sprint(reset.Unix())}}}
}

func (s *Server) fault(r *http.Request) *Fault {
	for _, f := range s.faults {
		if (strings.Contains(r.URL.RequestURI(), f.Path) || strings.Contains(r.URL.Path, f.Path)) && (f.Times == 0 || f.met < f.Times) {
			f.met++
			return f
		}
	}
	return nil
}

// answer writes the answer of a fault that has one.
func (f *Fault) answer(w http.ResponseWriter) bool {
	if f.Status == 0 {
		return false
	}
	for name, values := range f.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
	return true
}
