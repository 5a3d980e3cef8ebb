package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
)

// The kinds of error.
const (
	BadInput    = "bad_input"   // the question makes no sense: exit code 2
	NotFound    = "not_found"   // there is no such thing: exit code 2
	Changed     = "changed"     // what was approved is not what would be done any more: exit code 2
	Forbidden   = "forbidden"   // this caller may not: exit code 2
	CannotLook  = "cannot_look" // the world could not be seen: exit code 3
	Unseen      = "unseen"      // agents are not seen now, so it is not known whether an agent asks: exit code 3
	Unreachable = "unreachable" // Custos does not answer: exit code 3
	Lost        = "lost"        // it was asked, and may have done it, but the answer was lost: exit code 3
	Impostor    = "impostor"    // who listens at the socket is no Custos: exit code 3
	Held        = "held"        // another Custos writes, and nothing was done: exit code 3
	Internal    = "internal"    // a fault of Custos: exit code 3
)

// Error is an answer that is none.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // the command a person can type
	// Again says, of an answer that was lost, that asking again does nothing twice.
	Again bool `json:"-"`
	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns why an answer was lost; nil of any other error.
func (e *Error) Unwrap() error { return e.cause }

// HTTPStatus is the status code an error of this kind travels with.
func (e *Error) HTTPStatus() int {
	switch e.Kind {
	case BadInput:
		return http.StatusBadRequest
	case NotFound:
		return http.StatusNotFound
	case Forbidden:
		return http.StatusForbidden
	case Changed:
		return http.StatusConflict
	case CannotLook, Unseen, Unreachable, Lost, Impostor, Held:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Found is the error of this API that err is, or wraps, in the words of all that wraps it; nil for none.
func Found(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok || err.Error() == e.Message {
		return e
	}
	whole := *e
	whole.Message = err.Error()
	return &whole
}

// ErrorOf finds the kind of an error.
func ErrorOf(err error) *Error {
	var tooBig *http.MaxBytesError
	e := Found(err)
	switch {
	case e != nil:
		return e
	case errors.As(err, &tooBig):
		return &Error{Kind: BadInput, Message: fmt.Sprintf("cannot read the request: it is larger than %d bytes", tooBig.Limit)}
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Kind: NotFound, Message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Kind: CannotLook, Message: err.Error()}
	}
	return &Error{Kind: Internal, Message: err.Error()}
}

// AsBadInput marks an error as the caller's, unless it says itself what it is.
func AsBadInput(err error) error {
	if e := ErrorOf(err); e.Kind != Internal {
		return e
	}
	return &Error{Kind: BadInput, Message: err.Error()}
}
