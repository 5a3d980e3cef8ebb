package forge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// fault is an error of an SDK without what the server wrote, and without its URL.
func fault(resp *http.Response, err error) error {
	if err == nil {
		return nil
	}
	if resp != nil && resp.StatusCode/100 != 2 {
		return &Error{Status: resp.StatusCode}
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("its answer is no JSON as it should be: is that a forge?")
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if resp != nil { // it answered 200, and the rest of the message may quote it
		return errOdd
	}
	return err
}
