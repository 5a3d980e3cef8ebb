package fleet

// Recording is everything a plan follows from. The same recording gives the
// same plan, byte for byte, anywhere.
type Recording struct {
	Version  int      `json:"version"`
	Custos   string   `json:"custos"` // version of the program
	Snapshot Snapshot `json:"snapshot"`
	Past     Past     `json:"past"`
	Policy   Policy   `json:"policy"`
	Rules    string   `json:"rules"` // the rule table in force, TOML; empty: the built-in one
}

// Pass is one turn of the cycle, whole: what it saw, what that meant, what it
// planned, and, for a pass that was waited for, what became of it.
type Pass struct {
	Number     int64      `json:"number,omitempty"` // 0 for a look that writes nothing
	Snapshot   Snapshot   `json:"snapshot"`
	Past       Past       `json:"past"`
	Policy     Policy     `json:"policy"`
	Assessment Assessment `json:"assessment"`
	Plan       Plan       `json:"plan"`
	Itself     *Plan      `json:"itself,omitempty"` // what it does by itself, where Plan is what a person's word would lead to
	Results    []Result   `json:"results,omitempty"`
}

// PatrolOrder is a person's request for a patrol.
type PatrolOrder struct {
	Apply bool   `json:"apply"` // act, with the modes raised to auto for this pass
	By    string `json:"by"`    // who asks
}

// Event is one line of the append-only event log.
type Event struct {
	ID      int64    `json:"id"`
	At      Instant  `json:"at"`
	Kind    string   `json:"kind"` // alert.firing, alert.resolved, action.planned, action.started, action.ended, action.skipped, ack, silence, stopped, amnesia.confirmed, freeze, thaw, patrol, up, down, order.taken, order.planned, order.queued, order.done, order.refused, order.expired, order.reopened, agent.registered, agent.desired, agent.started, agent.ended, agent.failed, agent.prompt, agent.checkpoint, agent.removed, recovery_attempt, recovery_success, recovery_failed, recovery_exhausted, run.taken, run.step, run.person, run.resumed, run.ended, verdict, told, reply, ask.answered, web.address, web.session, web.revoked, web.refused, web.typing, receiver.try
	Alert   AlertKey `json:"alert,omitzero"`
	Subject Subject  `json:"subject,omitzero"`
	Action  string   `json:"action,omitempty"` // its ID
	Text    string   `json:"text"`
}
