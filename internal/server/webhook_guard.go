package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
)

// signed says whether a webhook is by who has the secret: as GitHub, Forgejo and Gitea sign it,
// as Gitea alone does, as GitLab shows the secret itself, or as GitLab signs it by a signing
// token. Of several each must be right.
func signed(header http.Header, body []byte, secret string, now fleet.Instant) bool {
	if secret == "" {
		return false // anyone can sign with nothing
	}
	var proofs []bool
	for _, v := range header.Values("X-Hub-Signature-256") {
		sum, ok := strings.CutPrefix(v, "sha256=")
		proofs = append(proofs, ok && isSum(sum, body, secret))
	}
	for _, v := range header.Values("X-Gitea-Signature") {
		proofs = append(proofs, isSum(v, body, secret))
	}
	for _, v := range header.Values("X-Gitlab-Token") {
		given, want := sha256.Sum256([]byte(v)), sha256.Sum256([]byte(secret)) // so that no length is told either
		proofs = append(proofs, hmac.Equal(given[:], want[:]))
	}
	for _, v := range header.Values("Webhook-Signature") {
		proofs = append(proofs, isStandard(header, v, body, secret, now))
	}
	return len(proofs) > 0 && !slices.Contains(proofs, false)
}

// isSum says whether a text is the sum of a body by the secret.
func isSum(text string, body []byte, secret string) bool {
	got, err := hex.DecodeString(text)
	return err == nil && hmac.Equal(got, sumBy([]byte(secret), body))
}

func sumBy(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}

// newestHook is how far the time in a signature may lie from ours, as Standard Webhooks has it.
const newestHook = 5 * time.Minute

// isStandard says whether one of the signatures is right that GitLab makes by a signing token
// (gitlab-org/gitlab, merge requests 230944 and 231325), which are those of Standard Webhooks: of ID.TIME.BODY,
// by the bytes that the token holds. Who reads one cannot send it under another number, nor later.
func isStandard(header http.Header, given string, body []byte, secret string, now fleet.Instant) bool {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	id, at := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, bad := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || len(key) == 0 || id == "" || bad != nil || now.Wall.Sub(time.Unix(seconds, 0)).Abs() > newestHook {
		return false
	}
	want := sumBy(key, []byte(id+"."+at+"."), body)
	for one := range strings.FieldsSeq(given) {
		sum, isFirst := strings.CutPrefix(one, "v1,")
		if got, err := base64.StdEncoding.DecodeString(sum); isFirst && err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
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
