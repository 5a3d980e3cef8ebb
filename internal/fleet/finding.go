package fleet

// Assessment is what a snapshot means.
type Assessment struct {
	Findings []Finding         `json:"findings"` // sorted by priority, since, subject, rule
	Alerts   []Alert           `json:"alerts"`   // every alert that is not over, and those that end now
	Blind    []CannotTell      `json:"blind,omitempty"`
	Rules    map[string]Remedy `json:"rules"` // of the rules that fire
}

// AlertKey names an alert: one rule, one stable subject.
type AlertKey struct {
	Rule    string  `json:"rule"`
	Subject Subject `json:"subject"`
}

// String returns "rule kind/name".
func (k AlertKey) String() string { return k.Rule + " " + k.Subject.String() }

// Finding is a rule that is true of a subject now.
type Finding struct {
	AlertKey
	Priority Priority   `json:"priority"`
	Since    Instant    `json:"since"`
	Firing   bool       `json:"firing"` // false while its "for" has not passed
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Fresh    bool       `json:"fresh"`               // still true with stale parts taken as unknown
	Parts    []PartName `json:"parts"`               // what it rests on
	CausedBy []AlertKey `json:"caused_by,omitempty"` // firing alerts that explain it
	Wishes   []Wish     `json:"wishes,omitempty"`
	Runbook  string     `json:"runbook,omitempty"`
}

// Evidence is one value the rule read.
type Evidence struct {
	Expr  string `json:"expr"`
	Value string `json:"value"`
}

// CannotTell is a rule that could not be answered for a subject. It never leads
// to an action and never ends an alert.
type CannotTell struct {
	AlertKey
	Why string `json:"why"`
}

// Wish is an action a rule asks for, on one target, before any guard.
type Wish struct {
	Do      string  `json:"do"`
	Subject Subject `json:"subject"` // the target, which need not be the finding's subject
	Target  Target  `json:"target"`
	Limit   int     `json:"limit,omitempty"`   // at most so many of the finding's wishes with this Do
	Unknown string  `json:"unknown,omitempty"` // why it is not known whether the target qualifies
	Text    string  `json:"text,omitempty"`    // what to type (nudge), or why (stop)
}

// Target is the thing itself as it was seen: identity and precondition of an
// action. Exactly one field is set; but beside the Agent of a recovery stands
// its Registration, which says how it is started.
type Target struct {
	Agent    *Agent    `json:"agent,omitempty"`
	Mount    *Mount    `json:"mount,omitempty"`
	Repo     *Repo     `json:"repo,omitempty"`
	Worktree *Worktree `json:"worktree,omitempty"`
	Lock     *Lock     `json:"lock,omitempty"`
	Phase    *Phase    `json:"phase,omitempty"`
	Log      *Log      `json:"log,omitempty"`

	Container *Container   `json:"container,omitempty"`
	Project   *Project     `json:"project,omitempty"`
	Issue     *Issue       `json:"issue,omitempty"`
	Pull      *PullRequest `json:"pr,omitempty"`
	Pipeline  *Pipeline    `json:"pipeline,omitempty"`
	Worker    *Worker      `json:"worker,omitempty"`
	Landmark  *Landmark    `json:"landmark,omitempty"`
	Bead      *Bead        `json:"bead,omitempty"`
	Code      *CodeFacts   `json:"code,omitempty"`
	Vault     *VaultItem   `json:"vault,omitempty"`
	// Registration is the target of a spawn: the agent as it is to be.
	Registration *Registration `json:"registration,omitempty"`
	// Step is the target of an action on a run: Custos made it, and it is never another's.
	Step *StepTarget `json:"step,omitempty"`
	// Merge is the target of an action on a merge group: the same.
	Merge *MergeTarget `json:"merge,omitempty"`
}

// Owner says whose the target is; foreign when that is not known.
func (t Target) Owner() Owner {
	switch {
	case t.Agent != nil:
		return t.Agent.Owner
	case t.Repo != nil:
		return t.Repo.Owner
	case t.Worktree != nil:
		return t.Worktree.Owner
	case t.Lock != nil:
		return t.Lock.Owner
	case t.Phase != nil:
		return t.Phase.Owner
	case t.Log != nil:
		return t.Log.Owner
	case t.Registration != nil:
		return t.Registration.Owner
	case t.Container != nil:
		return t.Container.Owner
	case t.Step != nil, t.Merge != nil:
		return OwnerCustos
	case t.Landmark != nil:
		return t.Landmark.Owner
	case t.Code != nil:
		return OwnerConfigured // custos.toml names it
	case t.Vault != nil:
		return t.Vault.Owner
	case t.Mount != nil:
		return OwnerConfigured // a message about the machine touches nothing of anyone
	}
	return t.elsewhere()
}

// elsewhere is the owner of a target that lives on a forge or a CI system.
func (t Target) elsewhere() Owner {
	switch {
	case t.Project != nil:
		return t.Project.Owner
	case t.Issue != nil:
		return t.Issue.Owner
	case t.Pull != nil:
		return t.Pull.Owner
	case t.Pipeline != nil:
		return t.Pipeline.Owner
	case t.Worker != nil:
		return t.Worker.Owner
	case t.Bead != nil:
		return OwnerConfigured // only trackers that [beads] names are read
	}
	return OwnerForeign
}

// AlertStatus is where an alert is in its life.
type AlertStatus string

// The statuses of an alert. Acknowledged and silenced are not statuses: a
// firing alert may be either.
const (
	AlertPending  AlertStatus = "pending" // true, but not for long enough
	AlertFiring   AlertStatus = "firing"
	AlertResolved AlertStatus = "resolved"
)

// Alert is the life of a finding, keyed by rule and stable subject.
type Alert struct {
	AlertKey
	Number        int64       `json:"number"` // short name for people
	Status        AlertStatus `json:"status"`
	Priority      Priority    `json:"priority"`
	Summary       string      `json:"summary"`
	Since         Instant     `json:"since"` // when the rule became true
	FiredAt       Instant     `json:"fired_at,omitzero"`
	LastTrue      Instant     `json:"last_true"`
	EndedAt       Instant     `json:"ended_at,omitzero"`
	Patrols       int         `json:"patrols"`              // patrols in a row that found it true
	TellAfter     int         `json:"tell_after,omitempty"` // of its rule: people are notified once Patrols is as many
	Blind         string      `json:"blind,omitempty"`      // why it is not known any more
	Evidence      []Evidence  `json:"evidence,omitempty"`
	CausedBy      []AlertKey  `json:"caused_by,omitempty"`
	Changes       []Instant   `json:"changes,omitempty"` // of status to or from firing, newest last, for flap damping
	Flapping      bool        `json:"flapping,omitempty"`
	Runbook       string      `json:"runbook,omitempty"`
	AckedBy       string      `json:"acked_by,omitempty"`
	AckedAt       Instant     `json:"acked_at,omitzero"`
	SilencedUntil Instant     `json:"silenced_until,omitzero"`
	SilencedBy    string      `json:"silenced_by,omitempty"`
	Project       string      `json:"project,omitempty"` // that the subject is of, as far as that is known
	ToldBy        string      `json:"told_by,omitempty"` // who tells people of it, where that is not this host
}
