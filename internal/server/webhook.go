package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// What a webhook may cost at most.
const (
	mostHook      = 1 << 20 // bytes of a body
	hooksAMinute  = 120     // signed ones that are accepted
	hooksAtOnce   = 32      // bodies that are read at a time: they lie in memory
	redactedHook  = 8 << 10 // bytes, of which fewer are kept
	longestEvent  = 60      // of the name of an event
	hookPath      = "/trigger/"
	hookRetryWait = time.Minute
)

// Webhooks is what makes triggers of webhooks.
type Webhooks struct {
	Secret  func(context.Context) (string, error) // what they are signed with
	Records RecordsEditor
	Now     func() fleet.Instant
	Heard   func(repo string) // told of the repository that one was about; nil: nobody
	Log     *slog.Logger
}

// RecordsEditor changes records, in one transaction.
type RecordsEditor interface {
	Edit(ctx context.Context, edit func(fleet.Records) (fleet.Records, error)) (fleet.Records, error)
}

// ReceiveWebhooks answers POST /trigger/NAME, and nothing else. Nothing is said to who
// cannot sign, and answers are constant text: they are read by strangers.
func ReceiveWebhooks(o Webhooks) http.Handler {
	return &webhookReceiver{Webhooks: o, pace: pace{most: hooksAMinute}, slots: make(chan struct{}, hooksAtOnce)}
}

type webhookReceiver struct {
	Webhooks
	pace  pace
	slots chan struct{}
}

// rejection is an answer that is no trigger.
type rejection struct {
	code int
	text string
	err  error // for the log, and not for the sender
}

func (r *rejection) Error() string { return r.text }

func (h *webhookReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id, err := h.receive(w, req)
	var no *rejection
	switch {
	case errors.As(err, &no):
		h.refuse(w, *no)
	case err != nil:
		h.refuse(w, rejection{http.StatusServiceUnavailable, "cannot write it down", err})
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": id}) // the sender is gone when this fails
	}
}

func (h *webhookReceiver) refuse(w http.ResponseWriter, no rejection) {
	if no.err != nil {
		h.Log.Warn("Cannot receive a webhook", "err", no.err)
	}
	switch no.code {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(int(hookRetryWait.Seconds())))
	}
	http.Error(w, no.text, no.code)
}

// receive returns the ID of the trigger that a webhook is.
func (h *webhookReceiver) receive(w http.ResponseWriter, req *http.Request) (string, error) {
	name, ok := strings.CutPrefix(req.URL.Path, hookPath)
	switch {
	case !ok || name == "":
		return "", &rejection{code: http.StatusNotFound, text: "there is nothing here"}
	case req.Method != http.MethodPost:
		return "", &rejection{code: http.StatusMethodNotAllowed, text: "want POST"}
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return "", &rejection{code: http.StatusTooManyRequests, text: "too many webhooks"}
	}
	body, err := bodyOf(w, req)
	if err != nil {
		return "", err
	}
	return h.judge(req, name, body)
}

func bodyOf(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, mostHook))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, &rejection{code: http.StatusRequestEntityTooLarge, text: "the body is larger than 1 MB"}
	case err != nil:
		return nil, &rejection{code: http.StatusBadRequest, text: "cannot read the body"}
	}
	return body, nil
}

// judge writes down what is signed. Only that counts for the pace, so that strangers
// cannot silence a forge.
func (h *webhookReceiver) judge(req *http.Request, name string, body []byte) (string, error) {
	secret, err := h.Secret(req.Context())
	if err != nil {
		return "", &rejection{http.StatusServiceUnavailable, "cannot check signatures", err}
	}
	now := h.Now()
	if !signed(req.Header, body, secret, now) {
		return "", &rejection{code: http.StatusUnauthorized, text: "the signature is missing or wrong"}
	}
	t, err := ledger.AddTrigger(triggerOf(req.Header, name, body, secret, now), fleet.ByWebhook, now)
	switch {
	case err != nil:
		return "", &rejection{code: http.StatusNotFound, text: "there is no such trigger"}
	case !h.pace.admits(now):
		return "", &rejection{code: http.StatusTooManyRequests, text: "too many webhooks"}
	}
	id, err := h.write(req.Context(), t)
	if repo := repoOf(body); err == nil && repo != "" && h.Heard != nil {
		h.Heard(repo)
	}
	return id, err
}

// repoOf is the repository that a webhook is about, as GitHub, Forgejo and Gitea name it, or as
// GitLab does; "" where none is named.
func repoOf(body []byte) string {
	var in struct {
		Repository struct {
			Name string `json:"full_name"`
		}
		Project struct {
			Name string `json:"path_with_namespace"`
		}
	}
	_ = json.Unmarshal(body, &in) // what is of another shape names none
	return cmp.Or(in.Repository.Name, in.Project.Name)
}

func (h *webhookReceiver) write(ctx context.Context, t fleet.Trigger) (string, error) {
	made, err := h.Records.Edit(ctx, func(fleet.Records) (fleet.Records, error) {
		return fleet.Records{Triggers: []fleet.Trigger{t}}, nil
	})
	if err != nil {
		return "", err
	}
	return made.Triggers[0].ID, nil
}

// reVariables are those that a GitLab's pipeline was begun with: secrets may be among them.
var reVariables = regexp.MustCompile(`"variables"\s*:\s*\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\]`)

// triggerOf is what is kept of a webhook. The secret itself is never in it: some forges
// put it into the body.
func triggerOf(header http.Header, name string, body []byte, secret string, now fleet.Instant) fleet.Trigger {
	text := reVariables.ReplaceAllString(string(body), `"variables":"***"`)
	text = strings.ReplaceAll(text, secret, "***")
	if quoted, err := json.Marshal(secret); err == nil {
		text = strings.ReplaceAll(text, strings.Trim(string(quoted), `"`), "***")
	}
	if event := fleet.Line(headerOf(header, "X-GitHub-Event", "X-Forgejo-Event", "X-Gitea-Event", "X-Gitlab-Event"), longestEvent); event != "" {
		text = event + "\n" + text
	}
	// before it is cut to what is kept, so that no half of a token is left
	text = fleet.Redact(text[:min(len(text), redactedHook)])
	return fleet.Trigger{Head: fleet.Head{Key: deliveryKey(header, name, body, now)}, Name: name, Text: text}
}

// deliveryKey is the same for a webhook that comes again. A GitLab before 17.4 names no
// delivery, but the request that it follows from, as several webhooks may: it is the same when its
// body is. What names nothing is the same when its body is, within a second. A sum, so that
// none is cut short.
func deliveryKey(header http.Header, name string, body []byte, now fleet.Instant) string {
	id := headerOf(header, "X-GitHub-Delivery", "X-Gitea-Delivery", "X-Forgejo-Delivery", "Webhook-Id", "Idempotency-Key")
	switch cause := header.Get("X-Gitlab-Event-UUID"); {
	case id != "":
		id = "id " + id
	case cause != "":
		id = fmt.Sprintf("of %s %x", cause, sha256.Sum256(body))
	default:
		id = fmt.Sprintf("%x %d", sha256.Sum256(body), now.Wall.Unix())
	}
	sum := sha256.Sum256([]byte(name + "\n" + id))
	return control.OwnKey("hook/" + hex.EncodeToString(sum[:]))
}

func headerOf(header http.Header, names ...string) string {
	for _, name := range names {
		if v := header.Get(name); v != "" {
			return v
		}
	}
	return ""
}
