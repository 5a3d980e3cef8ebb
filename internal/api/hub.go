package api

import (
	"context"
	"strconv"
)

// Hub is how this host stands with others: what it shares, and which hosts there are.
type Hub struct {
	Host   string `json:"host"`            // its name there; empty: it shares nothing
	Status string `json:"status"`          // ok, unknown or absent
	Why    string `json:"why,omitempty"`   // why it is not ok
	Looks  string `json:"looks,omitempty"` // the host that looks after all, and tells of those that are silent; empty: not known
	// Doubled: another daemon tells under the name of this host, and nothing is ordered here from elsewhere.
	Doubled bool       `json:"doubled,omitempty"`
	Remote  string     `json:"remote,omitempty"` // what people at other hosts may do here: view, ask or act
	Hosts   []HubHost  `json:"hosts"`            // the others
	Nodes   []HubNode  `json:"nodes,omitempty"`  // the servers of the hub, where it has several
	Leases  []HubLease `json:"leases"`           // what this host wants, or holds
	Offers  Offers     `json:"offers"`           // what this host has for agents that anybody wants to start
	Next    []Hint     `json:"next"`
}

// Offers is what a host has for agents that anybody wants to start.
type Offers struct {
	Labels []string `json:"labels,omitempty"` // [hub] labels
	Acts   bool     `json:"acts,omitempty"`   // people at other hosts may order there
	CPUs   int      `json:"cpus,omitempty"`
	Agents int      `json:"agents"`           // of Custos's own that run, or are to be started
	Most   int      `json:"most"`             // that may run at once
	Frozen bool     `json:"frozen,omitempty"` // nothing is started there
}

// HubHost is another host of the hub.
type HubHost struct {
	Name    string `json:"name"`
	State   string `json:"state"` // tells, silent, or unknown where this host does not look after it
	Silent  string `json:"silent,omitempty"`
	Doubled bool   `json:"doubled,omitempty"` // two daemons tell under its name
}

// HubNode is one of several servers of the hub.
type HubNode struct {
	Name  string `json:"name"`
	State string `json:"state"` // leads, follows, behind or gone
}

// HubLease is how this host stands with something that several share.
type HubLease struct {
	Key    string `json:"key"`
	Mine   bool   `json:"mine"`
	Holder string `json:"holder,omitempty"` // the host that holds it; empty: nobody, or not known
	Epoch  uint64 `json:"epoch,omitempty"`
	Left   string `json:"left,omitempty"` // for which this host may still rely on it
	Why    string `json:"why,omitempty"`  // why that could not be asked last
}

// Hub returns how this host stands with others.
func (c *Client) Hub(ctx context.Context) (Hub, error) { return get[Hub](ctx, c, "/v1/hub") }

// HubLooks returns the other hosts of the hub, as they tell of themselves. Of those that told nothing newer
// since the number, it is said only how they were heard; 0: of none.
func (c *Client) HubLooks(ctx context.Context, since int64) (HubLooks, error) {
	return get[HubLooks](ctx, c, "/v1/hub/looks?since="+strconv.FormatInt(since, 10))
}
