package git

import "errors"

// errNotLooked is why the zero Answer has no value.
var errNotLooked = errors.New("not looked at")

// Answer is a value, or why it could not be had. The zero Answer is unknown, so
// that a forgotten assignment never reads as healthy.
type Answer[T any] struct {
	value T
	known bool
	err   error
}

// Answered returns an answer that holds v, or, when err is not nil, why there is none.
func Answered[T any](v T, err error) Answer[T] {
	if err != nil {
		return Answer[T]{err: err}
	}
	return Answer[T]{value: v, known: true}
}

// Get returns the value, or why there is none.
func (a Answer[T]) Get() (T, error) {
	if !a.known && a.err == nil {
		return a.value, errNotLooked
	}
	return a.value, a.err
}
