package fleet

// ConvoyState is where a convoy is.
type ConvoyState string

// The states of a convoy.
const (
	ConvoyOpen   ConvoyState = "open"
	ConvoyDone   ConvoyState = "done"   // every member is closed; one that is reopened opens it again
	ConvoyClosed ConvoyState = "closed" // by a person or an agent, whatever its members are
)

// Convoy is work that is tracked together, across projects and trackers. It is
// done when every member is closed.
type Convoy struct {
	Head
	Title   string         `json:"title"`
	Members []ConvoyMember `json:"members,omitempty"`
	Notify  []string       `json:"notify,omitempty"` // addresses that are notified when it is done; none: the overseer
	Due     Instant        `json:"due,omitzero"`
	State   ConvoyState    `json:"state"`
	Times   int            `json:"times,omitempty"` // how often it was done
	By      string         `json:"by"`
	At      Instant        `json:"at"`
	Since   Instant        `json:"since"` // of this state
	Why     string         `json:"why,omitempty"`
}

// ConvoyMember is one piece of work of a convoy, as it was last seen: what a
// tracker shows no more is still known.
type ConvoyMember struct {
	Ref     Ref       `json:"ref"`
	Title   string    `json:"title,omitempty"`
	State   WorkState `json:"state,omitempty"` // empty: never seen
	Outcome string    `json:"outcome,omitempty"`
	SeenAt  Instant   `json:"seen_at,omitzero"`
}

// Over says whether nothing more becomes of it by itself.
func (c Convoy) Over() bool { return c.State == ConvoyClosed }
