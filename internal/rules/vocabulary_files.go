package rules

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

func repoWords() *structure {
	type T = fleet.Repo
	return define("repo", "One git repository, seen through its main worktree.",
		text("path", "of the main worktree", func(r *T) string { return r.Path }),
		text("git_dir", "where git keeps it", func(r *T) string { return r.GitDir }),
		text("owner", "custos, adopted, configured or foreign", func(r *T) fleet.Owner { return r.Owner }),
		leafText("primary", "the primary branch", func(r *T) *leafString { return &r.Primary }),
		leafText("branch", "the branch checked out; empty when detached", func(r *T) *leafString { return &r.Branch }),
		leafText("head", "the commit checked out", func(r *T) *leafString { return &r.Head }),
		leafText("operation", "empty, rebase, merge, cherry-pick, revert or bisect", func(r *T) *leafString { return &r.Operation }),
		leafSpan("operation_age", "time since that operation last did something", func(r *T) *leafDuration { return &r.OperationAge }),
		leafNumber("dirty", "changed tracked files", func(r *T) *fleet.Leaf[int] { return &r.Dirty }),
		leafNumber("ahead", "commits ahead of upstream", func(r *T) *fleet.Leaf[int] { return &r.Ahead }),
		leafNumber("behind", "commits behind upstream", func(r *T) *fleet.Leaf[int] { return &r.Behind }),
		leafNumber("stashes", "stashes kept", func(r *T) *fleet.Leaf[int] { return &r.Stashes }),
		leafNumbers("occupied", "pids whose working directory is inside", func(r *T) *fleet.Leaf[[]int] { return &r.Occupied }),
		truth("pinned", "whether it is configured to stay on its primary branch", func(r *T) bool { return r.Pinned }),
	)
}

func worktreeWords() *structure {
	type T = fleet.Worktree
	return define("worktree", "One linked git worktree.",
		text("path", "where it is", func(w *T) string { return w.Path }),
		text("repo", "path of the main worktree", func(w *T) string { return w.Repo }),
		text("owner", "custos, adopted, configured or foreign", func(w *T) fleet.Owner { return w.Owner }),
		leafText("branch", "the branch checked out; empty when detached", func(w *T) *leafString { return &w.Branch }),
		leafText("head", "the commit checked out", func(w *T) *leafString { return &w.Head }),
		truth("missing", "whether it is registered, but its folder is gone", func(w *T) bool { return w.Missing }),
		leafSpan("age", "time since anything in it changed", func(w *T) *leafDuration { return &w.Age }),
		leafBytes("bytes", "bytes it takes", func(w *T) *leafInt { return &w.Bytes }),
		leafOf("bulk", types.NewListType(objectType("bulk")), "folders of build output in it, biggest first",
			func(w *T) *fleet.Leaf[[]fleet.Bulk] { return &w.Bulk }, func(b []fleet.Bulk) ref.Val { return objects("bulk", b) }),
		leafBytes("bulk_bytes", "bytes of build output in it", func(w *T) *leafInt { return &w.BulkBytes }),
		leafNumber("dirty", "changed tracked files", func(w *T) *fleet.Leaf[int] { return &w.Dirty }),
		leafNumber("untracked", "files that git neither tracks nor ignores", func(w *T) *fleet.Leaf[int] { return &w.Untracked }),
		leafTexts("precious", "ignored files that cannot be made again: .env, databases", func(w *T) *fleet.Leaf[[]string] { return &w.Precious }),
		leafNumber("unpushed", "commits on no remote and not in the primary branch", func(w *T) *fleet.Leaf[int] { return &w.Unpushed }),
		leafNumber("stashed", "stashes made on its branch", func(w *T) *fleet.Leaf[int] { return &w.Stashed }),
		leafTruth("merged", "whether its content is in the primary branch", func(w *T) *fleet.Leaf[bool] { return &w.Merged }),
		text("merged_by", "how that was told: ancestry or content", func(w *T) string { return w.MergedBy }),
		leafText("operation", "empty, rebase, merge, cherry-pick, revert or bisect", func(w *T) *leafString { return &w.Operation }),
		leafSpan("operation_age", "time since the operation last moved; not known without one", func(w *T) *leafDuration { return &w.OperationAge }),
		leafNumbers("occupied", "pids that are inside: by their working directory or, where nothing else keeps it, by an open file", func(w *T) *fleet.Leaf[[]int] { return &w.Occupied }),
		truth("locked", "whether somebody locked it with git worktree lock", func(w *T) bool { return w.Locked }),
		truth("crashed", "whether it was kept after a crash", func(w *T) bool { return w.Crashed }),
		leafSpan("crashed_age", "time since that crash", func(w *T) *leafDuration { return &w.CrashedAge }),
		leafTruth("removable", "whether nothing in it would be lost", func(w *T) *fleet.Leaf[bool] { return &w.Removable }),
		texts("obstacles", "why it is not removable", func(w *T) []string { return w.Obstacles }),
	)
}

func bulkWords() *structure {
	type T = fleet.Bulk
	return define("bulk", "One folder of build output.",
		text("path", "where, below the worktree", func(b *T) string { return b.Path }),
		withUnit(bytes, number("bytes", "bytes it takes", func(b *T) int64 { return b.Bytes })),
		text("what", "node_modules, target, …", func(b *T) string { return b.What }),
	)
}

func lockWords() *structure {
	type T = fleet.Lock
	return define("lock", "One pid lock file.",
		text("path", "where it is", func(l *T) string { return l.Path }),
		text("owner", "custos, adopted, configured or foreign", func(l *T) fleet.Owner { return l.Owner }),
		child("file", "file", "its identity", func(l *T) *fleet.FileID { return &l.File }),
		leafNumber("pid", "the process it names", func(l *T) *fleet.Leaf[int] { return &l.PID }),
		leafOf("holder", types.StringType, "alive, dead, or reused: the pid lives, but began after the lock was written",
			func(l *T) *fleet.Leaf[fleet.Holder] { return &l.Holder }, holder),
		text("name", "of the process that holds it", func(l *T) string { return l.Name }),
		leafSpan("age", "time since it was written", func(l *T) *leafDuration { return &l.Age }),
		truth("waited_for", "whether work waits for this role: a dead one stops the fleet", func(l *T) bool { return l.WaitedFor }),
	)
}

func holder(h fleet.Holder) ref.Val {
	if h == fleet.HolderUnknown || h == "" {
		return lack{why: "it could not be told"}
	}
	return types.String(h)
}

func phaseWords() *structure {
	type T = fleet.Phase
	return define("phase", "One phase file of a session.",
		text("path", "where it is", func(p *T) string { return p.Path }),
		text("owner", "custos, adopted, configured or foreign", func(p *T) fleet.Owner { return p.Owner }),
		child("file", "file", "its identity", func(p *T) *fleet.FileID { return &p.File }),
		leafText("phase", "escalate, done, failed, …", func(p *T) *leafString { return &p.Phase }),
		text("reason", "the rest of its first line", func(p *T) string { return p.Reason }),
		leafSpan("age", "time since it was written", func(p *T) *leafDuration { return &p.Age }),
		text("project", "from the file's name", func(p *T) string { return p.Project }),
		leafNumber("issue", "from the file's name", func(p *T) *fleet.Leaf[int] { return &p.Issue }),
		truth("unnumbered", "whether its name fits, and holds no issue", func(p *T) bool { return p.Unnumbered }),
		truth("tracked", "whether a forge is configured that tells of that issue", func(p *T) bool { return p.Tracked }),
		leafTruth("closed", "whether that issue, or the pull request of that number, is closed; not known without a forge", func(p *T) *fleet.Leaf[bool] { return &p.Closed }),
		leafSpan("closed_for", "time since it was closed; 0s while it is open", func(p *T) *leafDuration { return &p.ClosedFor }),
	)
}

func logWords() *structure {
	type T = fleet.Log
	return define("log", "One log file.",
		text("path", "where it is", func(l *T) string { return l.Path }),
		text("owner", "custos, adopted, configured or foreign", func(l *T) fleet.Owner { return l.Owner }),
		child("file", "file", "its identity", func(l *T) *fleet.FileID { return &l.File }),
		leafBytes("bytes", "bytes it takes", func(l *T) *leafInt { return &l.Bytes }),
		leafSpan("age", "time since it was written", func(l *T) *leafDuration { return &l.Age }),
		leafTexts("tail", "its last lines, secrets redacted", func(l *T) *fleet.Leaf[[]string] { return &l.Tail }),
	)
}

func fileWords() *structure {
	type T = fleet.FileID
	return define("file", "The identity of one file.",
		number("device", "the file system's number", func(f *T) uint64 { return f.Device }),
		number("inode", "its number there", func(f *T) uint64 { return f.Inode }),
		number("mtime", "when it was written, nanoseconds since 1970", func(f *T) int64 { return f.MTime }),
		withUnit(bytes, number("size", "bytes it takes", func(f *T) int64 { return f.Size })),
	)
}

func leafTexts[T any](name, doc string, get func(*T) *fleet.Leaf[[]string]) *field {
	return leafOf(name, types.NewListType(types.StringType), doc, get, stringList)
}

func leafNumbers[T any](name, doc string, get func(*T) *fleet.Leaf[[]int]) *field {
	return leafOf(name, types.NewListType(types.IntType), doc, get, func(v []int) ref.Val {
		vals := make([]ref.Val, len(v))
		for i, n := range v {
			vals[i] = types.Int(n)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, vals)
	})
}

func withUnit(u unit, f *field) *field {
	f.unit = u
	return f
}
