package server

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// sick is one thing that is wrong, and the one check that tells of it.
type sick struct {
	check, state, why, command string
	spoil                      func(x patient)
	mends                      string // the one alert that mends it; "": not asked
}

// full leaves no room on the disk of the state.
func full(x patient) {
	x.s.Host.Value.Mounts = append(x.s.Host.Value.Mounts, fleet.Mount{Path: "/s", UsedPercent: fleet.Known(99.0), InodesPercent: fleet.Known(5.0)})
	x.s.Self.Value.StoreWritable = fleet.Known(false)
}

// patient is an examination, with the parts of its pass at hand.
type patient struct {
	*Examination
	s *fleet.Snapshot
	p *fleet.Past
}

func sickness() []sick {
	out := slices.Concat(sickInstallation(), sickRecords(), sickWorld(), sickMore())
	for i := range out {
		out[i].mends = mended()[out[i].check+": "+out[i].why]
	}
	return out
}

// mended says which alert mends what is wrong, by check and reason.
func mended() map[string]string {
	return map[string]string{
		"hooks installed: claude, in /h: it lacks SessionEnd":               "hooks-broken landmark//h",
		"hooks installed: calls another custos-hook":                        "hooks-broken landmark//h",
		"security folders: others may change /s (mode 0777)":                "landmark-open landmark//s",
		"security folders: others may read /s (mode 0755)":                  "landmark-open landmark//s",
		"security files: others may read /s/db":                             "landmark-open landmark//s/db",
		"security sockets: others reach the socket /s/sock":                 "landmark-open landmark//s/sock",
		"security secrets: others may read /t ([notifier.ops]) (mode 0640)": "landmark-open landmark//t",
		"consistency records: a is to run, and nothing is seen":             "agent-crashed agent/a",
		"logs size: /l/a.log has 600 MiB":                                   "log-large log//l/a.log",
		"locks held: is gone, and work waits for it":                        "lock-dead lock//l/lock",
		"locks held: the process that /l/lock names is gone":                "lock-dead-idle lock//l/lock",
		"worktrees missing: git knows /w":                                   "worktree-stale worktree//w",
		"worktrees unused: nobody has used /w":                              "worktree-stale worktree//w",
		"worktrees crashed: /w was kept after a crash":                      "worktree-crashed worktree//w",
		"worktrees unfinished: a rebase in /r is not finished":              "rebase-stale repo//r",
		"ci workers: ci/w: silent":                                          "ci-worker-unhealthy worker/ci/w",
		"containers reachable: db is to run, and is exited":                 "container-down container/db",
		"disk space: / is 85 % full, 1.0 GiB left":                          "disk-pressure mount//",
		"disk space: / is 95 % full":                                        "disk-pressure mount//",
	}
}

// sickInstallation are of Custos's own files.
func sickInstallation() []sick {
	return []sick{
		{check: "dependencies tmux", state: "bad", why: "it is not found, so agents in terminals", command: "apt-get install tmux", spoil: func(x patient) {
			x.Installation.Programs[0] = Program{Name: "tmux", Err: "not in PATH"}
		}},
		{check: "dependencies git", state: "bad", why: "/bin/git does not answer", command: "", spoil: func(x patient) {
			x.Installation.Programs[1].Err = "no answer"
		}},
		{check: "dependencies custos-shim", state: "bad", why: "no agent can be started", command: "make build", spoil: func(x patient) {
			x.Installation.Programs[2].Path = ""
		}},
		{check: "dependencies custos-hook", state: "cannot tell", why: "nobody looked", command: "", spoil: func(x patient) {
			x.Installation.Programs = x.Installation.Programs[:3]
		}},
		{check: "structure folders", state: "bad", why: "belongs to user 0, and not to user 1000", command: "ls -ld /s", spoil: func(x patient) {
			x.Installation.Places[0].UID = 0
		}},
		{check: "structure folders", state: "bad", why: "/s is file, and no folder", command: "ls -ld /s", spoil: func(x patient) {
			x.Installation.Places[0].Is = "file"
		}},
		{check: "structure files", state: "bad", why: "cannot be written", command: "ls -ld /s/db", spoil: func(x patient) {
			x.Installation.Places[1].Own = false
		}},
		{check: "structure writable", state: "bad", why: "the journal cannot be written", command: "ls -ld /s", spoil: func(x patient) {
			x.s.Self.Value.JournalWritable = fleet.Known(false)
		}},
		{check: "structure writable", state: "bad", why: "the ledger cannot be written: /s is 99 % full", command: "du -xh -d 1 /s", spoil: full},
		{check: "databases open", state: "bad", why: "/s/db opens, and cannot be written", command: "du -xh -d 1 /s", spoil: full},
		{check: "consistency records", state: "bad", why: "what is seen cannot be recorded", command: "du -xh -d 1 /s", spoil: full},
		{check: "config in-force", state: "warn", why: "changed since", command: "custos down && custos up", spoil: func(x patient) {
			x.Installation.Config.Changed = "it was changed since"
		}},
		{check: "config namespace", state: "warn", why: "nothing that [git] and [locks] name is removed", command: "", spoil: func(x patient) {
			x.s.From.Unsaid = []string{"git", "locks"}
		}},
		{check: "databases rows", state: "warn", why: "2 rows could not be read", command: "custos feed", spoil: func(x patient) {
			x.Installation.Store.Rows, x.Installation.Store.RowTable = 2, "orders"
		}},
		{check: "databases damaged", state: "warn", why: "1 damaged database set aside: /s/db.corrupt-1", command: "ls -l /s/db.corrupt-1", spoil: func(x patient) {
			x.Installation.Store.Aside = []string{"/s/db.corrupt-1"}
		}},
		{check: "databases memory", state: "bad", why: "cannot be read, so nothing is done", command: "", spoil: func(x patient) {
			x.p.Blind = "locked"
		}},
		{check: "databases memory", state: "warn", why: "self-amnesia", command: "custos alerts", spoil: func(x patient) {
			x.p.Amnesia = true
		}},
		{check: "databases open", state: "warn", why: "/s/db is not there, and was", command: "custos patrol", spoil: func(x patient) {
			x.p.Amnesia, x.p.Lost, x.Installation.Store = true, "it is gone", StoreFacts{Path: "/s/db"}
		}},
		{check: "consistency records", state: "cannot tell", why: "what was on record of agents is lost: it is gone", command: "", spoil: func(x patient) {
			x.p.Amnesia, x.p.Lost, x.p.Registrations, x.s.Agents.Value = true, "it is gone", nil, nil
		}},
		{check: "consistency records", state: "warn", why: "z runs, started by a shim of Custos", command: "custos adopt z", spoil: func(x patient) {
			x.s.Agents.Value = append(x.s.Agents.Value, fleet.Agent{Name: "z", Owner: fleet.OwnerUnknown, Instance: "i", Process: fleet.ProcessID{PID: 7}})
		}},
		{check: "hooks installed", state: "warn", why: "claude, in /h: it lacks SessionEnd", command: "custos hooks install claude", spoil: func(x patient) {
			x.Installation.Hooks[0].Missing = []string{"SessionEnd"}
		}},
		{check: "hooks installed", state: "warn", why: "calls another custos-hook", command: "custos hooks install claude", spoil: func(x patient) {
			x.Installation.Hooks[0].Command = "/old/custos-hook claude"
		}},
		{check: "hooks installed", state: "bad", why: "custos-hook is not there", command: "custos hooks uninstall claude", spoil: func(x patient) {
			x.Installation.Hooks[0].Hook = ""
		}},
		{check: "hooks undone", state: "warn", why: "was changed since install", command: "", spoil: func(x patient) {
			x.Installation.Hooks[0].Exact = false
		}},
		{check: "hooks undone", state: "warn", why: "still lies beside it", command: "", spoil: func(x patient) {
			x.Installation.Hooks[0].Events = nil
		}},
		{check: "chat configured", state: "warn", why: "nobody is told", command: "", spoil: func(x patient) {
			x.Installation.People = nil
		}},
		{check: "chat configured", state: "bad", why: "its token file /t is not there", command: "", spoil: func(x patient) {
			x.Installation.Secrets[0].Is = ""
		}},
		{check: "security folders", state: "bad", why: "others may change /s (mode 0777)", command: "chmod 700 /s", spoil: func(x patient) {
			x.Installation.Places[0].Mode = 0o777
		}},
		{check: "security folders", state: "warn", why: "others may read /s (mode 0755)", command: "chmod 700 /s", spoil: func(x patient) {
			x.Installation.Places[0].Mode = 0o755
		}},
		{check: "security files", state: "warn", why: "others may read /s/db", command: "chmod 600 /s/db", spoil: func(x patient) {
			x.Installation.Places[1].Shut = false
		}},
		{check: "security sockets", state: "bad", why: "others reach the socket /s/sock", command: "chmod 600 /s/sock", spoil: func(x patient) {
			x.Installation.Sockets[0].Mode = 0o660
		}},
		{check: "security secrets", state: "bad", why: "others may read /t ([notifier.ops]) (mode 0640)", command: "chmod 600 /t", spoil: func(x patient) {
			x.Installation.Secrets[0].Mode = 0o640
		}},
		{check: "security listening", state: "bad", why: "without a token", command: "", spoil: func(x patient) {
			x.Installation.Listen, x.Installation.Loopback = "0.0.0.0:1", false
		}},
		{check: "security listening", state: "warn", why: "signed webhooks at 0.0.0.0:2, which other machines reach", command: "", spoil: func(x patient) {
			x.Installation.Webhook, x.Installation.WebhookLoopback = "0.0.0.0:2", false
		}},
		{check: "version daemon", state: "warn", why: "the daemon is 1, and this program 2", command: "custos down && custos up", spoil: func(x patient) {
			x.Asker = "2"
		}},
		{check: "version daemon", state: "bad", why: "a daemon runs, and does not answer", command: "custos status", spoil: func(x patient) {
			x.Installation.Mute = true
		}},
	}
}

// sickRecords are where record and sight differ, and of what is seen.
func sickRecords() []sick {
	return []sick{
		{check: "consistency records", state: "bad", why: "a is to run, and nothing is seen", command: "custos show a", spoil: func(x patient) {
			x.s.Agents.Value = nil
		}},
		{check: "consistency records", state: "warn", why: "a: it says so", command: "custos why agent/a", spoil: func(x patient) {
			x.s.Agents.Value[0].Conflict = "it says so"
		}},
		{check: "consistency records", state: "warn", why: "stray is ours and runs, and has no record", command: "custos show stray", spoil: func(x patient) {
			x.s.Agents.Value = append(x.s.Agents.Value, fleet.Agent{Name: "stray", State: fleet.StateIdle, Owner: fleet.OwnerCustos, Process: fleet.ProcessID{PID: 9}})
		}},
		{check: "consistency records", state: "warn", why: "a was given up: three deaths", command: "custos recover a", spoil: func(x patient) {
			x.p.Registrations[0].Failed = "three deaths"
		}},
		{check: "consistency parents", state: "warn", why: "a works for ghost", command: "custos show a", spoil: func(x patient) {
			x.p.Registrations[0].Parent = "ghost"
		}},
		{check: "consistency worktrees", state: "bad", why: "a, b share the worktree /w", command: "custos stop b", spoil: func(x patient) {
			x.p.Registrations = append(x.p.Registrations, fleet.Registration{Name: "b", Kind: "claude", Desired: fleet.DesiredPaused, Worktree: "/w"})
		}},
		{check: "consistency runs", state: "bad", why: "run r1 is open, and nothing is seen", command: "", spoil: func(x patient) {
			x.s.Runs.Value = nil
		}},
		{check: "agents programs", state: "bad", why: "a is of kind odd, which is not known", command: "custos show a", spoil: func(x patient) {
			x.p.Registrations[0].Kind = "odd"
		}},
		{check: "agents programs", state: "bad", why: "not on PATH", command: "", spoil: func(x patient) {
			x.p.Registrations[0].Kind = "codex"
		}},
		{check: "agents states", state: "cannot tell", why: "a (claude): nothing tells", command: "custos show a", spoil: func(x patient) {
			x.s.Agents.Value[0].State, x.s.Agents.Value[0].Reason = fleet.StateUnknown, "nothing tells"
		}},
		{check: "logs size", state: "warn", why: "/l/a.log has 600 MiB", command: "custos plan", spoil: func(x patient) {
			x.s.Logs.Value[0].Bytes = fleet.Known[int64](600 << 20)
		}},
		{check: "logs tools", state: "warn", why: "a: 1", command: "custos feed", spoil: func(x patient) {
			x.Told = slices.Delete(x.Told, 1, 2)
		}},
		{check: "sessions dead-panes", state: "warn", why: "s:0.0 is dead", command: "tmux -S /t.sock kill-pane -t %1", spoil: func(x patient) {
			x.s.Sessions.Value[0].Dead, x.s.Sessions.Value[0].ID = true, fleet.PaneID{Socket: "/t.sock", Pane: "%1"}
		}},
		{check: "sessions dead-panes", state: "warn", why: "s:0.0 is dead", command: "custos stop a", spoil: func(x patient) {
			x.s.Sessions.Value[0].Dead, x.s.Sessions.Value[0].ID = true, fleet.PaneID{Socket: "/t.sock", Pane: "%1"}
			x.s.Agents.Value = append(x.s.Agents.Value, fleet.Agent{Name: "a", Owner: fleet.OwnerCustos, Registered: true, Pane: &x.s.Sessions.Value[0]})
		}},
		{check: "worktrees missing", state: "warn", why: "git knows /w", command: "git -C /r worktree prune", spoil: func(x patient) {
			x.s.Repos.Value.Worktrees[0].Missing = true
		}},
		{check: "worktrees unused", state: "warn", why: "nobody has used /w", command: "custos clean --dry-run", spoil: func(x patient) {
			x.s.Repos.Value.Worktrees = []fleet.Worktree{{Path: "/w", Repo: "/r", Age: fleet.Known(fleet.Duration(3 * time.Hour)), Occupied: fleet.Known([]int{}), Removable: fleet.Known(true)}}
		}},
		{check: "worktrees crashed", state: "warn", why: "/w was kept after a crash", command: "custos why worktree//w", spoil: func(x patient) {
			x.s.Repos.Value.Worktrees[0].Crashed = true
		}},
	}
}

// sickWorld are of what Custos stands on.
func sickWorld() []sick {
	return []sick{
		{check: "formulas readable", state: "bad", why: "f: line 3", command: "custos formula lint f", spoil: func(x patient) {
			x.Formulas[0].Broken = "line 3"
		}},
		{check: "schedules runnable", state: "bad", why: "nightly cannot run", command: "custos schedule list", spoil: func(x patient) {
			x.s.Self.Value.Schedules = "nightly cannot run"
		}},
		{check: "schedules runnable", state: "warn", why: "no daemon runs that would begin them", command: "custos up", spoil: func(x patient) {
			x.Daemon = false
		}},
		{check: "forge reachable", state: "cannot tell", why: "shop at http://f: refused", command: "custos why project/shop", spoil: func(x patient) {
			x.s.Forge.Value.Projects[0].Primary = fleet.Unknown[string]("refused")
		}},
		{check: "ci reachable", state: "cannot tell", why: "ci: refused", command: "", spoil: func(x patient) {
			x.s.CI.Value.Pipelines[0].State = fleet.Unknown[string]("refused")
		}},
		{check: "ci workers", state: "bad", why: "ci/w: silent", command: "custos why worker/ci/w", spoil: func(x patient) {
			x.s.CI.Value.Workers[0].Healthy, x.s.CI.Value.Workers[0].Why = fleet.Known(false), "silent"
		}},
		{check: "containers reachable", state: "bad", why: "db is to run, and is exited", command: "custos why container/db", spoil: func(x patient) {
			x.s.Engine.Value.Containers[0].State = fleet.Known("exited")
		}},
		{check: "disk space", state: "warn", why: "/ is 85 % full, 1.0 GiB left", command: "custos plan", spoil: func(x patient) {
			x.s.Host.Value.Mounts[0].UsedPercent = fleet.Known(85.0)
		}},
		{check: "disk space", state: "bad", why: "/ is 95 % full", command: "custos plan", spoil: func(x patient) {
			x.s.Host.Value.Mounts[0].UsedPercent = fleet.Known(95.0)
		}},
		{check: "disk inodes", state: "bad", why: "95 % of its inodes", command: "df -i /", spoil: func(x patient) {
			x.s.Host.Value.Mounts[0].InodesPercent = fleet.Known(95.0)
		}},
		{check: "clock behind", state: "bad", why: "behind the newest record", command: "date -u", spoil: func(x patient) {
			x.s.Self.Value.ClockBehind = fleet.Known(true)
		}},
		{check: "clock skew", state: "warn", why: "the clock of http://f differs by -2m0s", command: "date -u", spoil: func(x patient) {
			x.s.Forge.Value.Projects[0].Skew = fleet.Known(fleet.Duration(-2 * time.Minute))
		}},
	}
}

// sickMore are of what was looked into later.
func sickMore() []sick {
	return []sick{
		{check: "consistency orders", state: "warn", why: "the order to nudge a, given 2h ago, was worth nothing any more 1h ago", command: "custos patrol", spoil: func(x patient) {
			x.p.Orders = []fleet.Order{{ID: "o", Do: fleet.OrderNudge, Agent: "a", At: instant(-2 * time.Hour)}}
		}},
		{check: "databases pages", state: "bad", why: "/s/db is damaged: row 1 missing", command: "cp -n /s/db /s/db.damaged", spoil: func(x patient) {
			x.Installation.Store.Faults = []string{"row 1 missing"}
		}},
		{check: "databases pages", state: "cannot tell", why: "busy", spoil: func(x patient) {
			x.Installation.Store.PagesErr = "busy"
		}},
		{check: "logs lines", state: "warn", why: "/l/a.jsonl: 2 of its last 9 lines are no JSON, the first of them {\"a", command: "tail -n 20 /l/a.jsonl", spoil: func(x patient) {
			x.Installation.Lines[0].Broken, x.Installation.Lines[0].First = 2, `{"a`
		}},
		{check: "logs lines", state: "cannot tell", why: "cannot read it", spoil: func(x patient) {
			x.Installation.Lines[0].Err = "cannot read it"
		}},
		{check: "locks held", state: "bad", why: "is gone, and work waits for it", command: "custos why lock//l/lock", spoil: func(x patient) {
			x.s.Locks.Value[0].Holder, x.s.Locks.Value[0].WaitedFor = fleet.Known(fleet.HolderDead), true
		}},
		{check: "locks held", state: "warn", why: "the process that /l/lock names is gone", spoil: func(x patient) {
			x.s.Locks.Value[0].Holder = fleet.Known(fleet.HolderReused)
		}},
		{check: "locks held", state: "cannot tell", why: "who holds /l/lock cannot be told", spoil: func(x patient) {
			x.s.Locks.Value[0].Holder = fleet.Known(fleet.HolderUnknown)
		}},
		{check: "sessions orphans", state: "warn", why: "s:0.0 is on the session server of Custos", command: "tmux -S /run/tmux.sock attach -r -t '=s'", spoil: func(x patient) {
			x.s.Sessions.Value[0].ID.Socket, x.s.Sessions.Value[0].Orphan = "/run/tmux.sock", fleet.Known(true)
		}},
		{check: "worktrees unfinished", state: "warn", why: "a rebase in /r is not finished", command: "custos why repo//r", spoil: func(x patient) {
			x.s.Repos.Value.Repos[0].Operation = fleet.Known("rebase")
		}},
		{check: "merge-queue owners", state: "warn", why: "shop!7 is ready (checks success, review none), open for 1d1h", command: "custos why pr/shop!7", spoil: func(x patient) {
			x.s.Forge.Value.Pulls[0].Agent = ""
		}},
		{check: "merge-queue owners", state: "warn", why: "(checks none, review approved)", spoil: func(x patient) {
			p := &x.s.Forge.Value.Pulls[0]
			p.Agent, p.Checks, p.Review = "", fleet.Known("none"), fleet.Known("approved")
		}},
		{check: "chat reachable", state: "bad", why: "[notifier.ops] is refused: 401", spoil: func(x patient) {
			x.Installation.Chats[0] = Chat{Name: "ops", Err: "401", Refused: true}
		}},
		{check: "chat reachable", state: "cannot tell", why: "[notifier.ops]: no route", spoil: func(x patient) {
			x.Installation.Chats[0] = Chat{Name: "ops", Err: "no route"}
		}},
		{check: "version programs", state: "warn", why: "/b/custos-hook was built from beef, and custos from c0ffee", command: "make build", spoil: func(x patient) {
			x.Installation.Programs[3].Built = "beef"
		}},
		{check: "version programs", state: "cannot tell", why: "what custos-shim was built from", spoil: func(x patient) {
			x.Installation.Programs[2].Built = ""
		}},
	}
}
