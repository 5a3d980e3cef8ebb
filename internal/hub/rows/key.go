package rows

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/protocol"
)

// Bucket is the name of the bucket, and stream that of the stream that keeps it (nats.go v1.55.0,
// jetstream/kv.go, kvBucketNameTmpl).
const (
	Bucket = protocol.Fleet
	stream = "KV_" + Bucket
	prefix = "$KV." + Bucket + "."
)

const (
	mostRow  = 64 << 10 // bytes of a row
	mostRows = 10_000   // of a host
	mostAll  = 4 << 20  // bytes of the values of all rows of a host: some 500 agents with 8 KiB each
	mostID   = 256      // bytes of an ID
	// markers is how long the marker of a row that was removed stays.
	markers = 10 * time.Minute
)

// The keys of a host that are no rows.
const (
	headKey = "head"
	cutKey  = "cut"
)

// Config is how the bucket is to be made, by the hub. replicas is 1 where there is one server.
func Config(replicas int) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: Bucket, Description: "what hosts tell of themselves",
		Storage: jetstream.MemoryStorage, History: 1, MaxValueSize: mostRow + 4<<10, // and the headers of a marker
		LimitMarkerTTL: markers, Replicas: replicas,
	}
}

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	rowKey   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}\.=?[A-Za-z0-9_-]{1,400}$`)
)

// odd begins an ID that is written otherwise than it is; no ID that is written as it is has it.
const odd = "="

// Key is the key of a row without its host: KIND.ID. An ID that a key cannot hold is written as
// base64url behind a "=".
func Key(kind, id string) (string, error) {
	if !isPlain(kind) || len(kind) > 64 || id == "" || len(id) > mostID {
		return "", fmt.Errorf("cannot name a row of kind %q by an ID of %d bytes: want a word, and 1 to %d bytes", kind, len(id), mostID)
	}
	if !isPlain(id) {
		id = odd + base64.RawURLEncoding.EncodeToString([]byte(id))
	}
	return kind + "." + id, nil
}

// Named is the kind and the ID of a key without its host; false where Key does not make it.
func Named(key string) (kind, id string, is bool) {
	kind, id, is = strings.Cut(key, ".")
	if !is || !rowKey.MatchString(key) {
		return "", "", false
	}
	if text, isOdd := strings.CutPrefix(id, odd); isOdd {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return "", "", false
		}
		id = string(b)
	}
	again, err := Key(kind, id)
	return kind, id, err == nil && again == key
}

func checkHost(name string) error {
	if !hostName.MatchString(name) {
		return fmt.Errorf("cannot use %q as the name of a host at a hub: want letters, digits, _ and -, 64 at most", name)
	}
	return nil
}
