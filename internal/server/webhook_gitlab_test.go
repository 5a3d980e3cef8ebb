package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Public vectors of Standard Webhooks (standard-webhooks/standard-webhooks, libraries/go/webhook_symmetric_test.go at 3ac24af).
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = 1614265330
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

// standard are the headers of a webhook that is signed by a signing token.
func standard(secret, id string, at time.Time, body string) []string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	stamp := fmt.Sprint(at.Unix())
	sum := base64.StdEncoding.EncodeToString(sumBy(key, []byte(id+"."+stamp+"."+body)))
	return []string{"webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", "v1," + sum, "X-Gitlab-Event", "Push Hook"}
}

// Which webhooks of a GitLab are heard: by the secret itself, or signed by it.
func TestWebhooksOfAGitLab(t *testing.T) {
	const body, token = `{"object_kind":"push"}`, "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IQ=="
	now := instant(0).Wall
	with := func(headers []string, name, value string) []string {
		out := append([]string{}, headers...)
		for i := 0; i < len(out); i += 2 {
			if out[i] == name {
				out[i+1] = value
			}
		}
		return out
	}
	good := standard(token, "msg-1", now, body)
	for name, c := range map[string]struct {
		secret  string
		headers []string
		code    int
	}{
		"by token":              {hookSecret, []string{"X-Gitlab-Token", hookSecret}, 202},
		"by another":            {hookSecret, []string{"X-Gitlab-Token", hookSecret + "x"}, 401},
		"by half":               {hookSecret, []string{"X-Gitlab-Token", hookSecret[:5]}, 401},
		"by none":               {hookSecret, []string{"X-Gitlab-Token", ""}, 401},
		"no secret":             {"", []string{"X-Gitlab-Token", ""}, 401},
		"two tokens":            {hookSecret, []string{"X-Gitlab-Token", hookSecret, "X-Gitlab-Token", "other"}, 401},
		"by token and a sum":    {hookSecret, []string{"X-Gitlab-Token", hookSecret, "X-Gitea-Signature", sumOf(hookSecret, body)}, 202},
		"a wrong sum":           {hookSecret, []string{"X-Gitlab-Token", hookSecret, "X-Gitea-Signature", sumOf("other", body)}, 401},
		"signed":                {token, good, 202},
		"signed, and a token":   {token, append(good, "X-Gitlab-Token", token), 202},
		"signed, another token": {token, append(good, "X-Gitlab-Token", "other"), 401},
		"several signatures":    {token, with(good, "webhook-signature", "v1,AAAA v1a,BBBB "+good[5]), 202},
		"none of several":       {token, with(good, "webhook-signature", "v1,AAAA v1a,"+strings.TrimPrefix(good[5], "v1,")), 401},
		"another number":        {token, with(good, "webhook-id", "msg-2"), 401},
		"no number":             {token, with(good, "webhook-id", ""), 401},
		"another time":          {token, with(good, "webhook-timestamp", fmt.Sprint(now.Unix()+1)), 401},
		"no time":               {token, with(good, "webhook-timestamp", ""), 401},
		"four minutes old":      {token, standard(token, "m", now.Add(-4*time.Minute), body), 202},
		"six minutes old":       {token, standard(token, "m", now.Add(-6*time.Minute), body), 401},
		"of tomorrow":           {token, standard(token, "m", now.Add(24*time.Hour), body), 401},
		"another body's":        {token, standard(token, "m", now, body+" "), 401},
		"another secret's":      {token, standard("whsec_b3RoZXI=", "m", now, body), 401},
		"by no signing token":   {hookSecret, good, 401},
		"by an empty one":       {"whsec_", standard("whsec_", "m", now, body), 401},
	} {
		h := newHooked()
		h.secret = func(context.Context) (string, error) { return c.secret, nil }
		r := h.post("/trigger/x", body, c.headers...)
		if r.Code != c.code || (len(h.book.all.Triggers) == 1) != (c.code == 202) {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
		}
	}
	h := newHooked()
	h.secret = func(context.Context) (string, error) { return vectorSecret, nil }
	h.now.Wall = time.Unix(vectorTime, 0)
	if r := h.post("/trigger/x", vectorBody, "webhook-id", vectorID, "webhook-timestamp", fmt.Sprint(vectorTime), "webhook-signature", vectorSignature); r.Code != 202 {
		t.Errorf("the public vector: %d %s", r.Code, r.Body)
	}
}

// A GitLab before 17.4 names the request that a webhook follows from; several may.
func TestWebhooksOfOneRequest(t *testing.T) {
	h := newHooked()
	send := func(body string, headers ...string) {
		t.Helper()
		h.now = h.now.Add(time.Hour)
		if r := h.post("/trigger/x", body, append(headers, "X-Gitlab-Token", hookSecret, "X-Gitlab-Event-UUID", "u-1", "X-Gitlab-Webhook-UUID", fmt.Sprint(h.now.Wall.Unix()))...); r.Code != 202 {
			t.Fatalf("%d %s", r.Code, r.Body)
		}
	}
	for i, c := range []struct {
		body, key string
		want      int
	}{{"a", "", 1}, {"a", "", 1}, {"b", "", 2}, {"a", "k-1", 3}, {"a", "k-1", 3}, {"b", "k-2", 4}} {
		var headers []string
		if c.key != "" {
			headers = []string{"Idempotency-Key", c.key}
		}
		if send(c.body, headers...); len(h.book.all.Triggers) != c.want {
			t.Errorf("%d: there are %d triggers, want %d", i, len(h.book.all.Triggers), c.want)
		}
	}
}

// Of what a GitLab tells of a pipeline, the variables that it was begun with are not kept.
func TestVariablesAreNotKept(t *testing.T) {
	h := newHooked()
	body := `{"object_kind":"pipeline","object_attributes":{"status":"failed","variables": [{"key":"DEPLOY]","value":"hunter2 \"]\" hunter3"}],"iid":3},"more":[{"variables":[]}],"end":true}`
	if r := h.post("/trigger/x", body, "X-Gitlab-Token", hookSecret, "X-Gitlab-Event", "Pipeline Hook"); r.Code != 202 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	want := "Pipeline Hook\n" + `{"object_kind":"pipeline","object_attributes":{"status":"failed","variables":"***","iid":3},"more":[{"variables":"***"}],"end":true}`
	if got := h.book.all.Triggers[0].Text; got != want {
		t.Errorf("%s", got)
	}
}

// Which repository a webhook is about is told on, once it is written down.
func TestWebhooksTellOfWhatTheyAre(t *testing.T) {
	for body, want := range map[string]string{
		`{"repository":{"full_name":"acme/shop","name":"shop"}}`:                                                "acme/shop",
		`{"object_kind":"push","project":{"path_with_namespace":"acme/web/shop"},"repository":{"name":"shop"}}`: "acme/web/shop",
		`{"repository":"acme/shop","project":{"path_with_namespace":"acme/shop"}}`:                              "acme/shop",
		`{"repository":{"full_name":7}}`:                                                                        "", `{}`: "", `[]`: "", `not JSON`: "", ``: "", `{"project":"x"}`: "", `{"project":{"path_with_namespace":"cut`: "",
	} {
		h := newHooked()
		h.post("/trigger/x", body, "X-Gitlab-Token", hookSecret)
		if got := strings.Join(h.heard, ","); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
		h = newHooked()
		h.fails = fmt.Errorf("the disk is full")
		h.post("/trigger/x", body, "X-Gitlab-Token", hookSecret)
		h.post("/trigger/x", body, "X-Gitlab-Token", "other")
		if len(h.heard) > 0 {
			t.Errorf("%s: %q", body, h.heard)
		}
	}
}
