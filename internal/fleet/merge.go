package fleet

import "strings"

// MergeState is where an item of a merge queue is.
type MergeState string

// The states of an item.
const (
	MergeWaiting   MergeState = "waiting"   // for its turn, or in the merge group that is being tested
	MergeConflict  MergeState = "conflict"  // it does not merge with its target: its author has to
	MergeFailed    MergeState = "failed"    // the gates fail with it alone
	MergeHeld      MergeState = "held"      // until a person releases it
	MergeMerged    MergeState = "merged"    // its commit is in the target
	MergeWithdrawn MergeState = "withdrawn" // it was taken back
)

// MergeItem is a branch that is to be merged, at one commit of it.
type MergeItem struct {
	Head
	Queue    string     `json:"queue"`
	Source   string     `json:"source"` // the branch, by its short name
	Commit   string     `json:"commit"` // that it stood at: this is merged, and nothing else
	Title    string     `json:"title,omitempty"`
	Project  string     `json:"project,omitempty"`
	Work     []Ref      `json:"work,omitempty"`  // what is closed once it is merged, in whichever tracker
	Agent    string     `json:"agent,omitempty"` // its author, where that is an agent
	Priority Priority   `json:"priority"`
	Needs    []string   `json:"needs,omitempty"` // IDs of items that are merged before it
	State    MergeState `json:"state"`
	Why      string     `json:"why,omitempty"`
	Files    []string   `json:"files,omitempty"`    // that conflict
	Accepted string     `json:"accepted,omitempty"` // commit of which a person has said that it may lose lines
	Merged   string     `json:"merged,omitempty"`   // the commit that the target moved to with it
	Reviewed string     `json:"reviewed,omitempty"` // commit that a person has released in spite of its review, or without one
	By       string     `json:"by"`
	At       Instant    `json:"at"`
	Since    Instant    `json:"since"`            // of this state
	Waits    string     `json:"waits,omitempty"`  // why it is not taken up, though it waits: as its pull request was last seen
	Unseen   bool       `json:"unseen,omitempty"` // that is for want of a look
	// Settled is the work of other trackers, and the pull requests, of which nothing more becomes
	// by its merge.
	Settled  []MergeElsewhere `json:"settled,omitempty"`
	OpenTold bool             `json:"open_told,omitempty"` // its author was told what is open though it is merged
}

// MergeElsewhere is work of another tracker that an item named, once that is merged.
type MergeElsewhere struct {
	Ref  Ref    `json:"ref"`
	Left string `json:"left,omitempty"` // why it was left open; empty: it is closed
}

// Over says whether nothing more becomes of it.
func (i MergeItem) Over() bool { return i.State == MergeMerged || i.State == MergeWithdrawn }

// MergeGroupState is where a merge group is.
type MergeGroupState string

// The states of a merge group.
const (
	GroupBuilding MergeGroupState = "building" // its commit, or the worktree for its gates, is to be made
	GroupTesting  MergeGroupState = "testing"  // its gates run
	GroupGreen    MergeGroupState = "green"    // they passed: it is to land
	GroupRed      MergeGroupState = "red"      // they failed
	GroupLanded   MergeGroupState = "landed"   // the target stands, or stood, at its commit
	GroupDropped  MergeGroupState = "dropped"  // nothing was learned of it
)

// MergeGroup is a commit that a target may move to: items merged onto its base one after
// another, and what the gates say of that. A group without items is the target itself.
type MergeGroup struct {
	Head
	Queue    string          `json:"queue"`
	Items    []MergeMember   `json:"items,omitempty"`    // in the order they are merged
	Suspects []MergeMember   `json:"suspects,omitempty"` // that failed together; these items are the first of them
	Base     string          `json:"base,omitempty"`     // commit of the target that it is built on
	Commit   string          `json:"commit,omitempty"`
	Tree     string          `json:"tree,omitempty"` // what was tested
	Gates    string          `json:"gates"`          // digest of what is asked of it
	Worktree string          `json:"worktree,omitempty"`
	State    MergeGroupState `json:"state"`
	Why      string          `json:"why,omitempty"`
	Action   string          `json:"action,omitempty"` // ID of the action that builds or lands it, the last one
	Run      string          `json:"run,omitempty"`    // ID of the run of its gates, the last one
	Runs     int             `json:"runs,omitempty"`   // how many there were
	Reds     int             `json:"reds,omitempty"`   // of them, how many failed
	Unclear  int             `json:"unclear,omitempty"`
	Failed   []string        `json:"failed,omitempty"` // gates that failed last
	Flaky    []string        `json:"flaky,omitempty"`  // gates that failed, and passed on the same tree
	Same     string          `json:"same,omitempty"`   // ID of the group whose verdict on the same tree it has
	Settled  []MergeSettled  `json:"settled,omitempty"`
	Cleared  string          `json:"cleared,omitempty"`
	Tests    []MergeTest     `json:"tests,omitempty"`      // that failed in its runs, by the reports of gates
	More     int             `json:"more_tests,omitempty"` // of the last run that failed, how many are not in Tests
	Told     int             `json:"told,omitempty"`       // runs that failed of which Tests has each test that did
	Notes    []string        `json:"notes,omitempty"`      // what is to be said of the reports of its last run
	At       Instant         `json:"at"`
	Since    Instant         `json:"since"` // of this state
}

// GroupClear is what Cleared says when nothing is left of a group on disk.
const GroupClear = "done"

// MergeMember is an item, at the commit it is tested at.
type MergeMember struct {
	ID     string `json:"id"`
	Commit string `json:"commit"`
}

// MergeTest is a test that failed in a run of the gates of a group, by the report of a gate.
type MergeTest struct {
	Gate  string `json:"gate"`
	Name  string `json:"name"`            // untrusted text
	Reds  int    `json:"reds,omitempty"`  // runs of the gates that failed with it
	Flaky bool   `json:"flaky,omitempty"` // it failed, and passed on the same tree
}

// MergeNames are the items in words: "mq1, mq2 and mq3".
func MergeNames(list []MergeMember) string {
	var names []string
	for _, m := range list {
		names = append(names, m.ID)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Decided says whether there is a verdict, and nothing is under way for it.
func (g MergeGroup) Decided() bool {
	return g.State == GroupRed || g.State == GroupLanded || g.State == GroupDropped
}

// Over says whether nothing more becomes of it.
func (g MergeGroup) Over() bool { return g.Decided() && g.Cleared == GroupClear }

// MergeHold is a merge queue that is held, or was: nothing lands until it is released.
type MergeHold struct {
	Head           // its key is the queue's name
	Queue  string  `json:"queue"`
	Held   bool    `json:"held"`
	Why    string  `json:"why,omitempty"`
	By     string  `json:"by"` // who held it, or released it
	At     Instant `json:"at"`
	Lifted int64   `json:"lifted,omitempty"` // alerts up to this number do not hold it any more: a person has released it in spite of them
}

// Over says whether it is held no more.
func (h MergeHold) Over() bool { return !h.Held }

// MergeMode is who moves the target of a merge queue.
type MergeMode string

// The modes of a merge queue.
const (
	MergeOwn   MergeMode = ""      // Custos: what has passed its gates
	MergeForge MergeMode = "forge" // the forge, which Custos asks for each pull request whose checks have passed
	MergeWatch MergeMode = "watch" // whoever does: Custos looks on
)

// MergeQueue is a merge queue as custos.toml says: the section [merge.NAME].
type MergeQueue struct {
	Name    string      `json:"name"`
	Mode    MergeMode   `json:"mode,omitempty"`
	Project string      `json:"project,omitempty"`
	Repo    string      `json:"repo"`             // folder of the repository whose objects are used
	Target  string      `json:"target"`           // branch that is merged into
	Remote  string      `json:"remote,omitempty"` // where the target is; empty: in the repository itself
	Gates   []MergeGate `json:"gates"`
	Digest  string      `json:"digest"` // of the gates: a verdict holds for these
	Batch   int         `json:"batch"`  // items that are tested together, at most
	Wait    Duration    `json:"wait"`   // for more of them
	Ageing  Duration    `json:"ageing"` // waiting for so long is one priority more
	Dir     string      `json:"dir"`    // folder for the worktrees of its gates
	Runs    string      `json:"runs"`   // folder of the folders of runs
	// Review is the role of those who read a branch before it is tested; empty: nobody does.
	Review string `json:"review,omitempty"`
	Rounds int    `json:"rounds,omitempty"` // of reviews of one item, before a person is asked
	// Resolve is the role of those who bring in what conflicts or fails when its author does not; empty: nobody does.
	Resolve string `json:"resolve,omitempty"`
	// Regenerate are the commands that make files anew which conflict.
	Regenerate []MergeRegenerate `json:"regenerate,omitempty"`
	Rerere     bool              `json:"rerere,omitempty"` // resolutions that git has recorded are used again
}

// MergeRegenerate is a command that makes files anew when they conflict.
type MergeRegenerate struct {
	Files   []string `json:"files"` // patterns of path.Match for each part of a path; ** is any number of parts
	Argv    []string `json:"argv"`
	Timeout Duration `json:"timeout"`
	Env     []string `json:"env,omitempty"` // names of variables that are passed on
}

// MergeGate is a command that has to end with 0 before anything lands.
type MergeGate struct {
	Name    string   `json:"name"`
	Argv    []string `json:"argv,omitempty"`
	Script  string   `json:"script,omitempty"`
	Timeout Duration `json:"timeout,omitempty"`
	Env     []string `json:"env,omitempty"`    // names of variables that are passed on
	Report  string   `json:"report,omitempty"` // file in the worktree that it says in which tests failed; ReportOutput: what it prints
}

// MergeTarget is the target of an action on a merge group: as it is, and of which queue.
type MergeTarget struct {
	Queue MergeQueue  `json:"queue"`
	Group MergeGroup  `json:"group"`
	Items []MergeItem `json:"items,omitempty"` // those of the group
	// Unless is a commit of the target on which nothing is to be built: it fails by itself.
	Unless string `json:"unless,omitempty"`
}

// MergeOutcome is what an action on a merge group has learned.
type MergeOutcome struct {
	Base     string      `json:"base,omitempty"` // where the target stands
	Commit   string      `json:"commit,omitempty"`
	Tree     string      `json:"tree,omitempty"`
	Worktree string      `json:"worktree,omitempty"`
	Left     []MergeLeft `json:"left,omitempty"`     // items that are not in Commit
	Declined string      `json:"declined,omitempty"` // why the remote will not have the commit
	// Settled says of items in Commit which conflicts were settled.
	Settled []MergeSettled `json:"settled,omitempty"`
}

// MergeSettled is an item whose conflicts were settled without its author. What lines are left of these files was not
// asked.
type MergeSettled struct {
	ID       string   `json:"id"`
	Again    []string `json:"again,omitempty"`    // files that were made anew
	Recorded []string `json:"recorded,omitempty"` // files that were resolved as a person has once resolved them
}

// MergeLeft is an item that is not in what was built, and what is known of it instead.
type MergeLeft struct {
	ID     string     `json:"id"`
	State  MergeState `json:"state"` // that it is in now; waiting: it is tried again later
	Why    string     `json:"why"`
	Commit string     `json:"commit,omitempty"` // that its branch stands at now
	Files  []string   `json:"files,omitempty"`  // that conflict
}

// MergeLoses begins why an item is held of which a merge would lose something.
const MergeLoses = "the merge would lose lines that one side brought: "

// MergeBlocked begins why an item is not merged whose reviews have found blockers.
const MergeBlocked = "reviewed, and there are blockers: "

// MergeFacts is an item of a merge queue that is not over, or was over within a day; or a
// queue that is held, or that does not go on (state waiting).
type MergeFacts struct {
	ID      string     `json:"id" help:"its ID; of a queue its name"`
	Queue   string     `json:"queue" help:"the queue it is in"`
	Whole   bool       `json:"whole" help:"whether it is a queue that is held, or that does not go on, and no item"`
	Project string     `json:"project,omitempty" help:"its project"`
	Source  string     `json:"source,omitempty" help:"its branch"`
	Title   string     `json:"title,omitempty" help:"untrusted text"`
	Agent   string     `json:"agent,omitempty" help:"its author; empty where that is a person"`
	By      string     `json:"by" help:"who added it, or holds the queue: a person, agent/NAME or @custos"`
	State   MergeState `json:"state" help:"waiting, conflict, failed, held, merged or withdrawn"`
	Why     string     `json:"why,omitempty" help:"why it is so"`
	Files   []string   `json:"files,omitempty" help:"that conflict"`
	Lost    bool       `json:"lost" help:"whether it is held because the merge would lose lines of one side"`
	Blocked bool       `json:"blocked" help:"whether it is held because all rounds of its review have found blockers"`
	Age     Duration   `json:"age" help:"time since it was added"`
	Since   Duration   `json:"since" help:"time since its state began"`
}
