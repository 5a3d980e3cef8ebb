package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Leaf is one value that a probe may have failed to see. The zero Leaf is
// unknown, so that a forgotten assignment never reads as healthy.
type Leaf[T any] struct {
	value T
	known bool
	why   string
}

// Known returns a leaf that was seen.
func Known[T any](v T) Leaf[T] { return Leaf[T]{value: v, known: true} }

// Unknown returns a leaf that could not be seen, and why.
func Unknown[T any](why string) Leaf[T] { return Leaf[T]{why: why} }

// Get returns the value and whether it was seen.
func (l Leaf[T]) Get() (T, bool) { return l.value, l.known }

// Or returns the value, or other when it was not seen. Use it only to show
// things to people, never to decide.
func (l Leaf[T]) Or(other T) T {
	if l.known {
		return l.value
	}
	return other
}

// IsKnown says whether the value was seen.
func (l Leaf[T]) IsKnown() bool { return l.known }

// Why says why the value is unknown; empty when it is known.
func (l Leaf[T]) Why() string {
	if !l.known && l.why == "" {
		return "not looked at"
	}
	return l.why
}

// Blind makes the leaf unknown. Tests use it to blind every leaf in turn.
func (l *Leaf[T]) Blind(why string) { *l = Unknown[T](why) }

type unseen struct {
	Unknown string `json:"unknown"`
}

// isUnseen says whether b is {"unknown": …}, however it is indented.
func isUnseen(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"unknown"`))
}

// MarshalJSON writes the value itself, or {"unknown": "why"}.
func (l Leaf[T]) MarshalJSON() ([]byte, error) {
	if l.known {
		return json.Marshal(l.value)
	}
	return json.Marshal(unseen{l.Why()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Leaf[T]) UnmarshalJSON(b []byte) error {
	if isUnseen(b) {
		var u unseen
		if err := json.Unmarshal(b, &u); err != nil {
			return fmt.Errorf("cannot read unknown leaf: %w", err)
		}
		*l = Unknown[T](u.Unknown)
		return nil
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*l = Known(v)
	return nil
}

// Seen is a pointer to the value, for code that walks through values of any type; nil
// when it is unknown.
func (l *Leaf[T]) Seen() any {
	if !l.known {
		return nil
	}
	return &l.value
}
