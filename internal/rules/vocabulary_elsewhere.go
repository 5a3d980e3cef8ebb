package rules

import "custos/internal/fleet"

func engineWords() *structure {
	type T = fleet.Engine
	return define("engine", "The container engine.",
		text("version", "of the engine", func(e *T) string { return e.Version }),
		text("address", "of its socket", func(e *T) string { return e.Address }),
		text("root", "the folder it keeps images in, as it says itself", func(e *T) string { return e.Root }),
		leafBytes("dangling", "bytes of images that nothing names or uses", func(e *T) *leafInt { return &e.Dangling }),
		leafBytes("build_cache", "bytes of build cache that no build has used for a day", func(e *T) *leafInt { return &e.BuildCache }),
		children("containers", "container", "its containers", func(e *T) []fleet.Container { return e.Containers }),
	)
}

func containerWords() *structure {
	type T = fleet.Container
	return define("container", "One container.",
		text("id", "64 hexadecimal digits", func(c *T) string { return c.ID }),
		text("name", "its name", func(c *T) string { return c.Name }),
		text("image", "what it was made of", func(c *T) string { return c.Image }),
		text("owner", "custos, adopted, configured or foreign", func(c *T) fleet.Owner { return c.Owner }),
		text("project", "of compose", func(c *T) string { return c.Project }),
		text("service", "of compose", func(c *T) string { return c.Service }),
		truth("wanted", "whether it is to run: its restart policy or custos.toml says so", func(c *T) bool { return c.Wanted }),
		text("run", "when this run of it began, as the engine writes it", func(c *T) string { return c.Run }),
		leafText("state", "created, running, paused, restarting, removing, exited, dead, or missing: custos.toml wants it and there is none", func(c *T) *leafString { return &c.State }),
		leafSpan("since", "time since that state began", func(c *T) *leafDuration { return &c.Since }),
		leafText("health", "none, starting, healthy or unhealthy; none while it does not run", func(c *T) *leafString { return &c.Health }),
		text("said", "the last words of its health check while it is not healthy", func(c *T) string { return c.Said }),
		text("error", "why the engine could not start it", func(c *T) string { return c.Error }),
		leafNumber("exit", "exit status of its last run; 0 while it runs", func(c *T) *fleet.Leaf[int] { return &c.Exit }),
		leafTruth("oom", "whether the kernel ended the last run that is over for want of memory", func(c *T) *fleet.Leaf[bool] { return &c.OOM }),
		leafNumber("restarts", "by the engine, since somebody last started it", func(c *T) *fleet.Leaf[int] { return &c.Restarts }),
		leafNumber("lately", "restarts in the last ten minutes", func(c *T) *fleet.Leaf[int] { return &c.Lately }),
		leafBytes("memory", "bytes in use", func(c *T) *leafInt { return &c.Memory }),
		leafBytes("limit", "bytes allowed; 0 for no limit", func(c *T) *leafInt { return &c.Limit }),
		leafPercent("cpu", "percent of one core", func(c *T) *fleet.Leaf[float64] { return &c.CPU }),
	)
}

func projectWords() *structure {
	type T = fleet.Project
	return define("project", "One project on a forge.",
		text("name", "of its section [forge.NAME]", func(p *T) string { return p.Name }),
		text("repo", "OWNER/NAME on the forge", func(p *T) string { return p.Repo }),
		text("url", "where it is", func(p *T) string { return p.URL }),
		text("owner", "custos, adopted, configured or foreign", func(p *T) fleet.Owner { return p.Owner }),
		leafText("primary", "its primary branch", func(p *T) *leafString { return &p.Primary }),
		leafTruth("active", "whether agents are to take up work there: its switch, where it has one, is on", func(p *T) *fleet.Leaf[bool] { return &p.Active }),
		leafNumber("ready", "open issues that may be taken up", func(p *T) *fleet.Leaf[int] { return &p.Ready }),
		leafNumber("in_progress", "open issues that somebody works on", func(p *T) *fleet.Leaf[int] { return &p.InProgress }),
		leafNumber("blocked", "open issues that wait for other open ones, or are labelled so", func(p *T) *fleet.Leaf[int] { return &p.Blocked }),
		leafNumber("empty", "looks in a row with open issues and none ready", func(p *T) *fleet.Leaf[int] { return &p.Empty }),
		leafSpan("skew", "the forge's clock minus ours", func(p *T) *leafDuration { return &p.Skew }),
	)
}

func issueWords() *structure {
	type T = fleet.Issue
	return define("issue", "One issue: those that are open, and those closed lately.",
		text("name", "PROJECT#NUMBER", func(i *T) string { return i.Name }),
		text("project", "its project", func(i *T) string { return i.Project }),
		number("number", "in its project", func(i *T) int { return i.Number }),
		text("title", "somebody's words", func(i *T) string { return i.Title }),
		text("url", "where it is", func(i *T) string { return i.URL }),
		text("owner", "of its project: configured or foreign", func(i *T) fleet.Owner { return i.Owner }),
		text("author", "who opened it", func(i *T) string { return i.Author }),
		texts("labels", "its labels", func(i *T) []string { return i.Labels }),
		texts("assignees", "to whom it is assigned", func(i *T) []string { return i.Assignees }),
		leafTruth("open", "whether it is open", func(i *T) *fleet.Leaf[bool] { return &i.Open }),
		leafSpan("age", "time since it was opened", func(i *T) *leafDuration { return &i.Age }),
		leafSpan("updated", "time since anything happened to it", func(i *T) *leafDuration { return &i.Updated }),
		leafSpan("closed", "time since it was closed; 0s while it is open", func(i *T) *leafDuration { return &i.Closed }),
		leafTruth("taken", "whether somebody is said to work on it", func(i *T) *fleet.Leaf[bool] { return &i.Taken }),
		leafTruth("ready", "whether it may be taken up", func(i *T) *fleet.Leaf[bool] { return &i.Ready }),
		leafTexts("blocked_by", "names of what it waits for and that is not closed", func(i *T) *fleet.Leaf[[]string] { return &i.BlockedBy }),
		leafSpan("waits", "age of the oldest open issue that it waits for; 0s for none", func(i *T) *leafDuration { return &i.Waits }),
		texts("cycle", "the cycle of dependencies that it is the first of", func(i *T) []string { return i.Cycle }),
		truth("marked", "whether it is labelled as one that waits", func(i *T) bool { return i.Marked }),
		text("agent", "who works on it; empty when nobody is known to", func(i *T) string { return i.Agent }),
	)
}

func pullWords() *structure {
	type T = fleet.PullRequest
	return define("pr", "One open pull request.",
		text("name", "PROJECT!NUMBER", func(p *T) string { return p.Name }),
		text("project", "its project", func(p *T) string { return p.Project }),
		number("number", "in its project", func(p *T) int { return p.Number }),
		text("title", "somebody's words", func(p *T) string { return p.Title }),
		text("url", "where it is", func(p *T) string { return p.URL }),
		text("owner", "of its project: configured or foreign", func(p *T) fleet.Owner { return p.Owner }),
		text("author", "who opened it", func(p *T) string { return p.Author }),
		texts("labels", "its labels", func(p *T) []string { return p.Labels }),
		text("base", "the branch it is to be merged into", func(p *T) string { return p.Base }),
		text("branch", "its own branch", func(p *T) string { return p.Branch }),
		text("head", "its newest commit", func(p *T) string { return p.Head }),
		truth("draft", "whether it is a draft", func(p *T) bool { return p.Draft }),
		leafSpan("age", "time since it was opened", func(p *T) *leafDuration { return &p.Age }),
		leafSpan("pushed", "time since its newest commit was pushed", func(p *T) *leafDuration { return &p.Pushed }),
		leafText("checks", "none, pending, success or failure", func(p *T) *leafString { return &p.Checks }),
		texts("failed", "the checks that failed", func(p *T) []string { return p.Failed }),
		leafSpan("checked", "time since its last check ended; 0s while none has", func(p *T) *leafDuration { return &p.Checked }),
		leafTruth("conflict", "whether it cannot be merged as it is", func(p *T) *fleet.Leaf[bool] { return &p.Conflict }),
		leafText("review", "none, requested, commented, approved or changes requested", func(p *T) *leafString { return &p.Review }),
		texts("closes", "names of issues that it says it closes", func(p *T) []string { return p.Closes }),
		text("agent", "who works on it; empty when nobody is known to", func(p *T) string { return p.Agent }),
	)
}

func pipelineWords() *structure {
	type T = fleet.Pipeline
	return define("pipeline", "One pipeline, or one run of a workflow.",
		text("name", "SYSTEM/PROJECT#NUMBER", func(p *T) string { return p.Name }),
		text("system", "of its section [ci.NAME]", func(p *T) string { return p.System }),
		text("project", "its project", func(p *T) string { return p.Project }),
		number("id", "what its CI asks for it by", func(p *T) int64 { return p.ID }),
		number("number", "in its project", func(p *T) int64 { return p.Number }),
		text("url", "where it is", func(p *T) string { return p.URL }),
		text("owner", "configured or foreign", func(p *T) fleet.Owner { return p.Owner }),
		text("workflow", "its file or name; empty where a pipeline is all workflows", func(p *T) string { return p.Workflow }),
		text("title", "of the workflow or the commit: somebody's words", func(p *T) string { return p.Title }),
		text("event", "push, pull_request, …", func(p *T) string { return p.Event }),
		text("branch", "on which it runs", func(p *T) string { return p.Branch }),
		text("head", "the commit", func(p *T) string { return p.Head }),
		number("pull", "number of its pull request; 0 for none", func(p *T) int { return p.Pull }),
		truth("primary", "whether it runs on the primary branch", func(p *T) bool { return p.Primary }),
		truth("newest", "whether it is the newest of its workflow and branch", func(p *T) bool { return p.Newest }),
		leafText("state", "pending, running, success, failure, cancelled or blocked", func(p *T) *leafString { return &p.State }),
		leafSpan("pending", "how long it has waited to begin; 0s when it began or ended", func(p *T) *leafDuration { return &p.Pending }),
		leafSpan("running", "how long it has run; 0s when it does not", func(p *T) *leafDuration { return &p.Running }),
		leafSpan("ended", "time since it ended; 0s while it has not", func(p *T) *leafDuration { return &p.Ended }),
		number("attempt", "which attempt, from 1", func(p *T) int { return p.Attempt }),
		leafTruth("infra", "whether it failed within a day for a cause outside the code", func(p *T) *fleet.Leaf[bool] { return &p.Infra }),
		text("cause", "that cause", func(p *T) string { return p.Cause }),
	)
}

func workerWords() *structure {
	type T = fleet.Worker
	return define("worker", "One worker of a CI system.",
		text("name", "SYSTEM/NAME", func(w *T) string { return w.Name }),
		text("system", "of its section [ci.NAME]", func(w *T) string { return w.System }),
		text("owner", "configured or foreign", func(w *T) fleet.Owner { return w.Owner }),
		leafTruth("healthy", "whether it works", func(w *T) *fleet.Leaf[bool] { return &w.Healthy }),
		text("why", "why it does not", func(w *T) string { return w.Why }),
		leafSpan("contact", "time since it last spoke to its server", func(w *T) *leafDuration { return &w.Contact }),
		text("container", "the container it runs in, as custos.toml says", func(w *T) string { return w.Container }),
	)
}
