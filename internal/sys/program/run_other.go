//go:build !linux

package program

import (
	"context"
	"errors"
)

// Run runs nothing: that a program has ended, before its number is another's, is told by a
// call of Linux. Nothing that a client does needs it.
func Run(context.Context, Call) ([]byte, error) {
	return nil, errors.New("programs are run on Linux only")
}
