package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/protocol"
)

// longestIdle is how long a consumer of a host may live that nobody hears.
const longestIdle = 5 * time.Minute

// consumer is what the watch of nats.go v1.55.0 asks for (js.go, ordered consumers). What it does
// not know is refused: a field of which a server of another version makes more.
type consumer struct {
	Stream string         `json:"stream_name"`
	Config consumerConfig `json:"config"`
	Action string         `json:"action"` // "create" by jetstream/consumer.go: to change one is another's
}

type consumerConfig struct {
	Name              string        `json:"name"`
	DeliverSubject    string        `json:"deliver_subject"`
	DeliverPolicy     string        `json:"deliver_policy"`
	OptStartSeq       uint64        `json:"opt_start_seq"`
	AckPolicy         string        `json:"ack_policy"`
	AckWait           time.Duration `json:"ack_wait"`
	MaxDeliver        int           `json:"max_deliver"`
	FilterSubject     string        `json:"filter_subject"`
	FilterSubjects    []string      `json:"filter_subjects"`
	ReplayPolicy      string        `json:"replay_policy"`
	FlowControl       bool          `json:"flow_control"`
	Heartbeat         time.Duration `json:"idle_heartbeat"`
	HeadersOnly       bool          `json:"headers_only"`
	InactiveThreshold time.Duration `json:"inactive_threshold"`
	Replicas          int           `json:"num_replicas"`
	MemoryStorage     bool          `json:"mem_storage"`
}

// hostInbox is a subject beneath the inbox of some host: of which one is not known here. Nobody
// else's can be guessed.
var hostInbox = regexp.MustCompile(`^_INBOX_[A-Za-z0-9][A-Za-z0-9_-]{0,62}(\.[A-Za-z0-9_-]+)+$`)

// mostWatches are made at once; more wait.
const mostWatches = 32

// watches hands on requests of hosts to make a consumer, several at once, as each waits for nodes.
func (h *Hub) watches() nats.MsgHandler {
	places := make(chan struct{}, mostWatches)
	return func(m *nats.Msg) {
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			h.watch(m)
		}()
	}
}

// watch hands the request of a host to make a consumer on to JetStream, if it delivers to a host
// and nowhere else, and the answer back: see credential.Permissions.
func (h *Hub) watch(m *nats.Msg) {
	rest := strings.TrimPrefix(m.Subject, protocol.WatchSubject+".")
	if err := checkConsumer(rest, m.Data); err != nil {
		h.log.Warn("watch refused", "subject", m.Subject, "why", err.Error())
		_ = m.Respond(consumerError(err)) // whoever does not hear it runs into a timeout
		return
	}
	a, err := h.admin.Request("$JS.API.CONSUMER.CREATE."+rest, m.Data, answersWithin)
	if err == nil {
		err = m.Respond(a.Data)
	}
	if err != nil {
		h.log.Warn("watch not made", "subject", m.Subject, "why", err.Error())
	}
}

// checkConsumer says what speaks against a request; rest is STREAM.NAME or STREAM.NAME.FILTER….
func checkConsumer(rest string, data []byte) error {
	stream, _, _ := strings.Cut(rest, ".")
	var c consumer
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return fmt.Errorf("cannot read the request: %w", err)
	}
	if d.More() {
		return errors.New("there is more than one request")
	}
	readable := slices.ContainsFunc(protocol.Readable(), func(b string) bool { return protocol.Stream(b) == stream })
	switch {
	case c.Action != "" && c.Action != "create":
		return errors.New("hosts only make watches")
	case !readable || c.Stream != stream:
		return errors.New("hosts may not watch this stream")
	case !hostInbox.MatchString(c.Config.DeliverSubject):
		return errors.New("a watch delivers to the inbox of a host")
	case c.Config.AckPolicy != "none":
		return errors.New("a watch acknowledges nothing")
	case c.Config.InactiveThreshold > longestIdle:
		return fmt.Errorf("a watch that nobody hears ends within %s", longestIdle)
	}
	return nil
}

// consumerError is a refusal in the form of JetStream (nats-server v2.15.2, jetstream_api.go).
func consumerError(err error) []byte {
	type apiError struct {
		Code        int    `json:"code"`
		Description string `json:"description"`
	}
	text, _ := json.Marshal(map[string]any{ // strings and numbers
		"type": "io.nats.jetstream.api.v1.consumer_create_response", "error": apiError{Code: 403, Description: err.Error()}})
	return text
}
