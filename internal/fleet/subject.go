package fleet

import "strings"

// Kind is what a subject is. It is also the word a rule ranges over.
type Kind string

// The kinds of subject.
const (
	KindHost     Kind = "host"
	KindMount    Kind = "mount"
	KindSession  Kind = "session"
	KindAgent    Kind = "agent"
	KindRepo     Kind = "repo"
	KindWorktree Kind = "worktree"
	KindLock     Kind = "lock"
	KindPhase    Kind = "phase"
	KindLog      Kind = "log"
	KindPart     Kind = "part"
	KindSelf     Kind = "self"
	KindExtra    Kind = "extra"
	KindRun      Kind = "run" // of a formula; a step is "RUN/STEP"

	KindContainer Kind = "container"
	KindProject   Kind = "project" // on a forge
	KindIssue     Kind = "issue"   // PROJECT#12
	KindPull      Kind = "pr"      // PROJECT!7
	KindPipeline  Kind = "pipeline"
	KindWorker    Kind = "worker" // of a CI system

	KindLandmark Kind = "landmark" // a folder or file of Custos itself

	KindPlugin Kind = "plugin" // its name
	KindCode   Kind = "code"   // a folder of formulas and plugins that agents may write to

	KindReceiver Kind = "receiver" // name of a notifier

	KindWork   Kind = "work"   // a Ref
	KindGate   Kind = "gate"   // its ID
	KindConvoy Kind = "convoy" // its ID
	KindMail   Kind = "mail"   // its ID

	KindMerge Kind = "merge" // ID of an item of a merge queue, of a group, or name of a queue

	KindOrder   Kind = "order"   // its ID
	KindTrigger Kind = "trigger" // its name

	KindSchedule Kind = "schedule" // its name
	KindPool     Kind = "pool"     // its name

	KindVault Kind = "vault" // one item: VAULT/FOLDER/FILE
	KindPeer  Kind = "peer"  // another host of the hub: its name
	KindNode  Kind = "node"  // a server of the hub: its name

	KindOverlap Kind = "overlap" // the folders of both worktrees

	KindBudget Kind = "budget" // its name, and / and whose allowance it is where each has its own
)

// Others is the name of those things of a kind that are found together. Nothing that is
// found so has such a name: records have numbers.
const Others = "others"

// Subject is the stable name of the thing a finding, an alert or an action is
// about: a role, a path, a mount point. It outlives restarts; what changes with
// them (pid, start time, inode) is in the Target.
type Subject struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// String returns "kind/name".
func (s Subject) String() string { return string(s.Kind) + "/" + s.Name }

// Less orders subjects by kind, then name.
func (s Subject) Less(o Subject) bool {
	if s.Kind != o.Kind {
		return s.Kind < o.Kind
	}
	return s.Name < o.Name
}

// ParseSubject reads "kind/name"; the name may hold slashes.
func ParseSubject(s string) (Subject, bool) {
	kind, name, ok := strings.Cut(s, "/")
	return Subject{Kind(kind), name}, ok && kind != "" && name != ""
}

// Owner says whose a thing is. Only what is Custos' own, adopted or configured
// may be acted on; foreign things are view-only.
type Owner string

// The owners. The zero Owner is treated as foreign.
const (
	OwnerCustos     Owner = "custos"     // started by Custos
	OwnerAdopted    Owner = "adopted"    // handed over by a person
	OwnerConfigured Owner = "configured" // a path or glob in custos.toml
	OwnerForeign    Owner = "foreign"
	OwnerUnknown    Owner = "unknown" // not known any more: what was known of it is lost
)

// MayTouch says whether things of this owner may be acted on at all.
func (o Owner) MayTouch() bool {
	return o == OwnerCustos || o == OwnerAdopted || o == OwnerConfigured
}
