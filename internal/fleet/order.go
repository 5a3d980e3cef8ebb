package fleet

import (
	"encoding/json"
	"strings"
	"time"
)

// OrderDo is what an order asks for.
type OrderDo string

// What can be ordered.
const (
	OrderSpawn     OrderDo = "spawn"
	OrderNudge     OrderDo = "nudge"
	OrderAnswer    OrderDo = "answer"
	OrderInterrupt OrderDo = "interrupt"
	OrderStop      OrderDo = "stop"
	OrderRecover   OrderDo = "recover"
	OrderBackup    OrderDo = "backup" // a checkpoint now
	OrderPause     OrderDo = "pause"
	OrderResume    OrderDo = "resume"
	OrderAdopt     OrderDo = "adopt"
)

// Action is the name of the action that carries the order out; "" for an order
// that changes nothing but the record.
func (d OrderDo) Action() string {
	switch d {
	case OrderBackup:
		return "checkpoint"
	case OrderPause, OrderResume, OrderAdopt:
		return ""
	}
	return string(d)
}

// ByCustos is the author of what Custos wants by itself. No user has this name.
const ByCustos = "@custos"

// ByWebhook is the author of a trigger that came by a signed webhook: who holds
// the secret. No user has this name.
const ByWebhook = "@webhook"

// ByAgent is the author of what an agent asks for.
func ByAgent(name string) string { return byAgent + name }

const byAgent = "agent/"

// How the IDs of the orders begin by which an agent begins with work that was handed out to it, and by which one is
// ended whose work is over.
const (
	SlingOrder   = "sling-"
	RelieveOrder = "relieve-"
)

// IsHandingOut says whether an order, by its ID and who gave it, has an agent begin with work that Custos itself hands
// out, or ends one whose work is over.
func IsHandingOut(id, by string) bool {
	return by == ByCustos && (strings.HasPrefix(id, SlingOrder) || strings.HasPrefix(id, RelieveOrder))
}

// AgentOf returns which agent an author is, and whether it is one.
func AgentOf(by string) (name string, ok bool) { return strings.CutPrefix(by, byAgent) }

// IsPerson says whether an author is a person: neither Custos, nor an agent, nor a
// webhook, nor no one.
func IsPerson(by string) bool {
	_, agent := AgentOf(by)
	return by != "" && by != ByCustos && by != ByWebhook && !agent
}

// OrderState is where an order is in its life.
type OrderState string

// The states of an order.
const (
	OrderAsked   OrderState = "asked" // of a person at another host: it waits until one here approves of it, and nothing follows from it
	OrderOpen    OrderState = "open"
	OrderQueued  OrderState = "queued" // refused for now, by a guard that will lift; Why and Until say so
	OrderDone    OrderState = "done"
	OrderRefused OrderState = "refused" // for good
	OrderExpired OrderState = "expired" // its time to live is over: a nudge is then undelivered
)

// Order is a person's (or an agent's) request: an idempotent ledger row that a
// pass answers as an action, as queued, or as refused with the reason.
type Order struct {
	ID      string  `json:"id"` // chosen by who asks; the same order twice is one
	Do      OrderDo `json:"do"`
	Agent   string  `json:"agent"`
	By      string  `json:"by"`
	At      Instant `json:"at"`
	Expires Instant `json:"expires,omitzero"`
	Text    string  `json:"text,omitempty"`    // of a nudge; the choice of an answer; the reason of a stop
	Dialog  string  `json:"dialog,omitempty"`  // of an answer: hash of the dialog it is for
	Command bool    `json:"command,omitempty"` // of a nudge: it is a command of the agent's CLI, and typed as it is
	// Instance is the identity of the agent that it is for, and of no other one of that name; "": of whichever runs.
	Instance string        `json:"instance,omitempty"`
	Account  string        `json:"account,omitempty"` // of a pause or resume: the account, instead of Agent
	State    OrderState    `json:"state"`
	Guard    Guard         `json:"guard,omitempty"` // that queued or refused it
	Why      string        `json:"why,omitempty"`
	Hint     string        `json:"hint,omitempty"` // the command a person can type
	Until    Instant       `json:"until,omitzero"`
	Action   string        `json:"action,omitempty"` // ID of the action that answers it, while that is under way and when it did
	Spawn    *Registration `json:"spawn,omitempty"`
	// Arrival is what became of what it was to give the agent, once that was tried; nil before.
	Arrival *Arrival `json:"arrival,omitempty"`
	// Fence is the lease by which Custos gave it: it is carried out by that one, and refused once that has passed on. Nil: none.
	Fence *Fence `json:"fence,omitempty"`
	// Key is the public key of the host at which it was asked for, where that is another one.
	Key string `json:"key,omitempty"`
	// Approved is who approved here of an order that was asked for at another host.
	Approved string `json:"approved,omitempty"`
	// TakenBack is how many starts that waited a stop has taken back.
	TakenBack int `json:"taken_back,omitempty"`
}

// IsOver says whether nothing more becomes of the order.
func (o Order) IsOver() bool {
	return o.State == OrderDone || o.State == OrderRefused || o.State == OrderExpired
}

// AskedFor is for how long an order waits to be approved of that does not say it.
const AskedFor = 24 * time.Hour

// AskedUntil is until when an order waits to be approved of.
func (o Order) AskedUntil() Instant {
	if !o.Expires.IsZero() {
		return o.Expires
	}
	return o.At.Add(AskedFor)
}

// gives says whether it is to give an agent something.
func (o Order) gives() bool { return o.Do == OrderNudge || o.Do == OrderAnswer }

// Reached is what became of what the order was to give its agent: of one that is over and
// that nothing was typed for, that it was not delivered. It is nil of one that is not over,
// and of one that gives nothing.
func (o Order) Reached() *Arrival {
	switch {
	case !o.gives() || !o.IsOver() || o.Arrival != nil:
		return o.Arrival
	case o.State == OrderDone:
		return nil // by a Custos that did not say it yet, or it was not needed
	}
	return &Arrival{Outcome: OutcomeNot, Why: o.Why}
}

// BeganTurn says whether it gave its agent a text that began a turn: a command of the CLI
// begins none.
func (o Order) BeganTurn() bool {
	return o.Do == OrderNudge && !o.Command && o.Arrival != nil && o.Arrival.Outcome == OutcomeDelivered
}

// GoOn begins the IDs of the orders by which an agent, whose turn ended because its budget
// was used up, is told to go on.
const GoOn = "go-on-"

// GoesOn says whether it is such an order, which Custos alone gives.
func (o Order) GoesOn() bool {
	return o.Do == OrderNudge && o.By == ByCustos && strings.HasPrefix(o.ID, GoOn)
}

// Same says whether o asks for what other asks for: everything but the moment
// and what became of it.
func (o Order) Same(other Order) bool {
	return o.ID == other.ID && o.Do == other.Do && o.Agent == other.Agent && o.Account == other.Account &&
		o.By == other.By && o.Text == other.Text && o.Dialog == other.Dialog && o.Command == other.Command && o.Instance == other.Instance &&
		sameSpawn(o.Spawn, other.Spawn)
}

func sameSpawn(a, b *Registration) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.CreatedAt, y.CreatedAt, x.DesiredAt, y.DesiredAt = Instant{}, Instant{}, Instant{}, Instant{}
	p, errX := json.Marshal(x)
	q, errY := json.Marshal(y)
	return errX == nil && errY == nil && string(p) == string(q)
}

// WithTakenBack adds to the words about an order that is done what it took back.
func (o Order) WithTakenBack(why string) string {
	switch o.TakenBack {
	case 0:
		return why
	case 1:
		return strings.TrimPrefix(why+"; 1 start that waited is taken back", "; ")
	}
	return strings.TrimPrefix(why+"; "+Counted(o.TakenBack, "start")+" that waited are taken back", "; ")
}

// After returns what becomes of the order when the action that answers it has
// ended. A try that failed, or found at the last instant that it was not lawful,
// leaves the order open: a later pass judges it again, until it expires or its
// attempts are spent; one that found what no waiting changes ends it. What must not be done twice is not tried twice: a failed
// spawn was rolled back and is for a person to order again, an answer goes to
// one dialog only. Whether a start in doubt was done, a look at its agent shows.
func (o Order) After(r Result) Order {
	o.Guard, o.Until, o.Hint = "", Instant{}, ""
	o.Why, o.Arrival = r.Why, r.Arrival
	switch r.Status {
	case ResultDone:
		o.State, o.Why = OrderDone, r.Effect
	case ResultUnneeded:
		o.State = OrderDone
	case ResultUnverified:
		o.State, o.Why = OrderDone, "not verified: "+r.Why
		if o.Do == OrderNudge {
			o.State, o.Why = OrderExpired, r.Why
			if o.Arrival == nil {
				o.Arrival = &Arrival{Outcome: OutcomeUnknown, Why: r.Why}
			}
		}
	case ResultInDoubt:
		o.State, o.Why = OrderRefused, "in doubt: "+r.Why
		if o.gives() {
			o.Arrival = &Arrival{Outcome: OutcomeUnknown, Why: r.Why}
		}
		if o.Do == OrderSpawn || o.Do == OrderRecover {
			o.State, o.Guard = OrderQueued, GuardEvidence
		}
	default:
		o.State = OrderOpen
		if r.Lasting || o.Do == OrderAnswer || o.Do == OrderSpawn && r.Status == ResultFailed {
			o.State = OrderRefused
		}
	}
	switch o.State {
	case OrderOpen:
		o.Action = ""
	case OrderDone:
		o.Why = o.WithTakenBack(o.Why)
	}
	return o
}
