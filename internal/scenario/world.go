package scenario

import (
	"time"

	"custos/internal/fleet"
)

// Start is the first instant of a story.
func Start() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(100 * time.Hour), Boot: "boot"}
}

func hours(n int) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(n) * fleet.Duration(time.Hour))
}

func minutes(n int) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(n) * fleet.Duration(time.Minute))
}

// Healthy is a world of which every built-in rule is false, with every leaf known.
func Healthy(at fleet.Instant) fleet.Snapshot {
	ok := fleet.Sight{Status: fleet.StatusOK, At: at}
	return fleet.Snapshot{
		At: at, From: fleet.Vantage{Host: "box", Boot: "boot"},
		Host:      fleet.Part[fleet.Host]{Sight: ok, Value: healthyHost()},
		Processes: fleet.Part[[]fleet.Process]{Sight: ok},
		Sessions:  fleet.Part[[]fleet.Pane]{Sight: ok, Value: []fleet.Pane{{ID: fleet.PaneID{Socket: "/run/tmux.sock"}, Session: "worker~1", Orphan: fleet.Known(false)}}},
		Agents:    fleet.Part[[]fleet.Agent]{Sight: ok, Value: []fleet.Agent{HealthyAgent("worker")}},
		Repos: fleet.Part[fleet.Repos]{Sight: ok, Value: fleet.Repos{
			Repos: []fleet.Repo{{Path: "/r", Owner: fleet.OwnerConfigured, Primary: fleet.Known("main"), Branch: fleet.Known("main"), Operation: fleet.Known(""),
				OperationAge: hours(0), Occupied: fleet.Known([]int{}), Pinned: true}},
			Worktrees: []fleet.Worktree{{Path: "/w", Repo: "/r", Owner: fleet.OwnerConfigured, Operation: fleet.Known(""), Age: hours(1), Bytes: fleet.Known(int64(1) << 30),
				BulkBytes: fleet.Known(int64(0)), Occupied: fleet.Known([]int{}), CrashedAge: hours(0), Removable: fleet.Known(true)}}}},
		Locks:  fleet.Part[[]fleet.Lock]{Sight: ok, Value: []fleet.Lock{{Path: "/l", Owner: fleet.OwnerConfigured, Holder: fleet.Known(fleet.HolderAlive), Age: hours(1)}}},
		Phases: fleet.Part[[]fleet.Phase]{Sight: ok, Value: []fleet.Phase{{Path: "/p", Owner: fleet.OwnerConfigured, Phase: fleet.Known("working"), Age: hours(1), Closed: fleet.Known(false)}}},
		Logs:   fleet.Part[[]fleet.Log]{Sight: ok, Value: []fleet.Log{{Path: "/log", Owner: fleet.OwnerConfigured, Bytes: fleet.Known(int64(1000)), Age: hours(1)}}},
		Self: fleet.Part[fleet.Self]{Sight: ok, Value: fleet.Self{StartedAt: at, Asked: []fleet.Asked{{ID: "o1", By: "person@box2", Do: fleet.OrderStop, Agent: "worker"}}, LastPatrolAge: hours(0), PatrolEvery: fleet.Duration(20 * time.Minute),
			JournalWritable: fleet.Known(true), StoreWritable: fleet.Known(true),
			Remembered: fleet.Remembered{Amnesia: fleet.Known(false), Lost: fleet.Known(""), ClockBehind: fleet.Known(false), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0), Moved: fleet.Known("")},
			ClockStep:  fleet.Known(fleet.Duration(0)),
			Plugins:    []fleet.PluginFacts{{Name: "tidy", Gate: "manual", Grade: fleet.P3, Failures: fleet.Known(0)}},
			Receivers:  []fleet.Receiver{{Name: "phone", Proof: fleet.Known(fleet.Duration(0))}},
			Code:       []fleet.CodeFacts{{Dir: "/p/.custos", Changes: fleet.Known("")}},
			Landmarks:  []fleet.Landmark{{Path: "/s", What: "state", Is: "dir", Owner: fleet.OwnerCustos, Open: fleet.Known(false), Hooks: fleet.Known("")}}}},
		Vaults: fleet.Part[[]fleet.VaultItem]{Sight: ok, Value: []fleet.VaultItem{{Name: "ops/fired/tag.toml", Vault: "ops", ID: "tag", Path: "/v/fired/tag.toml", Owner: fleet.OwnerConfigured,
			State: fleet.VaultDispatched, Age: hours(1), Movable: fleet.Known(false)}}},
		Hub: fleet.Part[fleet.Hub]{Sight: ok, Value: fleet.Hub{Host: "box1", Watches: "box1", Peers: []fleet.Peer{{Name: "box2", Silent: fleet.Known(fleet.Duration(0))}},
			Nodes: []fleet.HubNode{{Name: "a", State: "leads"}, {Name: "b", State: "follows"}, {Name: "c", State: "follows"}},
			Pools: []fleet.PoolFacts{{Name: "dev", Most: 3, Present: fleet.Known(2), Where: "box1 1, box2 1"}}}},
		Overlaps: fleet.Part[[]fleet.Overlap]{Sight: ok, Value: []fleet.Overlap{{Name: "/p/a and /p/b", Repo: "/p", One: "/p/a", Other: "/p/b", Soft: []string{"go.mod"}, Conflicts: fleet.Known[[]string](nil)}}},
		Extra:    fleet.Part[[]fleet.Extra]{Sight: ok},
		Engine:   fleet.Part[fleet.Engine]{Sight: ok, Value: healthyEngine()},
		Forge:    fleet.Part[fleet.Forge]{Sight: ok, Value: healthyForge()},
		CI:       fleet.Part[fleet.CI]{Sight: ok, Value: healthyCI()},
		Runs: fleet.Part[[]fleet.RunFacts]{Sight: ok, Value: []fleet.RunFacts{{ID: "r-1", Formula: "nightly", State: fleet.RunOpen, Age: fleet.Duration(time.Hour),
			Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known(""), Lives: fleet.Known(false), Reply: fleet.Known(false)}}},
		Spending:     fleet.Part[fleet.Spendings]{Sight: ok, Value: fleet.Spendings{Budgets: []fleet.BudgetFacts{healthyBudget()}}},
		Coordination: healthyRecords(at),
	}
}

// healthyBudget has most of it left.
func healthyBudget() fleet.BudgetFacts {
	return fleet.BudgetFacts{Name: "day", Budget: "day", By: fleet.SpendByFleet, Window: fleet.WindowDay, Metric: fleet.MetricUSD, Used: fleet.Known(1.0), Limit: 25,
		Percent: fleet.Known(4.0), Says: "1.00 USD of 25.00 USD", Stage: fleet.StageUnder, Rate: fleet.Known(0.5), TimeToLimit: hours(48), Quiet: hours(0)}
}

// healthyHost has room for more.
func healthyHost() fleet.Host {
	return fleet.Host{Name: "box", CPUs: 2,
		Memory:    fleet.Memory{Total: fleet.Known(int64(16) << 30), Available: fleet.Known(int64(8) << 30)},
		Swap:      fleet.Swap{Total: fleet.Known(int64(4) << 30), Used: fleet.Known(int64(0))},
		OOMRecent: fleet.Known(int64(0)),
		Mounts:    []fleet.Mount{{Path: "/", Type: "ext4", UsedPercent: fleet.Known(40.0), InodesPercent: fleet.Known(10.0)}}}
}

// HealthyAgent is an agent of ours that works, and of which nothing is to be said.
func HealthyAgent(name string) fleet.Agent {
	return fleet.Agent{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Beside: fleet.Known([]string{}), State: fleet.StateWorking, Dwell: hours(0), Process: fleet.ProcessID{PID: 7, Start: 7},
		Age: hours(1), CPU: fleet.Known(5.0), RSS: fleet.Known(int64(300) << 20), Progress: fleet.ProgressSome, Quiet: hours(0),
		SpendsNow: 20_000, SpendsUsually: fleet.Known[int64](15_000), ContextPercent: fleet.Known(20.0), ComposerEmpty: fleet.Known(true), PaneLost: fleet.Known(false), ShimLost: fleet.Known(false), Deaf: fleet.Known(""), FolderGone: fleet.Known(false), LastHealthy: hours(0), CheckpointAge: hours(0), CPUTime: hours(0),
		Registered: true, Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Task: "fix it", PromptState: fleet.DeliveryAcknowledged,
		Pane: &fleet.Pane{ID: fleet.PaneID{Socket: "/state/run/tmux.sock", Pane: "%1"}, Session: name, SessionID: "$1", Activity: hours(0), Age: hours(1), Orphan: fleet.Known(false)}}
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

// healthyCI has a pipeline that went well, and a worker.
func healthyCI() fleet.CI {
	return fleet.CI{
		Pipelines: []fleet.Pipeline{{Name: "wp/shop#40", System: "wp", Project: "shop", Number: 40, Owner: fleet.OwnerConfigured, Event: "push", Branch: "main", Head: "c0ffee",
			Primary: true, Newest: true, State: fleet.Known("success"), Pending: hours(0), Running: hours(0), Ended: minutes(5), Attempt: 1, Infra: fleet.Known(false)}},
		Workers: []fleet.Worker{{Name: "wp/one", System: "wp", Owner: fleet.OwnerConfigured, Healthy: fleet.Known(true), Contact: hours(0), Container: "wp-agent"}},
	}
}

// healthyEngine keeps one container.
func healthyEngine() fleet.Engine {
	return fleet.Engine{Version: "28.0", Exposed: fleet.Known(false), Dangling: fleet.Known(int64(0)), BuildCache: fleet.Known(int64(0)), Containers: []fleet.Container{{ID: "c0", Name: "db", Image: "postgres", Owner: fleet.OwnerConfigured,
		Wanted: true, Run: "2026-11-20T08:00:00Z", State: fleet.Known("running"), Since: hours(1), Health: fleet.Known("healthy"), Exit: fleet.Known(0), OOM: fleet.Known(false),
		Restarts: fleet.Known(0), Lately: fleet.Known(0), Memory: fleet.Known(int64(100) << 20), Limit: fleet.Known(int64(0)), CPU: fleet.Known(1.0)}}}
}

// healthyRecords is one record of each kind, of which nothing is to be said.
func healthyRecords(at fleet.Instant) fleet.Part[fleet.Coordination] {
	hour := fleet.Duration(time.Hour)
	return fleet.Part[fleet.Coordination]{Sight: fleet.Sight{Status: fleet.StatusOK, At: at}, Value: fleet.Coordination{
		Work: []fleet.WorkFacts{{Ref: "w1", Tracker: fleet.TrackerOwn, Title: "mend it", Project: "shop", Priority: fleet.P3, Agent: "worker", State: fleet.Known(fleet.WorkTaken),
			Ready: fleet.Known(false), Age: hour, Since: hour, Alive: fleet.Known(true)}},
		Gates: []fleet.GateFacts{{ID: "g1", Type: fleet.GateHuman, Title: "the release is approved", Project: "shop", State: fleet.GateOpen, Waiters: []string{"worker"}, Age: hour}},
		Convoys: []fleet.ConvoyFacts{{ID: "c1", Title: "release 1.2", State: fleet.ConvoyOpen, Members: 3, Closed: 1, Ready: fleet.Known(1), Taken: fleet.Known(1),
			Age: hour, Still: fleet.Duration(time.Minute)}},
		Merges: []fleet.MergeFacts{{ID: "mq1", Queue: "shop", Project: "shop", Source: "retry", Agent: "worker", By: "agent/worker", State: fleet.MergeWaiting, Age: hour, Since: hour}},
		Mails:  []fleet.MailFacts{{ID: "m1", From: "agent/worker", Type: fleet.MailQuestion, Priority: fleet.P3, Subject: "which port?", Readers: 1, Unread: 1, Age: fleet.Duration(time.Minute)}},
	}}
}
