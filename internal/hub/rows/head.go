package rows

import (
	"encoding/json"
	"errors"
	"time"
)

const (
	// beat is how often a host tells that it is there.
	beat = 5 * time.Second
	// late is after how long an answer to a head is late.
	late = 2 * time.Second
	// deaf is after how long without this host's own heads the hub tells nothing: before anybody can be silent.
	deaf = 12 * time.Second
	// silent is after how long without a head a host is silent: it is three heads late.
	silent = 15 * time.Second
)

// head is what the row HOST.head says.
type head struct {
	V    int       `json:"v"`
	Run  string    `json:"run"`  // of the daemon that tells, random
	Seq  int64     `json:"seq"`  // larger with each head of a run
	At   time.Time `json:"at"`   // by the host's own clock: for show, and never reckoned with
	Rows int       `json:"rows"` // how many it tells
}

// mostHead is how many bytes are read of a head.
const mostHead = 4 << 10

func readHead(data []byte) (h head, err error) {
	if len(data) > mostHead {
		return head{}, errors.New("cannot read a head: it is too large")
	}
	if json.Unmarshal(data, &h) != nil || h.V < 1 || h.Run == "" || len(h.Run) > 64 {
		return head{}, errors.New("cannot read a head: it is none")
	}
	return h, nil
}
