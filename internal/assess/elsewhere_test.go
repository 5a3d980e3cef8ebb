package assess

import (
	"time"

	"custos/internal/fleet"
)

func minutes(n int) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(n) * fleet.Duration(time.Minute))
}

// healthyForge is a project with an issue that somebody works on and a pull
// request whose checks run.
func healthyForge() fleet.Forge {
	return fleet.Forge{
		Projects: []fleet.Project{{Name: "shop", Repo: "acme/shop", Owner: fleet.OwnerConfigured, Primary: fleet.Known("main"), Active: fleet.Known(true), Ready: fleet.Known(2),
			InProgress: fleet.Known(1), Blocked: fleet.Known(0), Empty: fleet.Known(0), Skew: hours(0)}},
		Issues: []fleet.Issue{{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Open: fleet.Known(true), Age: hours(5), Updated: hours(1),
			Closed: hours(0), Taken: fleet.Known(true), Ready: fleet.Known(false), BlockedBy: fleet.Known([]string{}), Waits: hours(0), Agent: "worker"}},
		Pulls: []fleet.PullRequest{{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured, Base: "main", Branch: "fix-12", Head: "c0ffee", Age: hours(1),
			Pushed: minutes(10), Checks: fleet.Known("pending"), Checked: hours(0), Conflict: fleet.Known(false), Review: fleet.Known("none"), Agent: "worker"}},
	}
}

func healthyCI() fleet.CI {
	return fleet.CI{
		Pipelines: []fleet.Pipeline{{Name: "wp/shop#40", System: "wp", Project: "shop", Number: 40, Owner: fleet.OwnerConfigured, Event: "push", Branch: "main", Head: "c0ffee",
			Primary: true, Newest: true, State: fleet.Known("success"), Pending: hours(0), Running: hours(0), Ended: minutes(5), Attempt: 1, Infra: fleet.Known(false)}},
		Workers: []fleet.Worker{{Name: "wp/one", System: "wp", Owner: fleet.OwnerConfigured, Healthy: fleet.Known(true), Contact: hours(0), Container: "wp-agent"}},
	}
}

// elsewhere is the one thing of a kind that is not on this machine's disk.
func elsewhere(x *fleet.Snapshot, kind string) any {
	switch kind {
	case "project":
		return &x.Forge.Value.Projects[0]
	case "issue":
		return &x.Forge.Value.Issues[0]
	case "pr":
		return &x.Forge.Value.Pulls[0]
	case "prs":
		return &x.Forge.Value.Pulls
	case "pipeline":
		return &x.CI.Value.Pipelines[0]
	case "worker":
		return &x.CI.Value.Workers[0]
	case "container":
		return &x.Engine.Value.Containers[0]
	case "engine":
		return &x.Engine.Value
	}
	return record(&x.Coordination.Value, kind)
}

// goneElsewhere takes a thing away; false for a kind that is not known.
func goneElsewhere(x *fleet.Snapshot, kind string) bool {
	switch kind {
	case "project":
		x.Forge.Value.Projects = nil
	case "issue":
		x.Forge.Value.Issues = nil
	case "pr":
		x.Forge.Value.Pulls = nil
	case "pipeline":
		x.CI.Value.Pipelines = nil
	case "worker":
		x.CI.Value.Workers = nil
	case "container":
		x.Engine.Value.Containers = nil
	default:
		return recordGone(&x.Coordination.Value, kind)
	}
	return true
}

// healthyEngine keeps one container.
func healthyEngine() fleet.Engine {
	return fleet.Engine{Version: "28.0", Dangling: fleet.Known(int64(0)), BuildCache: fleet.Known(int64(0)), Containers: []fleet.Container{{ID: "c0", Name: "db", Image: "postgres", Owner: fleet.OwnerConfigured,
		Wanted: true, Run: "2026-11-20T08:00:00Z", State: fleet.Known("running"), Since: hours(1), Health: fleet.Known("healthy"), Exit: fleet.Known(0), OOM: fleet.Known(false),
		Restarts: fleet.Known(0), Lately: fleet.Known(0), Memory: fleet.Known(int64(100) << 20), Limit: fleet.Known(int64(0)), CPU: fleet.Known(1.0)}}}
}
