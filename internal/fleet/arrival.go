package fleet

// Arrival is what became of something that was given to an agent: a text, or the answer
// to its dialog.
type Arrival struct {
	Outcome Outcome `json:"outcome"`
	Proof   Proof   `json:"proof,omitempty"` // of what was delivered
	Why     string  `json:"why,omitempty"`   // of what was not, or cannot be told
}

// Outcome says whether it reached the agent.
type Outcome string

// The outcomes. What cannot be told is neither of the others: it may have arrived.
const (
	OutcomeDelivered Outcome = "delivered"
	OutcomeNot       Outcome = "not_delivered"
	OutcomeUnknown   Outcome = "cannot_tell"
)

// Words is the outcome for people.
func (o Outcome) Words() string {
	switch o {
	case OutcomeDelivered:
		return "delivered"
	case OutcomeNot:
		return "not delivered"
	}
	return "cannot tell whether it was delivered"
}

// AgentTurn is what became of the turn that a text began which reached its agent.
type AgentTurn struct {
	State TurnState `json:"state"`
	Error string    `json:"error,omitempty"` // that ended one that failed: its name, and what the CLI said where that is known
	At    Instant   `json:"at,omitzero"`     // when it ended; zero for one that goes on, or is unknown
}

// TurnState says how far a turn is.
type TurnState string

// The states of a turn.
const (
	TurnUnknown     TurnState = "unknown"
	TurnUnderWay    TurnState = "under_way"
	TurnAnswered    TurnState = "answered"    // it ended, and no error ended it
	TurnFailed      TurnState = "failed"      // an error ended it
	TurnInterrupted TurnState = "interrupted" // a person ended it
)

// Proof is what shows that it reached the agent.
type Proof string

// The proofs, the best first: what the model was given, what the CLI says of it, what
// can be seen.
const (
	ProofTranscript Proof = "transcript"
	ProofHook       Proof = "hook"
	ProofScreen     Proof = "screen"
)

// Words says the arrival for people, on one line.
func (a Arrival) Words() string {
	switch {
	case a.Proof != "":
		return a.Outcome.Words() + " (proof: " + string(a.Proof) + ")"
	case a.Why != "":
		return a.Outcome.Words() + ": " + a.Why
	}
	return a.Outcome.Words()
}

// Proof is what an event of an agent proves by.
func (e HookEvent) Proof() Proof {
	if e.Source == UsageTranscript {
		return ProofTranscript
	}
	return ProofHook
}
