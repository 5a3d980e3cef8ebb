package ask

import (
	"errors"
	"fmt"
	"io"

	"custos/internal/api"
)

// The errors of a question. Others are of a question that cannot be asked: nothing was sent.
var (
	// ErrNotThere is of a question that nobody got: the host does not listen at the hub.
	ErrNotThere = errors.New("the host is not there")
	// ErrNoHub is of a question that was not sent: there is no connection with the hub.
	ErrNoHub = errors.New("the hub is not reached")
	// ErrInDoubt is of a question that was sent and to which no head of an answer came: it may
	// have been done.
	ErrInDoubt = errors.New("it may have been done")
)

// unasked is an error of a question that nobody got, which the API's client knows as such.
type unasked struct {
	kind error
	said *api.Error
}

func (u unasked) Error() string   { return u.said.Message }
func (u unasked) Unwrap() []error { return []error{u.kind, u.said} }

func notThere(host string) error {
	return unasked{ErrNotThere, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot reach host %s: it is not at the hub", host), Hint: "custos help hosts.md"}}
}

func noHub(host string, cause error) error {
	return unasked{ErrNoHub, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot reach host %s: the hub is not reached, and nothing was asked: %v", host, cause), Hint: "custos doctor"}}
}

// inDoubt hides what kind of error the cause is from the API's client, which would take it for
// the answer, but for that of a context.
func inDoubt(host string, cause error) error {
	return fmt.Errorf("host %s was asked and gave no answer, %w: %w", host, ErrInDoubt, cause)
}

// broken is the error of a reader whose answer did not come whole.
func broken(host string, cause error) error {
	return fmt.Errorf("cannot read the whole answer of host %s: %w: %w", host, io.ErrUnexpectedEOF, cause)
}

func badInput(format string, args ...any) error {
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf(format, args...)}
}
