package fleet

// Repos is what was seen of git: repositories and their worktrees.
type Repos struct {
	Repos     []Repo     `json:"repos"`
	Worktrees []Worktree `json:"worktrees"`
}

// Repo is one git repository, seen through its main worktree.
type Repo struct {
	Path         string         `json:"path"` // of the main worktree
	GitDir       string         `json:"git_dir"`
	Owner        Owner          `json:"owner"`
	Primary      Leaf[string]   `json:"primary"` // the primary branch
	Branch       Leaf[string]   `json:"branch"`  // checked out now; "" when detached
	Head         Leaf[string]   `json:"head"`
	Operation    Leaf[string]   `json:"operation"` // "", rebase, merge, cherry-pick, revert, bisect
	OperationAge Leaf[Duration] `json:"operation_age"`
	Dirty        Leaf[int]      `json:"dirty"` // changed tracked files
	Ahead        Leaf[int]      `json:"ahead"` // of upstream
	Behind       Leaf[int]      `json:"behind"`
	Stashes      Leaf[int]      `json:"stashes"`
	Occupied     Leaf[[]int]    `json:"occupied"` // pids whose cwd is inside
	Pinned       bool           `json:"pinned"`   // configured to stay on its primary branch
}

// Worktree is one linked worktree. What must not be lost in it is listed by
// name; Removable says whether nothing is.
type Worktree struct {
	Path       string         `json:"path"`
	Repo       string         `json:"repo"` // path of the main worktree
	Owner      Owner          `json:"owner"`
	Branch     Leaf[string]   `json:"branch"` // "" when detached
	Head       Leaf[string]   `json:"head"`
	Missing    bool           `json:"missing,omitempty"` // registered, folder gone
	Age        Leaf[Duration] `json:"age"`               // since anything in it changed
	Bytes      Leaf[int64]    `json:"bytes"`
	Bulk       Leaf[[]Bulk]   `json:"bulk"` // build output, biggest first
	BulkBytes  Leaf[int64]    `json:"bulk_bytes"`
	Dirty      Leaf[int]      `json:"dirty"`               // changed tracked files
	Untracked  Leaf[int]      `json:"untracked"`           // and not ignored
	Precious   Leaf[[]string] `json:"precious"`            // ignored, and not reproducible: .env, databases
	Unpushed   Leaf[int]      `json:"unpushed"`            // commits on no remote and not in the primary branch
	Stashed    Leaf[int]      `json:"stashed"`             // stashes made on its branch
	Merged     Leaf[bool]     `json:"merged"`              // its content is in the primary branch
	MergedBy   string         `json:"merged_by,omitempty"` // ancestry or content
	Operation  Leaf[string]   `json:"operation"`
	Occupied   Leaf[[]int]    `json:"occupied"` // pids that are inside: by their cwd or, where nothing else keeps it, by an open file
	Locked     bool           `json:"locked,omitempty"`
	Crashed    bool           `json:"crashed,omitempty"` // preserved after a crash
	CrashedAge Leaf[Duration] `json:"crashed_age"`
	Removable  Leaf[bool]     `json:"removable"`
	Obstacles  []string       `json:"obstacles,omitempty"` // why it is not removable

	OperationAge Leaf[Duration] `json:"operation_age"` // since the operation last moved
}

// Bulk is one folder of reproducible output.
type Bulk struct {
	Path  string `json:"path"` // relative to the worktree
	Bytes int64  `json:"bytes"`
	What  string `json:"what"` // node_modules, target, …
}
