package fleet

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

// OrderState is where an order is in its life.
type OrderState string

// The states of an order.
const (
	OrderOpen    OrderState = "open"
	OrderQueued  OrderState = "queued" // refused for now, by a guard that will lift; Why and Until say so
	OrderDone    OrderState = "done"
	OrderRefused OrderState = "refused" // for good
	OrderExpired OrderState = "expired" // its time to live is over: a nudge is then undelivered
)

// Order is a person's (or an agent's) request: an idempotent ledger row that a
// pass answers as an action, as queued, or as refused with the reason.
type Order struct {
	ID       string        `json:"id"` // chosen by who asks; the same order twice is one
	Do       OrderDo       `json:"do"`
	Agent    string        `json:"agent"`
	By       string        `json:"by"`
	At       Instant       `json:"at"`
	Expires  Instant       `json:"expires,omitzero"`
	Text     string        `json:"text,omitempty"`     // of a nudge; the choice of an answer; the reason of a stop
	Dialog   string        `json:"dialog,omitempty"`   // of an answer: hash of the dialog it is for
	Override []Guard       `json:"override,omitempty"` // cooldown, attempts or budget; never identity, unknown, in flight or freeze
	State    OrderState    `json:"state"`
	Why      string        `json:"why,omitempty"`
	Until    Instant       `json:"until,omitzero"`
	Action   string        `json:"action,omitempty"` // ID of the action that answers it
	Spawn    *Registration `json:"spawn,omitempty"`
}
