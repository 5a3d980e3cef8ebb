package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// saidFor is how long an address says of a deed that it was done: who comes later looks at
// what is so then.
const saidFor = 10 * time.Minute

// told is where a deed leads to, with a proof that it was done: an address that anybody can
// write says nothing of what was done.
func (s *site) told(next string) string {
	u, err := url.Parse(next)
	if err != nil || !u.Query().Has("done") {
		return next
	}
	q := u.Query()
	at := strconv.FormatInt(s.Now().Unix(), 36)
	q.Set("proof", at+"."+s.proof(u, q, at))
	u.RawQuery = q.Encode()
	return u.String()
}

func (s *site) proof(u *url.URL, q url.Values, at string) string {
	mac := hmac.New(sha256.New, s.Key)
	fmt.Fprintf(mac, "%s?%s at %s", u.EscapedPath(), q.Encode(), at)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// asDone is a request whose address says of a deed only what has its proof.
func (s *site) asDone(r *http.Request) *http.Request {
	q := r.URL.Query()
	if !q.Has("done") {
		return r
	}
	at, proof, _ := strings.Cut(q.Get("proof"), ".")
	q.Del("proof")
	unix, err := strconv.ParseInt(at, 36, 64)
	age := s.Now().Sub(time.Unix(unix, 0))
	if err == nil && age > -time.Minute && age < saidFor && hmac.Equal([]byte(proof), []byte(s.proof(r.URL, q, at))) {
		return r
	}
	q.Del("done")
	r = r.Clone(r.Context())
	r.URL.RawQuery = q.Encode()
	return r
}
