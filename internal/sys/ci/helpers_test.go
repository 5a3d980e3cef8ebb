package ci_test

import (
	"io"
	"net/http"
	"strings"
)

// says answers every request with the same text.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

// answers has an answer for each end of a path; "" is for all others.
type answers map[string]string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	for end, text := range a {
		if end != "" && strings.HasSuffix(r.URL.Path, end) {
			return says(text).RoundTrip(r)
		}
	}
	return says(a[""]).RoundTrip(r)
}
