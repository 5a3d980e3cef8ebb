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
	Path      string         `json:"path"`
	Owner     Owner          `json:"owner"`
	File      FileID         `json:"file"`
	PID       Leaf[int]      `json:"pid"`
	Holder    Leaf[Holder]   `json:"holder"`
	Name      string         `json:"name,omitempty"` // of the holding process
	Age       Leaf[Duration] `json:"age"`
	WaitedFor bool           `json:"waited_for"` // work waits for this role: a dead one stops the fleet
}

// Phase is one phase file of a session: "PHASE:escalate reason".
type Phase struct {
	Path    string         `json:"path"`
	Owner   Owner          `json:"owner"`
	File    FileID         `json:"file"`
	Phase   Leaf[string]   `json:"phase"` // escalate, done, failed, …
	Reason  string         `json:"reason,omitempty"`
	Age     Leaf[Duration] `json:"age"`
	Project string         `json:"project,omitempty"`
	Issue   Leaf[int]      `json:"issue"` // from the file's name
	// Unnumbered says that its name fits, and holds no issue: no forge can tell of it.
	Unnumbered bool           `json:"unnumbered,omitempty"`
	Tracked    bool           `json:"tracked,omitempty"` // a forge is configured that tells of its issue
	Closed     Leaf[bool]     `json:"closed"`            // whether the issue, or the pull request of that number, is; unknown without a forge
	ClosedFor  Leaf[Duration] `json:"closed_for"`        // since it was closed, by the forge's clock; 0 while it is open
}

// Log is one log file.
type Log struct {
	Path  string         `json:"path"`
	Owner Owner          `json:"owner"`
	File  FileID         `json:"file"`
	Bytes Leaf[int64]    `json:"bytes"`
	Age   Leaf[Duration] `json:"age"`
	Tail  Leaf[[]string] `json:"tail"` // last lines, escapes stripped, secrets redacted
}

// FileID is what must be unchanged when an action touches a file.
type FileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	MTime  int64  `json:"mtime"` // nanoseconds since 1970
	Size   int64  `json:"size"`
}
