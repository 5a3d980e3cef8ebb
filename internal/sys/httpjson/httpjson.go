// Package httpjson asks servers by HTTP: JSON goes there, and an answer of a
// bounded size comes back. No error holds a URL, for tokens may be in it.
package httpjson

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// patience is how long an answer may take where nobody says otherwise.
const patience = 30 * time.Second

// ErrTooMuch says that an answer is larger than is read.
var ErrTooMuch = errors.New("its answer is larger than is read")

// or returns c, or where that is nil a client with a time-out that follows no redirect.
func or(c *http.Client) *http.Client {
	if c != nil {
		return c
	}
	return &http.Client{Timeout: patience, CheckRedirect: Stay}
}

// Stay follows no redirect: a token is for one server.
func Stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Request is a request with in as JSON; nil is none.
func Request(ctx context.Context, method, where string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, where, body)
	if err != nil {
		return nil, errors.New("its address is no URL")
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Ask sends a request and reads at most most bytes of the answer. What came of an
// answer that broke off, or is larger, is returned with the error: a refusal says
// more than that.
func Ask(c *http.Client, req *http.Request, most int64) (*http.Response, []byte, error) {
	resp, err := or(c).Do(req)
	if err != nil {
		return nil, nil, Plain(err)
	}
	body, err := Read(resp, most)
	return resp, body, err
}

// Read reads and closes the body of an answer.
func Read(resp *http.Response, most int64) ([]byte, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return body, fmt.Errorf("its answer broke off: %w", Plain(err))
	}
	if int64(len(body)) > most {
		return body[:most], fmt.Errorf("%w: it has more than %d bytes", ErrTooMuch, most)
	}
	return body, nil
}

// Plain is an error of net/http without the URL in it, and with the key that helps where
// nobody vouches for the server.
func Plain(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w: name the certificate of yours by ca_file", err)
	}
	return err
}
