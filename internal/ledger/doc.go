// Package ledger says which changes of records are lawful. In go records as they
// are and what somebody wants of them; out comes a new record, or an error that
// says why not. It is pure: nothing is read but the arguments, none of them is
// changed, and nothing is written here. The store keeps what comes out.
//
// The rules that matter most:
//   - What a person stopped is started again by a person only.
//   - Retired is for ever.
//   - What is known of an instance is changed by news of that instance only.
//   - An order is one thing: the same ID with another content is refused, and
//     what is over is not opened again.
package ledger

import "errors"

// What a caller may want to tell apart. They are wrapped in words.
var (
	// ErrIllegal: the record does not allow this change, now or ever.
	ErrIllegal = errors.New("not allowed")
	// ErrTaken: the name or the ID belongs to another record.
	ErrTaken = errors.New("taken")
	// ErrOutdated: the news is of an instance that is not the newest.
	errOutdated = errors.New("outdated")
)
