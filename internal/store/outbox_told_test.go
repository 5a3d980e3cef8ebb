package store

import (
	"testing"
	"time"
)

// What a receiver was told is kept for each, replaced as a whole, and is there
// again when the database is opened anew.
func TestToldIsKept(t *testing.T) {
	s := fresh(t)
	if text, err := s.Told(t.Context(), "phone"); err != nil || len(text) != 0 {
		t.Fatalf("a new receiver was told %q, %v", text, err)
	}
	for _, text := range []string{`{"a":1}`, `{"b":2}`} {
		ok(t, s.Keep(t.Context(), "phone", []byte(text), at(time.Second)))
	}
	ok(t, s.Keep(t.Context(), "room", []byte("{}"), at(time.Second)))
	r, err := OpenReadOnly(t.Context(), Options{Path: s.opts.Path})
	ok(t, err)
	defer r.Close()
	if text, err := r.Told(t.Context(), "phone"); err != nil || string(text) != `{"b":2}` {
		t.Errorf("told %q, %v", text, err)
	}
	if err := r.Keep(t.Context(), "phone", nil, at(0)); err == nil {
		t.Error("a store for reading has written")
	}
}
