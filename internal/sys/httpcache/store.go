package httpcache

import (
	"net/http"
	"sync"
)

// The store of one account holds at most so many bytes of answers.
const mostStored = 32 << 20

// store keeps answers that name a version of themselves, the least lately used go
// first.
type store struct {
	mu      sync.Mutex
	kept    map[string]*answer
	bytes   int
	most    int // bytes of bodies
	counter int
}

type answer struct {
	header http.Header
	body   []byte
	used   int
}

func newStore() *store { return &store{kept: map[string]*answer{}, most: mostStored} }

// condition makes a request conditional on what is stored.
func (s *store) condition(key string, h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.kept[key]
	if !ok {
		return
	}
	if tag := a.header.Get("ETag"); tag != "" {
		h.Set("If-None-Match", tag)
		return
	}
	h.Set("If-Modified-Since", a.header.Get("Last-Modified"))
}

// settle stores an answer, or fills one that says "not modified" from the store,
// and returns its header and body.
func (s *store) settle(key string, resp *http.Response, body []byte) (http.Header, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter++
	a, ok := s.kept[key]
	if resp.StatusCode == http.StatusNotModified && ok {
		a.used = s.counter
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		header := a.header.Clone()
		for name, values := range resp.Header {
			if name != "Content-Length" {
				header[name] = values
			}
		}
		return header, a.body
	}
	versioned := resp.Header.Get("ETag") != "" || resp.Header.Get("Last-Modified") != ""
	if resp.StatusCode == http.StatusOK && versioned {
		s.put(key, &answer{header: resp.Header.Clone(), body: body, used: s.counter})
	} else if ok && resp.StatusCode/100 != 5 {
		s.drop(key)
	}
	return resp.Header, body
}

func (s *store) put(key string, a *answer) {
	s.drop(key)
	s.kept[key] = a
	s.bytes += len(a.body)
	for s.bytes > s.most && len(s.kept) > 1 {
		oldest := ""
		for k, v := range s.kept {
			if oldest == "" || v.used < s.kept[oldest].used {
				oldest = k
			}
		}
		s.drop(oldest)
	}
}

func (s *store) drop(key string) {
	if a, ok := s.kept[key]; ok {
		s.bytes -= len(a.body)
		delete(s.kept, key)
	}
}
