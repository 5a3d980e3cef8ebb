package fleet

import (
	"strings"
	"time"
)

// Hub is what this host shares with others, and how they are. The part is absent where
// custos.toml names no place where leases are kept, and the host has joined no hub.
type Hub struct {
	Host      string      `json:"host" help:"the name of this host there"`
	Leases    []Lease     `json:"leases,omitempty" unread:"no rule judges who may act: a guard does"`          // that something here wants or has wanted, by key
	Claims    []Claim     `json:"claims,omitempty" unread:"no rule judges who runs what is done once"`         // that something here wants or has wanted, by key
	Peers     []Peer      `json:"peers,omitempty" unread:"over = \"peer\" ranges over them"`                   // that this host looks after
	Elsewhere []Elsewhere `json:"elsewhere,omitempty" unread:"no rule judges who starts workers: a pool does"` // while this host starts workers of pools for all
	// Told are the workers of this host that the other hosts are told of.
	Told  []PoolWorkers `json:"told,omitempty" unread:"no rule judges who starts workers: a pool does"`
	Pools []PoolFacts   `json:"pools,omitempty" unread:"over = \"pool\" ranges over them"` // that all hosts have together, likewise
	Nodes []HubNode     `json:"nodes,omitempty" unread:"over = \"node\" ranges over them"` // servers of the hub, as this host is told of them
	// Doubled: another daemon tells under the name of this host.
	Doubled bool `json:"doubled,omitempty" unread:"the host that looks after all tells of it, of each as a peer"`
	// Watches is the host that looks after all, and tells of those that are silent.
	Watches string `json:"watches,omitempty" help:"the host that looks after all others; empty while that is not known"`
}

// NodesToTell are the nodes of which this host tells: one of all hosts does, which looks after them.
func (h Hub) NodesToTell() []HubNode {
	if h.Host == "" || h.Watches != h.Host {
		return nil
	}
	return h.Nodes
}

// HubNode is one of several servers of a hub.
type HubNode struct {
	Name  string `json:"name" help:"its name"`
	State string `json:"state" help:"how it stands with the others: leads, follows, behind (it lacks what they have) or gone"`
}

// Lease is how this host stands with something that several share.
type Lease struct {
	Key    string   `json:"key"`
	Mine   bool     `json:"mine,omitempty"`   // this host holds it
	Epoch  uint64   `json:"epoch,omitempty"`  // of who holds it
	Left   Duration `json:"left,omitempty"`   // for which it may still rely on it
	Holder string   `json:"holder,omitempty"` // the host that holds it; "" nobody, or not known
	Why    string   `json:"why,omitempty"`    // why that could not be asked last; "" when it could
}

// LeaseOf is how this host stands with a key.
func (h *Hub) LeaseOf(key string) Lease {
	if l := Find(h.Leases, func(l *Lease) bool { return l.Key == key }); l != nil {
		return *l
	}
	return Lease{Key: key}
}

// ProjectKey names a project of a forge where it is, as every host does, behind what: "" where that was not seen.
func ProjectKey(snap *Snapshot, what, project string) string {
	x := Find(snap.Forge.Value.Projects, func(x *Project) bool { return x.Name == project })
	if x == nil || x.URL == "" {
		return ""
	}
	return what + "/" + strings.ToLower(x.URL)
}

// TellKey is the lease of the one host that tells people of a thing which several hosts see; "" for what only
// this host sees, and where it is not known which thing of the others it is.
func TellKey(snap *Snapshot, s Subject) string {
	switch s.Kind {
	case KindProject, KindIssue, KindPull, KindPipeline:
		return ProjectKey(snap, "tell", Projects{}.Of(s))
	}
	return ""
}

// PoolKey is the lease of the host that starts workers of a pool for all.
func PoolKey(pool string) string { return "pool/" + pool }

// Claim is how this host stands with what is done once for all hosts. It is made by the first host that wants it,
// and never again by another; it does not end.
type Claim struct {
	Key    string `json:"key"`
	Mine   bool   `json:"mine,omitempty"`   // this run of this host's daemon has made it
	Holder string `json:"holder,omitempty"` // the host that has; "" not known
	Why    string `json:"why,omitempty"`    // why that could not be asked last; "" when it could
}

// Fence is the lease by which an action is done: that of a key, and of no other epoch.
type Fence struct {
	Key   string `json:"key"`
	Epoch uint64 `json:"epoch"`
}

// LeaseTime is how long a lease lasts that is not renewed.
const LeaseTime = 15e9 // ns

// Enough says whether what cannot be fenced where it is done may begin: two thirds of a lease's
// time are left, so that it has ended before anybody else may begin.
func (l Lease) Enough() bool { return l.Mine && l.Left >= Duration(LeaseTime)*2/3 }

// Peer is another host of the hub.
type Peer struct {
	Name    string         `json:"name" help:"its name on the hub"`
	Silent  Leaf[Duration] `json:"silent" help:"for how long it was listened to, and told nothing; 0s while it tells"`
	Last    Leaf[Duration] `json:"last" help:"time since it told something last, as the hub's clock has it, whether or not anybody listened"`
	Doubled bool           `json:"doubled,omitempty" help:"whether two daemons tell under its name at once"`
}

// Elsewhere is another host, or all others, as who starts workers of pools for all hosts has to know them.
type Elsewhere struct {
	Host    string         `json:"host,omitempty"` // "": it is not known which there are
	Silent  Leaf[Duration] `json:"silent"`         // for how long it was listened to, and told nothing; 0 while it tells
	Workers []PoolWorkers  `json:"workers,omitempty"`
	Why     string         `json:"why,omitempty"` // why it is not known which workers it has; "": it is
}

// PoolWorkers are the workers that a host has for a pool.
type PoolWorkers struct {
	Pool    string `json:"pool"`
	Present int    `json:"present"`        // that it has, or is about to start
	Free    int    `json:"free,omitempty"` // of them, that may take up what waits
	Why     string `json:"why,omitempty"`  // why it does not know them; "": it does
	// Limits are the accounts of the pool that are at their limits there.
	Limits []SpentAccount `json:"limits,omitempty"`
}

// SpentAccount is an account that is at its limit.
type SpentAccount struct {
	Account string    `json:"account"`
	Until   time.Time `json:"until,omitzero"` // when that is reset; zero: it is not told
}

// PoolFacts are the workers of a pool on all hosts that are heard, as the host has them that starts workers for all.
type PoolFacts struct {
	Name    string    `json:"name" help:"its name"`
	Most    int       `json:"most" help:"how many workers it may have (max)"`
	Present Leaf[int] `json:"present" help:"how many it has, on all hosts that are heard"`
	Where   string    `json:"where" help:"how many on which host, as box1 2, box2 3"`
	Asks    bool      `json:"asks,omitempty" help:"whether a person ends those that are too many (on_return = \"ask\")"`
}

// Asked is an order of a person at another host that waits for a person here.
type Asked struct {
	ID    string   `json:"id" help:"its ID"`
	By    string   `json:"by" help:"who asks, as person@HOST"`
	Do    OrderDo  `json:"do" help:"what is to be done, as stop or spawn"`
	Agent string   `json:"agent" help:"the agent that it is about, or account NAME"`
	Waits Duration `json:"waits" help:"for how long it has waited"`
}

// Remote is what people at other hosts of the hub may do at this one.
type Remote string

// What people at other hosts may do.
const (
	RemoteView Remote = "view" // look, as an agent of this host may
	RemoteAsk  Remote = "ask"  // look, and order what a person of this host then approves of
	RemoteAct  Remote = "act"  // whatever a person may who sits here: by this host's own rules and mode
)

// Shared says what of an action's target several hosts have in common.
type Shared string

// What actions are done to that several hosts share.
const (
	SharedForge Shared = "forge" // a repository of a forge
	SharedCI    Shared = "ci"    // a pipeline
	SharedMerge Shared = "merge" // the branch that a queue merges into
)
