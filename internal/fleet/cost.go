package fleet

// Cost is what models used and cost of one thing: of a day, an agent, a model. It is asked for as a
// sum by one of CostBys.
type Cost struct {
	Key      string `json:"key"`                // of what; empty: of none of these
	Calls    int64  `json:"calls"`              // responses, and questions to the judge; of a run whose responses were not seen: sessions
	Tokens   int64  `json:"tokens"`             // all of them
	Cached   int64  `json:"cached,omitempty"`   // of the tokens: read from a cache
	Output   int64  `json:"output,omitempty"`   // of the tokens: written, where that is told apart
	Told     int64  `json:"told,omitempty"`     // millionths of a dollar, as a CLI or a judge's server said
	Table    int64  `json:"table,omitempty"`    // millionths of a dollar, by a price table
	Unpriced int64  `json:"unpriced,omitempty"` // calls whose price is not known
}

// Add adds what another one cost.
func (c *Cost) Add(d Cost) {
	c.Calls += d.Calls
	c.Tokens += d.Tokens
	c.Cached += d.Cached
	c.Output += d.Output
	c.Told += d.Told
	c.Table += d.Table
	c.Unpriced += d.Unpriced
}

// CostBys is what costs are added up by. Judges have no agent but an alert.
func CostBys() []string {
	return []string{"day", "agent", "role", "project", "account", "model", "kind", "work", "run", "formula", "session", "alert"}
}

// CostByAgentModel is a sum for each agent and model, which nobody asks for by its name: its keys are
// both, with CostKeyBreak between.
const (
	CostByAgentModel = "agent and model"
	CostKeyBreak     = "\x1f"
)

// What costs are called that belong to none of what they are added up by.
const (
	CostOfJudge  = "(judge)"  // of questions to the judge
	CostOfAgents = "(agents)" // of responses to agents, by alert
	CostOfNone   = "(none)"
)

// UsedBy says who used something: an instance of ours, or a conversation of a kind of agent.
type UsedBy struct{ Kind, Session, Instance string }

// Used is what one of them used and cost.
type Used struct {
	By   UsedBy
	Cost Cost
}

// Money is what it cost in millionths of a dollar; unknown where the price of a call is.
func (c Cost) Money() Leaf[int64] {
	if c.Unpriced > 0 {
		return Unknown[int64]("the price of " + Counted(int(c.Unpriced), "response") + " is not known")
	}
	return Known(c.Told + c.Table)
}
