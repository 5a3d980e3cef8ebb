package nats

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/lease"
)

const (
	// version is of how values are written.
	version = 1
	// longestName is how many bytes a key may have that is found in the subject of its entry;
	// of a longer one it is a hash. A subject of NATS is best kept below 256 characters.
	longestName = 128
	// baseName is of the entry that says what is added to sequences. No key has that name: '=' is
	// in none of them but at the beginning of a hash, which is longer.
	baseName = "=base"
	// opHeader and opPurge mark an entry that was given back, as jetstream/kv.go does (v1.55.0).
	opHeader = "KV-Operation"
	opPurge  = "PURGE"
)

// value is what is written of a lease.
type value struct {
	V      int          `json:"v"`
	Key    []byte       `json:"key"`             // as base64: a key may have any byte
	Holder lease.Holder `json:"holder,omitzero"` // none: the lease was given back
	Epoch  uint64       `json:"epoch,omitempty"`
	// Base is of a lease that was just taken: its epoch is that and the sequence of its message,
	// which nobody knows before it is written. The first renewal writes the epoch itself.
	Base *uint64       `json:"base,omitempty"`
	Sent fleet.Instant `json:"sent,omitzero"` // when it was asked for, by the clock of its holder's host
}

// entry is what is known of a key by the last message of its subject.
type entry struct {
	held  bool
	lease lease.Lease   // of one that is free: without a holder; the epoch is 0 where it is not known
	sent  fleet.Instant // by the clock of its holder's host
	seq   uint64        // 0: there is no message
}

// subject is where the entry of a key is.
func (s *Store) subject(key string) string { return s.prefix() + name(key) }

// prefix is before the name of each entry; of the bucket as jetstream/kv.go (v1.55.0) has it.
func (s *Store) prefix() string { return "$KV." + s.o.Bucket + "." }

// stream is the name of the stream under the bucket, by the same file.
func (s *Store) stream() string { return "KV_" + s.o.Bucket }

// name is what a key is called in a subject: no byte of it means anything to NATS.
func name(key string) string {
	if len(key) > longestName {
		sum := sha256.Sum256([]byte(key))
		return "=" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return base64.RawURLEncoding.EncodeToString([]byte(key))
}

// keyOf is the key of a name, for errors; the name where it cannot be told.
func keyOf(name string) string {
	key, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil {
		return name
	}
	return string(key)
}

// read is what a message says of the key of its subject. A message that says nothing that can be
// read is an error that names the key.
func (s *Store) read(subject string, seq uint64, h nats.Header, data []byte) (entry, error) {
	named := strings.TrimPrefix(subject, s.prefix())
	free := h.Get(opHeader) != "" || h.Get(jetstream.MarkerReasonHeader) != ""
	if free && len(data) == 0 { // it ended by itself: the server knows no more
		return entry{seq: seq}, nil
	}
	var v value
	err := json.Unmarshal(data, &v)
	switch {
	case err != nil:
	case v.V != version:
		err = fmt.Errorf("it is of version %d, and %d is known", v.V, version)
	case name(string(v.Key)) != named:
		err = fmt.Errorf("it is of the key %q", v.Key)
	case v.Epoch > lease.MostEpoch || v.Base != nil && *v.Base > lease.MostEpoch:
		err = errors.New("its epoch is larger than any that is given")
	case v.Holder.IsNobody() != free:
		err = fmt.Errorf("it has the holder %q, and is given back: %t", v.Holder.Host, free)
	}
	if err != nil {
		return entry{seq: seq}, fmt.Errorf("cannot read what is kept of %q (message %d of %s), which is left as it is: %w", keyOf(named), seq, s.stream(), err)
	}
	return v.entry(seq), nil
}

func (v value) entry(seq uint64) entry {
	l := lease.Lease{Key: string(v.Key), Holder: v.Holder, Epoch: v.Epoch}
	if v.Base != nil {
		l.Epoch = *v.Base + seq
	}
	if v.Holder.IsNobody() {
		return entry{lease: l, seq: seq}
	}
	l.Token = seq
	return entry{held: true, lease: l, sent: v.Sent, seq: seq}
}
