package fleet

// VerdictWord is what a judge says is to be done about one ambiguous alert.
type VerdictWord string

// The words of a verdict; anything else is VerdictAsk.
const (
	VerdictRetry     VerdictWord = "retry"     // ask the agent to go on
	VerdictExtend    VerdictWord = "extend"    // leave it alone until Until
	VerdictInterrupt VerdictWord = "interrupt" // interrupt its turn
	VerdictRestart   VerdictWord = "restart"   // stop it, and start it again
	VerdictStop      VerdictWord = "stop"      // stop it
	VerdictAsk       VerdictWord = "ask"       // a person must look
)

// Verdict is one answer of a judge: a fact with an expiry that the plan weighs,
// never a command. It is also the receipt of one model call.
type Verdict struct {
	ID         string      `json:"id"` // of the action that asked
	Alert      AlertKey    `json:"alert"`
	Evidence   string      `json:"evidence"` // hash of what was asked: never asked twice
	Word       VerdictWord `json:"word"`
	Until      Instant     `json:"until,omitzero"` // of extend
	Expires    Instant     `json:"expires"`        // after that it counts no more
	Confidence float64     `json:"confidence"`     // 0 to 1
	Reason     string      `json:"reason"`
	At         Instant     `json:"at"`
	Judge      string      `json:"judge"` // kind and model
	Tokens     int64       `json:"tokens,omitempty"`
	MicroUSD   int64       `json:"micro_usd,omitempty"` // millionths of a dollar
	Priced     bool        `json:"priced,omitempty"`    // MicroUSD is known
	Took       Duration    `json:"took,omitempty"`
	Free       bool        `json:"free,omitempty"` // no call was made: the same evidence had been judged
}

// TriagePolicy bounds what is spent on judgement.
type TriagePolicy struct {
	PerHour     int      `json:"per_hour"`      // calls; 0: none
	PerDay      int      `json:"per_day"`       // calls; 0: none
	MoneyPerDay int64    `json:"money_per_day"` // millionths of a dollar; 0: not bounded. A call without a known price counts as CallPrice
	CallPrice   int64    `json:"call_price"`    // what a call is taken to cost before its price is known
	Expiry      Duration `json:"expiry"`        // how long a verdict counts
	Confidence  float64  `json:"confidence"`    // below it a verdict is taken as ask
}

// DefaultTriagePolicy is the budget of an empty configuration.
func DefaultTriagePolicy() TriagePolicy {
	const minute = Duration(60e9)
	return TriagePolicy{PerHour: 6, PerDay: 30, MoneyPerDay: 2_000_000, CallPrice: 50_000, Expiry: 30 * minute, Confidence: 0.6}
}
