package ask

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"custos/internal/api"
)

// isAsked says which headers a question takes along: none that is a secret, and none that says
// how bytes go over a connection. The one of whoever asks on behalf of an agent takes power away,
// and must never be dropped.
func isAsked(name string) bool {
	return slices.Contains([]string{"Accept", "Content-Type", "If-Match", "If-None-Match", "Last-Event-Id", api.OnBehalf}, name)
}

// isAnswered says which headers an answer takes along.
func isAnswered(name string) bool {
	return slices.Contains([]string{"Allow", "Cache-Control", "Content-Length", "Content-Type", "Etag", "Last-Modified", "Location", "Retry-After", "Www-Authenticate"}, name)
}

// kept are the headers that are taken along; a value that is none is an error.
func kept(h http.Header, is func(string) bool) (http.Header, error) {
	out := http.Header{}
	for name, values := range h {
		if name = http.CanonicalHeaderKey(name); is(name) {
			out[name] = append(out[name], values...)
		}
	}
	return out, checkHeader(out)
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// isControl says of what the value of a header may not hold (RFC 9110, 5.5).
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func checkHeader(h http.Header) error {
	for name, values := range h {
		for _, v := range values {
			if !headerName.MatchString(name) || !utf8.ValidString(v) || strings.ContainsFunc(v, isControl) {
				return fmt.Errorf("its header %q is none", name)
			}
		}
	}
	return nil
}
