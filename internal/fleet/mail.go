package fleet

// MailType is what a mail is for.
type MailType string

// The types of mail. The empty type is free text.
const (
	MailFree        MailType = ""
	MailHelp        MailType = "HELP"
	MailLifecycle   MailType = "LIFECYCLE"
	MailWitnessPing MailType = "WITNESS_PING" // answered by the record of activity; it wakes no agent
	MailWorkerDone  MailType = "worker_done"
	MailMergeReady  MailType = "merge_ready"
	MailMergeResult MailType = "merge_result"
	MailEscalation  MailType = "escalation"
	MailQuestion    MailType = "question"
	MailAnswer      MailType = "answer"
	// Those that Custos writes itself.
	MailGate       MailType = "gate"       // a gate was closed
	MailConvoy     MailType = "convoy"     // a convoy is done
	MailDependency MailType = "dependency" // what work waited for is closed
	MailBounce     MailType = "bounce"     // a mail that no one will read
	MailNews       MailType = "news"       // of an agent, to its parent
)

// MailTypes lists the types that people and agents may write.
func MailTypes() []MailType {
	return []MailType{MailHelp, MailLifecycle, MailWitnessPing, MailWorkerDone, MailMergeReady, MailMergeResult, MailEscalation, MailQuestion, MailAnswer}
}

// Overseer is the address of the people who run the fleet.
const Overseer = "overseer"

// CopyState is how far one copy of a mail got.
type CopyState string

// The states of a copy.
const (
	CopyNew      CopyState = "new"
	CopyTold     CopyState = "told" // its reader was notified of it; not acknowledged
	CopyRead     CopyState = "read" // acknowledged
	CopyArchived CopyState = "archived"
	CopyBounced  CopyState = "bounced" // no one will read it: its reader is gone for good
	CopyUnread   CopyState = "unread"  // its reader was notified as often as is done, and never read it
)

// Mail is one message between agents, people and Custos.
type Mail struct {
	Head
	Thread   string     `json:"thread,omitempty"`  // ID of the mail that it began with; empty: this one
	Answers  string     `json:"answers,omitempty"` // ID of the mail it answers
	From     string     `json:"from"`              // author: a person, ByAgent, ByCustos
	To       []string   `json:"to"`                // as it was addressed
	Type     MailType   `json:"type,omitempty"`
	Priority Priority   `json:"priority"`
	Subject  string     `json:"subject"`
	Body     string     `json:"body,omitempty"`
	Project  string     `json:"project,omitempty"`
	About    string     `json:"about,omitempty"` // what it is about: a gate, a convoy, a Ref, an agent
	At       Instant    `json:"at"`
	Copies   []MailCopy `json:"copies,omitempty"` // one for each reader; of Custos' own mail only the people have one until a pass has sorted it
	Sorted   bool       `json:"sorted,omitempty"` // a pass has found its readers
	Grade    Priority   `json:"grade,omitempty"`  // of HELP, as its words were sorted
	Why      string     `json:"why,omitempty"`    // why it was graded, stopped or sent so
	Raised   Instant    `json:"raised,omitzero"`  // when it was escalated, for want of an answer
	// AnsweredBy is who answered it first: an author as of From.
	AnsweredBy string `json:"answered_by,omitempty"`
}

// MailAction is what a mail of some type brings about besides being read, as
// custos.toml says.
type MailAction struct {
	Work    string `json:"work,omitempty"`    // add, close, reopen or release: what becomes of the work that it is about
	Trigger string `json:"trigger,omitempty"` // name of the trigger that it is
	// Merge is the merge queue that the branch it names is added to, when it is handed in; empty:
	// none, unless the type is merge_ready and nothing is said of that.
	Merge   string `json:"merge,omitempty"`
	NoMerge bool   `json:"no_merge,omitempty"` // it is said that it is added to none
}

// MailCopy is a mail as one reader has it.
type MailCopy struct {
	To     string    `json:"to"` // name of an agent, or Overseer
	State  CopyState `json:"state"`
	Since  Instant   `json:"since,omitzero"` // of this state
	Told   int       `json:"told,omitempty"` // how often its reader was notified
	ToldAt Instant   `json:"told_at,omitzero"`
	Order  string    `json:"order,omitempty"` // ID of the nudge that announces it now
	Why    string    `json:"why,omitempty"`
}

// Over says whether nothing more becomes of the copy by itself.
func (c MailCopy) Over() bool {
	return c.State == CopyRead || c.State == CopyArchived || c.State == CopyBounced || c.State == CopyUnread
}

// Waits says whether it is a call for help that was not answered, nor was it
// escalated.
func (m Mail) Waits() bool { return m.Type == MailHelp && m.AnsweredBy == "" && m.Raised.IsZero() }

// Over says whether nothing more becomes of the mail by itself.
func (m Mail) Over() bool {
	if m.Waits() {
		return false
	}
	for _, c := range m.Copies {
		if !c.Over() {
			return false
		}
	}
	return m.Sorted
}
