package doctor

import (
	"cmp"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// sick is one thing that is wrong, and the one check that tells of it.
type sick struct {
	check, state, why, command string
	spoil                      func(x patient)
}

// patient is an examination, with the parts of its pass at hand.
type patient struct {
	*Examination
	s *fleet.Snapshot
	p *fleet.Past
}

func sickness() []sick {
	return slices.Concat(sickInstallation(), sickService(), sickRecords(), sickWorld(), sickMore())
}

// sickService are of the unit that starts the daemon.
func sickService() (all []sick) {
	well := Service{Unit: "/u/custos.service", Enabled: true, Active: "active", Lingers: "yes", User: "me"}
	of := func(state, why, command string, spoil func(s *Service)) {
		all = append(all, sick{check: "service unit", state: state, why: why, command: command, spoil: func(x patient) {
			s := well
			spoil(&s)
			x.Installation.Services.Units = []Service{well, s}
		}})
	}
	of("bad", "its stop ends agents", "custos service status", func(s *Service) { s.Broken = []string{"KillMode is mixed: its stop ends agents"} })
	of("bad", "does not run: systemd says failed", "custos service status", func(s *Service) { s.Active = "failed" })
	of("warn", "edited since", "custos service status", func(s *Service) { s.Drift = []string{"edited since custos service wrote it"} })
	of("warn", "does not begin by itself", "custos service install", func(s *Service) { s.Enabled = false })
	of("warn", "ends when me has logged out", "loginctl enable-linger me", func(s *Service) { s.Lingers = "no" })
	of("cannot tell", "is not known", "loginctl enable-linger me", func(s *Service) { s.Lingers = "unknown" })
	of("cannot tell", "No medium found", "", func(s *Service) { s.Err = "Failed to connect to bus: No medium found" })
	return append(all, sick{check: "service unit", state: "cannot tell", why: "no such user", spoil: func(x patient) { x.Installation.Services.Err = "no such user" }})
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
		{check: "dependencies custos-hook", state: "cannot tell", why: "nothing looked for it", command: "", spoil: func(x patient) {
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
		{check: "structure files", state: "bad", why: "/etc/custos/custos.toml belongs to user 7, and not to user 1000", command: "ls -ld /etc/custos/custos.toml", spoil: func(x patient) {
			x.Installation.Places = append(x.Installation.Places, Place{What: "config", Path: "/etc/custos/custos.toml", Want: "file", Is: "file", Mode: 0o644, UID: 7})
		}},
		{check: "config namespace", state: "warn", why: "nothing that [git] and [locks] name is removed", command: "", spoil: func(x patient) {
			x.s.From.Unsaid = []string{"git", "locks"}
		}},
		{check: "databases damaged", state: "warn", why: "1 database set aside, damaged, replaced or newer: /s/db.corrupt-1", command: "ls -l /s/db.corrupt-1", spoil: func(x patient) {
			x.Installation.Store.Aside = []string{"/s/db.corrupt-1"}
		}},
		{check: "databases memory", state: "bad", why: "cannot be read, so nothing is done", command: "", spoil: func(x patient) {
			x.p.Blind = "locked"
		}},
		{check: "databases memory", state: "cannot tell", why: "what was done before is lost: it is damaged", command: "", spoil: func(x patient) {
			x.p.Amnesia, x.p.Lost = true, "it is damaged"
		}},
		{check: "databases open", state: "warn", why: "/s/db is not there, and was", command: "custos patrol", spoil: func(x patient) {
			x.p.Amnesia, x.p.Lost, x.Installation.Store = true, "it is gone", StoreFacts{Path: "/s/db"}
		}},
		{check: "hooks installed", state: "warn", why: "gemini ignores the hooks that Custos starts it with, and its agents tell nothing by them: root does not own /run/x", command: "custos hooks install gemini", spoil: func(x patient) {
			x.Installation.Hooks = append(x.Installation.Hooks, HookFacts{Kind: "gemini", Deaf: "root does not own /run/x"})
			x.p.Registrations = append(x.p.Registrations, fleet.Registration{Name: "g", Kind: "gemini", Owner: fleet.OwnerCustos})
		}},
		{check: "hooks installed", state: "warn", why: "/work/settings.json has none of our hooks, which other settings of claude have", command: "custos hooks install claude", spoil: func(x patient) {
			x.Installation.Hooks = append(x.Installation.Hooks, HookFacts{Kind: "claude", Account: true, File: "/work/settings.json"}, HookFacts{Kind: "codex", Account: true, File: "/own/hooks.json"})
		}},
		{check: "hooks heard", state: "warn", why: "nothing is heard of the hooks of g1; g2 (claude): a whole turn went by", command: "custos show g1", spoil: func(x patient) {
			deaf := fleet.Known("a whole turn went by")
			for _, name := range []string{"g1", "g2"} {
				x.s.Agents.Value = append(x.s.Agents.Value, fleet.Agent{Name: name, Kind: "claude", Process: fleet.ProcessID{PID: 9}, Deaf: deaf})
			}
			x.s.Agents.Value = append(x.s.Agents.Value, fleet.Agent{Name: "g3", Kind: "claude", Process: fleet.ProcessID{PID: 9}}, fleet.Agent{Name: "g4", Kind: "claude", Deaf: deaf})
		}},
		{check: "hooks undone", state: "warn", why: "was changed since install", command: "", spoil: func(x patient) {
			x.Installation.Hooks[0].Exact = false
		}},
		{check: "hooks undone", state: "warn", why: "still lies beside it", command: "", spoil: func(x patient) {
			x.Installation.Hooks[0].Events = nil
		}},
		{check: "chat configured", state: "warn", why: "no person is notified", command: "", spoil: func(x patient) {
			x.Installation.People = nil
		}},
		{check: "security listening", state: "bad", why: "without a token", command: "", spoil: func(x patient) {
			x.Installation.Listeners[0] = Listener{What: "metrics", Address: "0.0.0.0:1"}
		}},
		{check: "security listening", state: "bad", why: "cannot serve the page at 127.0.0.1:3: address already in use", command: "", spoil: func(x patient) {
			x.Installation.Listeners[0] = Listener{What: "the page", Address: "127.0.0.1:3", Loopback: true, Trouble: "cannot serve the page at 127.0.0.1:3: address already in use"}
		}},
		{check: "security listening", state: "warn", why: "signed webhooks at 0.0.0.0:2, which other machines reach", command: "", spoil: func(x patient) {
			x.Installation.Listeners[1] = Listener{What: "signed webhooks", Address: "0.0.0.0:2", Guard: "bodies are not encrypted"}
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
		{check: "consistency parents", state: "warn", why: "a works for ghost", command: "custos show a", spoil: func(x patient) {
			x.p.Registrations[0].Parent = "ghost"
		}},
		{check: "agents programs", state: "bad", why: "a is of kind odd, which is not known", command: "custos show a", spoil: func(x patient) {
			x.p.Registrations[0].Kind = "odd"
		}},
		{check: "agents programs", state: "bad", why: "not on PATH", command: "", spoil: func(x patient) {
			x.p.Registrations[0].Kind = "codex"
		}},
		{check: "agents versions", state: "warn", why: "2 agents run claude 2.2.0; Custos was taught 2.1.330: what its screen shows is a hint only", command: "custos ps", spoil: func(x patient) {
			newer := fleet.Agent{Name: "n", Kind: "claude", State: fleet.StateIdle, Process: fleet.ProcessID{PID: 8}, Version: "2.2.0", Outgrown: "2.1.330"}
			x.Pass.Snapshot.Agents.Value = append(x.Pass.Snapshot.Agents.Value, newer, newer)
		}},
		{check: "agents states", state: "cannot tell", why: "a (claude): nothing tells", command: "custos show a", spoil: func(x patient) {
			x.s.Agents.Value[0].State, x.s.Agents.Value[0].Reason = fleet.StateUnknown, "nothing tells"
		}},
		{check: "logs tools", state: "warn", why: "a: 1", command: "custos feed", spoil: func(x patient) {
			x.Events = fleet.Known(slices.Delete(x.Events.Or(nil), 1, 2))
		}},
		{check: "sessions dead-panes", state: "warn", why: "s:0.0 is dead", command: "tmux -S /t.sock kill-pane -t %1", spoil: func(x patient) {
			x.s.Sessions.Value[0].Dead, x.s.Sessions.Value[0].ID = true, fleet.PaneID{Socket: "/t.sock", Pane: "%1"}
		}},
		deadPane("custos stop a", fleet.Agent{Desired: fleet.DesiredStopped, State: fleet.StateStopped}),
		deadPane("custos stop a", fleet.Agent{Desired: fleet.DesiredRunning, State: fleet.StateFinished, Restart: fleet.RestartOnFailure}),
		deadPane("custos recover a", fleet.Agent{Desired: fleet.DesiredRunning, State: fleet.StateFinished, Restart: fleet.RestartAlways}),
		deadPane("custos recover a", fleet.Agent{Desired: fleet.DesiredRunning, State: fleet.StateCrashed, Restart: fleet.RestartOnFailure}),
		deadPane("custos recover a", fleet.Agent{Desired: fleet.DesiredRunning, State: fleet.StateZombie, Restart: fleet.RestartNever}),
		deadPane("custos recover a", fleet.Agent{Owner: fleet.OwnerAdopted, Desired: fleet.DesiredRunning, State: fleet.StateCrashed, Restart: fleet.RestartOnFailure}),
		deadPane("custos stop a", fleet.Agent{Desired: fleet.DesiredRunning, State: fleet.StateCrashed, Restart: fleet.RestartOnFailure, FolderLost: "its folder /w is not there"}),
		deadPane("tmux -S /t.sock kill-pane -t %1", fleet.Agent{Owner: fleet.OwnerAdopted, Desired: fleet.DesiredRunning, State: fleet.StateCrashed, Restart: fleet.RestartNever}),
	}
}

// deadPane is the pane of an agent of ours that has left it, and the command beside it.
func deadPane(command string, a fleet.Agent) sick {
	why := "s:0.0 is dead"
	if a.FolderLost != "" {
		why += ", and a cannot be started again: " + a.FolderLost + ". Put its own back and custos recover a, or end it for good"
	}
	return sick{check: "sessions dead-panes", state: "warn", why: why, command: command, spoil: func(x patient) {
		x.s.Sessions.Value[0].Dead, x.s.Sessions.Value[0].ID = true, fleet.PaneID{Socket: "/t.sock", Pane: "%1"}
		a.Name, a.Owner, a.Registered, a.Pane = "a", cmp.Or(a.Owner, fleet.OwnerCustos), true, &x.s.Sessions.Value[0]
		x.s.Agents.Value = append(x.s.Agents.Value, a)
	}}
}

// sickWorld are of what Custos stands on.
func sickWorld() []sick {
	return []sick{
		{check: "formulas readable", state: "bad", why: "f: line 3", command: "custos formula lint f", spoil: func(x patient) {
			x.Formulas.Or(nil)[0].Broken = "line 3"
		}},
		{check: "formulas shadows", state: "warn", why: "/p/f.toml is run instead of formulas/f.toml in p, as [formulas] shadows says", command: "custos formula list", spoil: func(x patient) {
			x.Formulas.Or(nil)[0].Source = "formulas/f.toml"
			x.Formulas = fleet.Known(append(x.Formulas.Or(nil), api.FormulaRow{Name: "f", Project: "p", Source: "/p/f.toml"}))
		}},
		{check: "schedules runnable", state: "warn", why: "no daemon runs that would begin them", command: "custos up", spoil: func(x patient) {
			x.Daemon = false
		}},
		{check: "forge reachable", state: "cannot tell", why: "shop at http://f: refused", command: "custos why project/shop", spoil: func(x patient) {
			x.s.Forge.Value.Projects[0].Primary = fleet.Unknown[string]("refused")
		}},
		{check: "logs usage", state: "warn", why: "claude used is counted in part, or not: a line of its conversations could not be read (/h/s.jsonl and 2 more)", command: "custos cost", spoil: func(x patient) {
			x.s.Spending.Value.Faults = []fleet.UsageFault{{Kind: "claude", Why: "a line of its conversations could not be read", Key: "/h/s.jsonl", More: []string{"/h/r.jsonl", "/h/q.jsonl"}}}
		}},
		{check: "logs usage", state: "warn", why: "could not be read (/h/s.jsonl and at least 1 more)", command: "custos cost", spoil: func(x patient) {
			x.s.Spending.Value.Faults = []fleet.UsageFault{{Kind: "claude", Why: "a line of its conversations could not be read", Key: "/h/s.jsonl", More: []string{"/h/r.jsonl"}, AtLeast: true}}
		}},
		{check: "ci reachable", state: "cannot tell", why: "ci: refused", command: "", spoil: func(x patient) {
			x.s.CI.Value.Pipelines[0].State = fleet.Unknown[string]("refused")
		}},
	}
}

// sickMore are of what was looked into later.
func sickMore() []sick {
	return []sick{
		{check: "config in-force", state: "warn", why: "changed since", command: "custos down && custos up", spoil: func(x patient) {
			x.Installation.Config.Changed = "it was changed since"
		}},
		{check: "config read", state: "warn", why: "mine.toml:2", command: "custos config check", spoil: func(x patient) {
			x.Installation.Config.Aside = "of the kinds of agents these files are set aside: cannot read /c/kinds/mine.toml:2: unknown key"
		}},
		{check: "hooks installed", state: "cannot tell", why: "the settings of claude cannot be read: denied", spoil: func(x patient) {
			x.Installation.Hooks[0].Err = "denied"
		}},
		{check: "containers reachable", state: "cannot tell", why: "db: refused", spoil: func(x patient) {
			x.s.Engine.Value.Containers[0].State = fleet.Unknown[string]("refused")
		}},
		{check: "security sockets", state: "bad", why: "/s/sock is file, and no socket", command: "ls -ld /s/sock", spoil: func(x patient) {
			x.Installation.Places[2].Is = "file"
		}},
		{check: "security secrets", state: "bad", why: "/t belongs to user 7, and not to user 1000", command: "ls -ld /t", spoil: func(x patient) {
			x.Installation.Places[3].UID = 7
		}},
		{check: "security secrets", state: "bad", why: "/t is folder, and no file", command: "ls -ld /t", spoil: func(x patient) {
			x.Installation.Places[3].Is = "dir"
		}},
		{check: "security secrets", state: "bad", why: "/t ([notifier.ops]) is not there", spoil: func(x patient) {
			x.Installation.Places[3].Is = ""
		}},
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
