package fleet

// Repos is what was seen of git: repositories and their worktrees.
type Repos struct {
	Repos     []Repo     `json:"repos"`
	Worktrees []Worktree `json:"worktrees"`
}

// Repo is one git repository, seen through its main worktree.
type Repo struct {
	Path         string         `json:"path" help:"of the main worktree"`
	GitDir       string         `json:"git_dir" help:"where git keeps it"`
	Owner        Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	Primary      Leaf[string]   `json:"primary" help:"the primary branch"`
	Branch       Leaf[string]   `json:"branch" help:"the branch checked out; empty when detached"`
	Head         Leaf[string]   `json:"head" help:"the commit checked out"`
	Operation    Leaf[string]   `json:"operation" help:"empty, rebase, merge, cherry-pick, revert or bisect"`
	OperationAge Leaf[Duration] `json:"operation_age" help:"time since that operation last did something"`
	Dirty        Leaf[int]      `json:"dirty" help:"changed tracked files"`
	Ahead        Leaf[int]      `json:"ahead" help:"commits ahead of upstream"`
	Behind       Leaf[int]      `json:"behind" help:"commits behind upstream"`
	Stashes      Leaf[int]      `json:"stashes" help:"stashes kept"`
	Occupied     Leaf[[]int]    `json:"occupied" help:"pids whose working directory is inside"`
	Pinned       bool           `json:"pinned" help:"whether it is configured to stay on its primary branch"`
}

// Worktree is one linked worktree. What must not be lost in it is listed by
// name; Removable says whether nothing is.
type Worktree struct {
	Path       string         `json:"path" help:"where it is"`
	Repo       string         `json:"repo" help:"path of the main worktree"`
	Owner      Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	Branch     Leaf[string]   `json:"branch" help:"the branch checked out; empty when detached"`
	Head       Leaf[string]   `json:"head" help:"the commit checked out"`
	Missing    bool           `json:"missing,omitempty" help:"whether it is registered, but its folder is gone"`
	Age        Leaf[Duration] `json:"age" help:"time since anything in it changed"`
	Bytes      Leaf[int64]    `json:"bytes" help:"bytes it takes" unit:"bytes"`
	Bulk       Leaf[[]Bulk]   `json:"bulk" help:"folders of build output in it, biggest first"`
	BulkBytes  Leaf[int64]    `json:"bulk_bytes" help:"bytes of build output in it" unit:"bytes"`
	Dirty      Leaf[int]      `json:"dirty" help:"changed tracked files"`
	Untracked  Leaf[int]      `json:"untracked" help:"files that git neither tracks nor ignores"`
	Precious   Leaf[[]string] `json:"precious" help:"ignored files that cannot be made again: .env, databases"`
	Unpushed   Leaf[int]      `json:"unpushed" help:"commits on no remote and not in the primary branch"`
	Stashed    Leaf[int]      `json:"stashed" help:"stashes made on its branch"`
	Merged     Leaf[bool]     `json:"merged" help:"whether its content is in the primary branch"`
	MergedBy   string         `json:"merged_by,omitempty" help:"how that was seen: ancestry or content"`
	Operation  Leaf[string]   `json:"operation" help:"empty, rebase, merge, cherry-pick, revert or bisect"`
	Occupied   Leaf[[]int]    `json:"occupied" help:"pids that are inside: by their working directory or, where nothing else keeps it, by an open file"`
	Locked     bool           `json:"locked,omitempty" help:"whether it was locked with git worktree lock"`
	Crashed    bool           `json:"crashed,omitempty" help:"whether it was kept after a crash"`
	CrashedAge Leaf[Duration] `json:"crashed_age" help:"time since that crash"`
	Removable  Leaf[bool]     `json:"removable" help:"whether nothing in it would be lost"`
	Obstacles  []string       `json:"obstacles,omitempty" help:"why it is not removable"`

	OperationAge Leaf[Duration] `json:"operation_age" help:"time since the operation last moved; not known without one"`
}

// Bulk is one folder of reproducible output.
type Bulk struct {
	Path  string `json:"path" help:"where, below the worktree"`
	Bytes int64  `json:"bytes" help:"bytes it takes" unit:"bytes"`
	What  string `json:"what" help:"node_modules, target, …"`
}
