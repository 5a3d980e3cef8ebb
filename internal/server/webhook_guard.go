package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
)

// signed says whether a body carries a signature by the secret: as GitHub, Forgejo and
// Gitea write it, or as Gitea alone does. Of several each must be right.
func signed(header http.Header, body []byte, secret string) bool {
	given := header.Values("X-Gitea-Signature")
	for _, v := range header.Values("X-Hub-Signature-256") {
		sum, ok := strings.CutPrefix(v, "sha256=")
		if !ok {
			return false
		}
		given = append(given[:len(given):len(given)], sum)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	want := mac.Sum(nil)
	for _, v := range given {
		got, err := hex.DecodeString(v)
		if err != nil || !hmac.Equal(got, want) {
			return false
		}
	}
	return len(given) > 0 && secret != "" // anyone can sign with nothing
}

// pace admits so many a minute.
type pace struct {
	most int

	mu    sync.Mutex
	since fleet.Instant // when this minute began
	n     int
}

func (p *pace) admits(now fleet.Instant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	// a clock that was set back begins a new minute, lest it lasts for hours
	if gone := now.Since(p.since); p.since.IsZero() || gone < 0 || gone >= time.Minute {
		p.since, p.n = now, 0
	}
	p.n++
	return p.n <= p.most
}
