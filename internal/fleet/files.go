package fleet

// Holder says what became of the process a lock names.
type Holder string

// The holders.
const (
	HolderAlive   Holder = "alive"
	HolderDead    Holder = "dead"
	HolderReused  Holder = "reused" // the pid lives, but began after the lock was written
	HolderUnknown Holder = "unknown"
)

// Lock is one pid lock file.
type Lock struct {
	Path      string         `json:"path" help:"where it is"`
	Owner     Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	File      FileID         `json:"file" help:"its identity"`
	PID       Leaf[int]      `json:"pid" help:"the process it names"`
	Holder    Leaf[Holder]   `json:"holder" help:"alive, dead, or reused: the pid lives, but began after the lock was written" unless:"unknown"`
	Name      string         `json:"name,omitempty" help:"of the process that holds it"`
	Age       Leaf[Duration] `json:"age" help:"time since it was written"`
	WaitedFor bool           `json:"waited_for" help:"whether work waits for this role: a dead one stops the fleet"`
}

// Phase is one phase file of a session: "PHASE:escalate reason".
type Phase struct {
	Path       string         `json:"path" help:"where it is"`
	Owner      Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	File       FileID         `json:"file" help:"its identity"`
	Phase      Leaf[string]   `json:"phase" help:"escalate, done, failed, …"`
	Reason     string         `json:"reason,omitempty" help:"the rest of its first line"`
	Age        Leaf[Duration] `json:"age" help:"time since it was written"`
	Project    string         `json:"project,omitempty" help:"from the file's name"`
	Issue      Leaf[int]      `json:"issue" help:"from the file's name"`
	Unnumbered bool           `json:"unnumbered,omitempty" help:"whether its name fits, and holds no issue: no forge can know of it"`
	Tracked    bool           `json:"tracked,omitempty" help:"whether a forge is configured that has that issue"`
	Closed     Leaf[bool]     `json:"closed" help:"whether that issue, or the pull request of that number, is closed; not known without a forge"`
	ClosedFor  Leaf[Duration] `json:"closed_for" help:"time since it was closed, by the forge's clock; 0s while it is open"`
}

// Log is one log file.
type Log struct {
	Path  string         `json:"path" help:"where it is"`
	Owner Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	File  FileID         `json:"file" help:"its identity"`
	Bytes Leaf[int64]    `json:"bytes" help:"bytes it takes" unit:"bytes"`
	Age   Leaf[Duration] `json:"age" help:"time since it was written"`
	Tail  Leaf[[]string] `json:"tail" help:"its last lines, escapes stripped, secrets redacted"`
}

// FileID is what must be unchanged when an action touches a file.
type FileID struct {
	Device uint64 `json:"device" help:"the file system's number"`
	Inode  uint64 `json:"inode" help:"its number there"`
	MTime  int64  `json:"mtime" help:"when it was written, nanoseconds since 1970"`
	Size   int64  `json:"size" help:"bytes it takes" unit:"bytes"`
}
