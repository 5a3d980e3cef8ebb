package assess

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// start is the first instant of the tests' world.
func start() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(100 * time.Hour), Boot: "boot"}
}

func hours(n int) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(n) * fleet.Duration(time.Hour))
}

// healthy is a world of which every built-in rule is false, with every leaf known.
func healthy(at fleet.Instant) fleet.Snapshot {
	ok := fleet.Sight{Status: fleet.StatusOK, At: at}
	return fleet.Snapshot{
		At: at, From: fleet.Vantage{Host: "box", Boot: "boot"},
		Host:      fleet.Part[fleet.Host]{Sight: ok, Value: healthyHost()},
		Processes: fleet.Part[[]fleet.Process]{Sight: ok},
		Sessions:  fleet.Part[[]fleet.Pane]{Sight: ok, Value: []fleet.Pane{{ID: fleet.PaneID{Socket: "/run/tmux.sock"}, Session: "worker~1", Orphan: fleet.Known(false)}}},
		Agents:    fleet.Part[[]fleet.Agent]{Sight: ok, Value: []fleet.Agent{healthyAgent("worker")}},
		Repos: fleet.Part[fleet.Repos]{Sight: ok, Value: fleet.Repos{
			Repos: []fleet.Repo{{Path: "/r", Owner: fleet.OwnerConfigured, Primary: fleet.Known("main"), Branch: fleet.Known("main"), Operation: fleet.Known(""),
				OperationAge: hours(0), Occupied: fleet.Known([]int{}), Pinned: true}},
			Worktrees: []fleet.Worktree{{Path: "/w", Repo: "/r", Owner: fleet.OwnerConfigured, Operation: fleet.Known(""), Age: hours(1), Bytes: fleet.Known(int64(1) << 30),
				BulkBytes: fleet.Known(int64(0)), Occupied: fleet.Known([]int{}), CrashedAge: hours(0), Removable: fleet.Known(true)}}}},
		Locks:  fleet.Part[[]fleet.Lock]{Sight: ok, Value: []fleet.Lock{{Path: "/l", Owner: fleet.OwnerConfigured, Holder: fleet.Known(fleet.HolderAlive), Age: hours(1)}}},
		Phases: fleet.Part[[]fleet.Phase]{Sight: ok, Value: []fleet.Phase{{Path: "/p", Owner: fleet.OwnerConfigured, Phase: fleet.Known("working"), Age: hours(1), Closed: fleet.Known(false)}}},
		Logs:   fleet.Part[[]fleet.Log]{Sight: ok, Value: []fleet.Log{{Path: "/log", Owner: fleet.OwnerConfigured, Bytes: fleet.Known(int64(1000)), Age: hours(1)}}},
		Self: fleet.Part[fleet.Self]{Sight: ok, Value: fleet.Self{StartedAt: at, LastPatrolAge: hours(0), PatrolEvery: fleet.Duration(20 * time.Minute),
			JournalWritable: fleet.Known(true), StoreWritable: fleet.Known(true),
			Remembered: fleet.Remembered{Amnesia: fleet.Known(false), Lost: fleet.Known(""), ClockBehind: fleet.Known(false), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0)},
			ClockStep:  fleet.Known(fleet.Duration(0)),
			Plugins:    []fleet.PluginFacts{{Name: "tidy", Gate: "manual", Grade: fleet.P3, Failures: fleet.Known(0)}},
			Receivers:  []fleet.Receiver{{Name: "phone", Proof: fleet.Known(fleet.Duration(0))}},
			Code:       []fleet.CodeFacts{{Dir: "/p/.custos", Changes: fleet.Known("")}},
			Landmarks:  []fleet.Landmark{{Path: "/s", What: "state", Is: "dir", Owner: fleet.OwnerCustos, Open: fleet.Known(false), Hooks: fleet.Known("")}}}},
		Extra:  fleet.Part[[]fleet.Extra]{Sight: ok},
		Engine: fleet.Part[fleet.Engine]{Sight: ok, Value: healthyEngine()},
		Forge:  fleet.Part[fleet.Forge]{Sight: ok, Value: healthyForge()},
		CI:     fleet.Part[fleet.CI]{Sight: ok, Value: healthyCI()},
		Runs: fleet.Part[[]fleet.RunFacts]{Sight: ok, Value: []fleet.RunFacts{{ID: "r-1", Formula: "nightly", State: fleet.RunOpen, Age: fleet.Duration(time.Hour),
			Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known(""), Lives: fleet.Known(false), Reply: fleet.Known(false)}}},
		Coordination: healthyRecords(at),
	}
}

func healthyHost() fleet.Host {
	return fleet.Host{Name: "box", CPUs: 2,
		Memory:    fleet.Memory{Total: fleet.Known(int64(16) << 30), Available: fleet.Known(int64(8) << 30)},
		Swap:      fleet.Swap{Total: fleet.Known(int64(4) << 30), Used: fleet.Known(int64(0))},
		OOMRecent: fleet.Known(int64(0)),
		Mounts:    []fleet.Mount{{Path: "/", Type: "ext4", UsedPercent: fleet.Known(40.0), InodesPercent: fleet.Known(10.0)}}}
}

func healthyAgent(name string) fleet.Agent {
	return fleet.Agent{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Beside: fleet.Known([]string{}), State: fleet.StateWorking, Dwell: hours(0), Process: fleet.ProcessID{PID: 7, Start: 7},
		Age: hours(1), CPU: fleet.Known(5.0), RSS: fleet.Known(int64(300) << 20), Progress: fleet.ProgressSome, Quiet: hours(0),
		ContextPercent: fleet.Known(20.0), ComposerEmpty: fleet.Known(true), PaneLost: fleet.Known(false), LastHealthy: hours(0), CheckpointAge: hours(0), CPUTime: hours(0),
		Registered: true, Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Task: "fix it", PromptState: fleet.DeliveryAcknowledged}
}

func crowd(n int) fleet.Snapshot {
	s := healthy(start())
	s.Agents.Value = nil
	for i := range n {
		s.Agents.Value = append(s.Agents.Value, healthyAgent(fmt.Sprintf("agent-%05d", i)))
	}
	return s
}

func builtin(t testing.TB) *rules.Set {
	t.Helper()
	return parse(t, string(rules.Builtin()))
}

func parse(t testing.TB, text string) *rules.Set {
	t.Helper()
	set, err := rules.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}
