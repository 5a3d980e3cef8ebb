package looks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// Told is what a host shows of itself.
type Told struct {
	Look    api.FirstLook // of it: agents, what needs a person, mode, brake and how many P4 alerts
	Offers  api.Offers
	Alerts  []api.Alert         // that are not over
	Pending []api.Pending       // what was asked for and is not there yet
	Kept    []string            // agents that are started again whatever the mode
	Workers []fleet.PoolWorkers // nil: it does not know them
}

// The kinds of rows; of kindHost there is one, hostID.
const (
	kindHost    = "look"
	kindAgent   = "agent"
	kindNeed    = "need"
	kindAlert   = "alert"
	kindPending = "pending"
	kindKept    = "kept"
	hostID      = "host"
	hostRow     = kindHost + "." + hostID
)

// value is that of a row: when it was seen, by the clock of its host, and what it says, as JSON.
func value(at time.Time, says []byte) []byte {
	return append(append(at.UTC().AppendFormat(nil, time.RFC3339Nano), ' '), says...)
}

// about is the row of the host itself.
type about struct {
	Mode         string     `json:"mode,omitempty"`
	Frozen       string     `json:"frozen,omitempty"`
	Housekeeping int        `json:"housekeeping,omitempty"`
	Offers       api.Offers `json:"offers"`
	Why          string     `json:"why,omitempty"` // why nothing else is told, but for workers; empty: it is
	// Workers stand here, and in no rows of their own, so that who has heard of the host knows them; nil: it does not.
	Workers []fleet.PoolWorkers `json:"workers,omitzero"`
}

// slowly is how often a row is told at most of which only changes what changes all the time: ages,
// and what an agent has used. It is shown so late at other hosts.
const slowly = time.Minute

// Teller makes rows of what a host shows. It is not safe for concurrent use.
type Teller struct{ told map[string]sent }

// sent is a row as it was told last.
type sent struct {
	value, steady, lasting []byte
	at                     time.Time
}

// piece is one row to be told: what it says, that without ages, and what of that is news at once.
type piece struct {
	kind, id              string
	says, steady, lasting any
}

// Rows are the rows of what was seen at a moment of the host's own clock. A row of which nothing
// but what changes all the time is other than before stays as it was, for a while.
func (t *Teller) Rows(told Told, at time.Time) (map[string][]byte, error) {
	return t.rows(pieces(told), at)
}

// Blind are the rows of a host that cannot look at itself, and knows at most which workers it has.
func (t *Teller) Blind(why string, workers []fleet.PoolWorkers, at time.Time) (map[string][]byte, error) {
	a := about{Why: why, Workers: workers}
	return t.rows([]piece{{kindHost, hostID, a, a, a}}, at)
}

func (t *Teller) rows(list []piece, at time.Time) (map[string][]byte, error) {
	next, out := map[string]sent{}, map[string][]byte{}
	for _, p := range list {
		key, err := keyOf(p.kind, p.id, out)
		if err != nil {
			continue // it has no name that a row could have: nobody could ask for it by that, either
		}
		s, err := t.send(t.told[key], p, at)
		if err != nil {
			return nil, err
		}
		next[key], out[key] = s, s.value
	}
	t.told = next
	return out, nil
}

// keyOf is the key of a row; of several that have one ID it is numbered.
func keyOf(kind, id string, taken map[string][]byte) (string, error) {
	key, err := rows.Key(kind, id)
	for n := 2; err == nil && taken[key] != nil; n++ {
		key, err = rows.Key(kind, fmt.Sprint(id, "#", n))
	}
	return key, err
}

// send is a row as it is to be told, by how it was told last.
func (t *Teller) send(was sent, p piece, at time.Time) (sent, error) {
	steady, err := json.Marshal(p.steady)
	if err != nil {
		return sent{}, err
	}
	lasting, err := json.Marshal(p.lasting)
	if err != nil {
		return sent{}, err
	}
	young := at.Sub(was.at) < slowly && !at.Before(was.at)
	if was.value != nil && bytes.Equal(lasting, was.lasting) && (young || bytes.Equal(steady, was.steady)) {
		return was, nil
	}
	says, err := json.Marshal(p.says)
	if err != nil {
		return sent{}, err
	}
	return sent{value(at, says), steady, lasting, at}, nil
}

// pieces are what is told, each with what of it is news at once.
func pieces(told Told) []piece {
	a := about{Mode: told.Look.Mode, Frozen: told.Look.Frozen, Housekeeping: told.Look.Housekeeping, Offers: told.Offers, Workers: told.Workers}
	out := []piece{{kindHost, hostID, a, a, a}}
	for _, g := range told.Look.Agents {
		out = append(out, ofAgent(g))
	}
	for _, n := range told.Look.NeedsYou {
		out = append(out, ofNeed(n))
	}
	for _, al := range told.Alerts {
		out = append(out, ofAlert(al))
	}
	for _, p := range told.Pending {
		out = append(out, ofPending(p))
	}
	for _, name := range told.Kept {
		out = append(out, piece{kindKept, name, name, name, name})
	}
	return out
}

func ofAgent(g api.AgentRow) piece {
	steady := g
	if steady.Since != "" { // that it is known is news, and how long it is, is not
		steady.Since = "known"
	}
	lasting := steady
	lasting.Reason, lasting.CPU, lasting.RSS, lasting.ContextUsed, lasting.Context, lasting.Tokens, lasting.Dollars = "", nil, nil, nil, nil, nil, nil
	return piece{kindAgent, g.Name, g, steady, lasting}
}

func ofNeed(n api.Need) piece {
	steady := n
	steady.For = ""
	lasting := steady
	lasting.Summary = ""
	return piece{kindNeed, idOf(n.ID, n.Rule, n.Subject), n, steady, lasting}
}

// ofAlert leaves out what it was found by: that is asked of the host itself.
func ofAlert(a api.Alert) piece {
	a.Evidence = nil
	steady := a
	steady.For, steady.Patrols = "", 0
	lasting := steady
	lasting.Summary = ""
	return piece{kindAlert, idOf(a.ID, a.Rule, a.Subject), a, steady, lasting}
}

func ofPending(p api.Pending) piece {
	steady := p
	steady.For = ""
	lasting := steady
	lasting.Why, lasting.Also = "", nil
	return piece{kindPending, idOf(p.Order, p.What, p.Agent), p, steady, lasting}
}

// idOf is the ID of a row: that of the thing, where it has one, and what tells it from others otherwise.
func idOf(id string, parts ...string) string {
	if id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}
