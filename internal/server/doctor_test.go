package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// wellInstalled is an examination with nothing wrong, and something of everything.
func wellInstalled() *Examination {
	var p fleet.Pass
	s := &p.Snapshot
	for _, name := range fleet.PartNames() {
		s.Sight(name).Status = fleet.StatusOK
	}
	s.Self.Value = fleet.Self{StoreWritable: fleet.Known(true), JournalWritable: fleet.Known(true)}
	s.Host.Value.Mounts = []fleet.Mount{{Path: "/", UsedPercent: fleet.Known(50.0), InodesPercent: fleet.Known(5.0), Available: fleet.Known[int64](1 << 30)}}
	s.Agents.Value = []fleet.Agent{{Name: "a", Kind: "claude", State: fleet.StateIdle, Owner: fleet.OwnerCustos, Registered: true}}
	s.Logs.Value = []fleet.Log{{Path: "/l/a.log", Bytes: fleet.Known[int64](5)}}
	s.Sessions.Value = []fleet.Pane{{Session: "s"}, {Session: "~custos", Dead: true}}
	s.Repos.Value = fleet.Repos{Repos: []fleet.Repo{{Path: "/r"}}, Worktrees: []fleet.Worktree{{Path: "/w", Repo: "/r"}}}
	s.Runs.Value = []fleet.RunFacts{{ID: "r1"}}
	s.Forge.Value.Projects = []fleet.Project{{Name: "shop", URL: "http://f", Primary: fleet.Known("main"), Skew: fleet.Known(fleet.Duration(time.Second))}}
	s.CI.Value = fleet.CI{Pipelines: []fleet.Pipeline{{Name: "ci/shop#1", System: "ci", State: fleet.Known("success")}}, Workers: []fleet.Worker{{Name: "ci/w", Healthy: fleet.Known(true)}}}
	s.Engine.Value.Containers = []fleet.Container{{Name: "db", Wanted: true, State: fleet.Known("running")}}
	p.Past.Registrations = []fleet.Registration{
		{Name: "a", Kind: "claude", Desired: fleet.DesiredRunning, Process: fleet.ProcessID{PID: 7}, Worktree: "/w"},
		{Name: "old", Kind: "gone", Desired: fleet.DesiredRetired, Worktree: "/w", Parent: "nobody"},
	}
	p.Past.Runs = []fleet.Run{{ID: "r1", State: fleet.RunOpen}, {ID: "r0", State: fleet.RunDone}}
	call := fleet.HookEvent{Agent: "a", Instance: "i", CallID: "c", Event: fleet.HookToolBegin}
	end, stop := call, call
	end.Event, stop.Event, stop.CallID = fleet.HookToolEnd, fleet.HookStop, ""
	return &Examination{
		At: instant(0), Version: "1", Asker: "1", Daemon: true, Pass: &p, Told: []fleet.HookEvent{call, end, stop},
		Formulas: []api.FormulaRow{{Name: "f"}}, Schedules: []api.ScheduleRow{{Name: "s", Enabled: true}},
		Installation: Installation{
			UID: 1000, Config: ConfigFacts{File: "/c.toml", Found: true}, People: []string{"ops (telegram)"},
			Programs: []Program{{Name: "tmux", Path: "/bin/tmux", Version: "tmux 3.3a"}, {Name: "git", Path: "/bin/git", Version: "git 2"},
				{Name: "custos-shim", Path: "/b/custos-shim"}, {Name: "custos-hook", Path: "/b/custos-hook"}},
			Kinds:   []Program{{Name: "claude", Path: "/bin/claude"}, {Name: "codex"}},
			Places:  []Place{{Path: "/s", Want: "dir", Is: "dir", UID: 1000, Mode: 0o700, Own: true}, {Path: "/s/db", Want: "file", Is: "file", UID: 1000, Mode: 0o644, Own: true, Shut: true}},
			Sockets: []Place{{Path: "/s/sock", Want: "socket", Is: "socket", UID: 1000, Mode: 0o600}},
			Secrets: []Place{{What: "[notifier.ops]", Path: "/t", Want: "file", Is: "file", UID: 1000, Mode: 0o600}},
			Store:   StoreFacts{Path: "/s/db", There: true},
			Hooks:   []HookFacts{{Kind: "claude", File: "/h", Exists: true, Events: []string{"Stop"}, Command: "/b/custos-hook claude", Hook: "/b/custos-hook", Kept: true, Exact: true}},
			Listen:  "127.0.0.1:1", Loopback: true,
		},
	}
}

// told is every check by "category name".
func told(e *Examination) map[string]api.DoctorCheck {
	out := map[string]api.DoctorCheck{}
	for _, c := range Diagnose(*e, nil).Checks {
		out[c.Category+" "+c.Name] = c
	}
	return out
}

func TestDoctorAllWell(t *testing.T) {
	for name, c := range told(wellInstalled()) {
		if c.State != api.CheckOK || c.Why == "" || c.Command != "" {
			t.Errorf("%s is %s: %s → %s", name, c.State, c.Why, c.Command)
		}
	}
}

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

func sickness() []sick { return slices.Concat(sickInstallation(), sickRecords(), sickWorld()) }

// sickInstallation are of Custos's own files.
func sickInstallation() []sick {
	return []sick{
		{"dependencies tmux", "bad", "it is not found, so agents in terminals", "apt-get install tmux", func(x patient) {
			x.Installation.Programs[0] = Program{Name: "tmux", Err: "not in PATH"}
		}},
		{"dependencies git", "bad", "/bin/git does not answer", "", func(x patient) {
			x.Installation.Programs[1].Err = "no answer"
		}},
		{"dependencies custos-shim", "bad", "no agent can be started", "make build", func(x patient) {
			x.Installation.Programs[2].Path = ""
		}},
		{"dependencies custos-hook", "cannot tell", "nobody looked", "", func(x patient) {
			x.Installation.Programs = x.Installation.Programs[:3]
		}},
		{"structure folders", "bad", "belongs to user 0, and not to user 1000", "ls -ld /s", func(x patient) {
			x.Installation.Places[0].UID = 0
		}},
		{"structure folders", "bad", "/s is file, and no folder", "ls -ld /s", func(x patient) {
			x.Installation.Places[0].Is = "file"
		}},
		{"structure files", "bad", "cannot be written", "ls -ld /s/db", func(x patient) {
			x.Installation.Places[1].Own = false
		}},
		{"structure writable", "bad", "the journal cannot be written", "custos doctor structure disk", func(x patient) {
			x.s.Self.Value.JournalWritable = fleet.Known(false)
		}},
		{"config in-force", "warn", "changed since", "custos down && custos up", func(x patient) {
			x.Installation.Config.Changed = "it was changed since"
		}},
		{"databases rows", "warn", "2 rows could not be read", "custos feed", func(x patient) {
			x.Installation.Store.Rows, x.Installation.Store.RowTable = 2, "orders"
		}},
		{"databases damaged", "warn", "1 damaged database set aside: /s/db.corrupt-1", "ls -l /s/db.corrupt-1", func(x patient) {
			x.Installation.Store.Aside = []string{"/s/db.corrupt-1"}
		}},
		{"databases memory", "bad", "cannot be read, so nothing is done", "", func(x patient) {
			x.p.Blind = "locked"
		}},
		{"databases memory", "warn", "self-amnesia", "custos alerts", func(x patient) {
			x.p.Amnesia = true
		}},
		{"hooks installed", "warn", "claude lacks SessionEnd", "custos hooks install claude", func(x patient) {
			x.Installation.Hooks[0].Missing = []string{"SessionEnd"}
		}},
		{"hooks installed", "warn", "calls another custos-hook", "custos hooks install claude", func(x patient) {
			x.Installation.Hooks[0].Command = "/old/custos-hook claude"
		}},
		{"hooks installed", "bad", "custos-hook is not there", "custos hooks uninstall claude", func(x patient) {
			x.Installation.Hooks[0].Hook = ""
		}},
		{"hooks undone", "warn", "was changed since install", "", func(x patient) {
			x.Installation.Hooks[0].Exact = false
		}},
		{"hooks undone", "warn", "still lies beside it", "", func(x patient) {
			x.Installation.Hooks[0].Events = nil
		}},
		{"chat configured", "warn", "nobody is told", "", func(x patient) {
			x.Installation.People = nil
		}},
		{"chat configured", "bad", "its token file /t is not there", "", func(x patient) {
			x.Installation.Secrets[0].Is = ""
		}},
		{"security folders", "bad", "others may change /s (mode 0777)", "chmod 700 /s", func(x patient) {
			x.Installation.Places[0].Mode = 0o777
		}},
		{"security folders", "warn", "others may read /s (mode 0755)", "chmod 700 /s", func(x patient) {
			x.Installation.Places[0].Mode = 0o755
		}},
		{"security files", "warn", "others may read /s/db", "chmod 600 /s/db", func(x patient) {
			x.Installation.Places[1].Shut = false
		}},
		{"security sockets", "bad", "others reach the socket /s/sock", "chmod 600 /s/sock", func(x patient) {
			x.Installation.Sockets[0].Mode = 0o660
		}},
		{"security secrets", "bad", "others may read /t ([notifier.ops]) (mode 0640)", "chmod 600 /t", func(x patient) {
			x.Installation.Secrets[0].Mode = 0o640
		}},
		{"security listening", "bad", "without a token", "", func(x patient) {
			x.Installation.Listen, x.Installation.Loopback = "0.0.0.0:1", false
		}},
		{"version daemon", "warn", "the daemon is 1, and this program 2", "custos down && custos up", func(x patient) {
			x.Asker = "2"
		}},
		{"version daemon", "bad", "a daemon runs, and does not answer", "custos status", func(x patient) {
			x.Installation.Mute = true
		}},
	}
}

// sickRecords are where record and sight differ, and of what is seen.
func sickRecords() []sick {
	return []sick{
		{"consistency records", "bad", "a is to run, and nothing is seen", "custos show a", func(x patient) {
			x.s.Agents.Value = nil
		}},
		{"consistency records", "warn", "a: it says so", "custos why agent/a", func(x patient) {
			x.s.Agents.Value[0].Conflict = "it says so"
		}},
		{"consistency records", "warn", "stray is ours and runs, and has no record", "custos show stray", func(x patient) {
			x.s.Agents.Value = append(x.s.Agents.Value, fleet.Agent{Name: "stray", State: fleet.StateIdle, Owner: fleet.OwnerCustos, Process: fleet.ProcessID{PID: 9}})
		}},
		{"consistency records", "warn", "a was given up: three deaths", "custos recover a", func(x patient) {
			x.p.Registrations[0].Failed = "three deaths"
		}},
		{"consistency parents", "warn", "a works for ghost", "custos show a", func(x patient) {
			x.p.Registrations[0].Parent = "ghost"
		}},
		{"consistency worktrees", "bad", "a, b share the worktree /w", "custos stop b", func(x patient) {
			x.p.Registrations = append(x.p.Registrations, fleet.Registration{Name: "b", Kind: "claude", Desired: fleet.DesiredPaused, Worktree: "/w"})
		}},
		{"consistency runs", "bad", "run r1 is open, and nothing is seen", "", func(x patient) {
			x.s.Runs.Value = nil
		}},
		{"agents programs", "bad", "a is of kind odd, which is not known", "custos show a", func(x patient) {
			x.p.Registrations[0].Kind = "odd"
		}},
		{"agents programs", "bad", "not on PATH", "", func(x patient) {
			x.p.Registrations[0].Kind = "codex"
		}},
		{"agents states", "cannot tell", "a (claude): nothing tells", "custos show a", func(x patient) {
			x.s.Agents.Value[0].State, x.s.Agents.Value[0].Reason = fleet.StateUnknown, "nothing tells"
		}},
		{"logs size", "warn", "/l/a.log has 600 MiB", "custos plan", func(x patient) {
			x.s.Logs.Value[0].Bytes = fleet.Known[int64](600 << 20)
		}},
		{"logs tools", "warn", "a: 1", "custos feed", func(x patient) {
			x.Told = slices.Delete(x.Told, 1, 2)
		}},
		{"sessions dead-panes", "warn", "s:0.0 is dead", "", func(x patient) {
			x.s.Sessions.Value[0].Dead = true
		}},
		{"worktrees missing", "warn", "git knows /w", "git -C /r worktree prune", func(x patient) {
			x.s.Repos.Value.Worktrees[0].Missing = true
		}},
		{"worktrees crashed", "warn", "/w was kept after a crash", "custos why worktree//w", func(x patient) {
			x.s.Repos.Value.Worktrees[0].Crashed = true
		}},
	}
}

// sickWorld are of what Custos stands on.
func sickWorld() []sick {
	return []sick{
		{"formulas readable", "bad", "f: line 3", "custos formula lint f", func(x patient) {
			x.Formulas[0].Broken = "line 3"
		}},
		{"schedules runnable", "bad", "nightly cannot run", "custos schedule list", func(x patient) {
			x.s.Self.Value.Schedules = "nightly cannot run"
		}},
		{"schedules runnable", "warn", "no daemon runs that would begin them", "custos up", func(x patient) {
			x.Daemon = false
		}},
		{"forge reachable", "cannot tell", "shop at http://f: refused", "custos why project/shop", func(x patient) {
			x.s.Forge.Value.Projects[0].Primary = fleet.Unknown[string]("refused")
		}},
		{"ci reachable", "cannot tell", "ci: refused", "", func(x patient) {
			x.s.CI.Value.Pipelines[0].State = fleet.Unknown[string]("refused")
		}},
		{"ci workers", "bad", "ci/w: silent", "custos why worker/ci/w", func(x patient) {
			x.s.CI.Value.Workers[0].Healthy, x.s.CI.Value.Workers[0].Why = fleet.Known(false), "silent"
		}},
		{"containers reachable", "bad", "db is to run, and is exited", "custos why container/db", func(x patient) {
			x.s.Engine.Value.Containers[0].State = fleet.Known("exited")
		}},
		{"disk space", "warn", "/ is 85 % full, 1.0 GiB left", "custos plan", func(x patient) {
			x.s.Host.Value.Mounts[0].UsedPercent = fleet.Known(85.0)
		}},
		{"disk space", "bad", "/ is 95 % full", "custos plan", func(x patient) {
			x.s.Host.Value.Mounts[0].UsedPercent = fleet.Known(95.0)
		}},
		{"disk inodes", "bad", "95 % of its inodes", "df -i /", func(x patient) {
			x.s.Host.Value.Mounts[0].InodesPercent = fleet.Known(95.0)
		}},
		{"clock behind", "bad", "behind the newest record", "date -u", func(x patient) {
			x.s.Self.Value.ClockBehind = true
		}},
		{"clock skew", "warn", "the clock of http://f differs by -2m0s", "date -u", func(x patient) {
			x.s.Forge.Value.Projects[0].Skew = fleet.Known(fleet.Duration(-2 * time.Minute))
		}},
	}
}

func (k sick) of() *Examination {
	e := wellInstalled()
	k.spoil(patient{e, &e.Pass.Snapshot, &e.Pass.Past})
	return e
}

// Each thing that is wrong is told, by its check, with what mends it.
func TestDoctorFinds(t *testing.T) {
	found := map[string]bool{"config read": true, "databases open": true, "sessions seen": true, "worktrees seen": true} // tested below
	for _, k := range sickness() {
		found[k.check] = true
		c := told(k.of())[k.check]
		if c.State != k.state || !strings.Contains(c.Why, k.why) || k.command != "" && c.Command != k.command {
			t.Errorf("%s is %s: %s → %s; want %s: %s → %s", k.check, c.State, c.Why, c.Command, k.state, k.why, k.command)
		}
	}
	for _, c := range checks() {
		if !found[c.category+" "+c.name] {
			t.Errorf("no case has %s %s fail", c.category, c.name)
		}
	}
}

func TestDoctorStore(t *testing.T) {
	for _, k := range []struct {
		store StoreFacts
		state string
		why   string
	}{
		{StoreFacts{}, "ok", "there is none yet"},
		{StoreFacts{There: true, Damaged: true, Err: "not a database"}, "bad", "is damaged"},
		{StoreFacts{There: true, Newer: true, Err: "version 99"}, "bad", "a newer custos wrote"},
		{StoreFacts{There: true, Err: "denied"}, "bad", "cannot be read: denied"},
	} {
		e := wellInstalled()
		e.Installation.Store = k.store
		all := told(e)
		if c := all["databases open"]; c.State != k.state || !strings.Contains(c.Why, k.why) {
			t.Errorf("%+v is %s: %s", k.store, c.State, c.Why)
		}
		if c := all["databases rows"]; k.store.Err != "" && c.State != "cannot tell" {
			t.Errorf("%+v: its rows are %s", k.store, c.State)
		}
	}
}

// With a configuration that cannot be read, only what does not need it is told, and
// why; whichever categories are asked for.
func TestDoctorBrokenConfig(t *testing.T) {
	e := wellInstalled()
	e.Installation.Config.Err = `c.toml:3: unknown key "x"`
	for name, c := range told(e) {
		want := api.CheckCannot
		switch {
		case strings.HasPrefix(name, "dependencies "):
			want = api.CheckOK
		case name == "config read":
			want = api.CheckBad
		}
		if c.State != want {
			t.Errorf("%s is %s: %s", name, c.State, c.Why)
		}
	}
	if d := Diagnose(*e, []string{"disk"}); d.Counts != (api.DoctorCounts{Bad: 1, Cannot: 2}) || d.Checks[0].Name != "read" {
		t.Errorf("of the disk alone: %+v", d)
	}
}

// What was not seen is never well: with nothing but the part, or the leaf, blind, a
// check that was not well does not become so.
func TestDoctorBlindIsNeverWell(t *testing.T) {
	for _, k := range sickness() {
		row := checks()[slices.IndexFunc(checks(), func(c check) bool { return c.category+" "+c.name == k.check })]
		for n := range fleettest.Leaves(&k.of().Pass.Snapshot) {
			e := k.of()
			leaf := fleettest.Leaves(&e.Pass.Snapshot)[n]
			leaf.Blind("hidden")
			if c := row.view(*e); c.State == api.CheckOK {
				t.Errorf("%s became well when %s was hidden: %s", k.check, leaf.Name, c.Why)
			}
		}
	}
	e := wellInstalled()
	for _, name := range fleet.PartNames() {
		e.Pass.Snapshot.Sight(name).Status = fleet.StatusUnknown
	}
	for _, name := range []string{"structure writable", "consistency records", "consistency runs", "agents states", "logs size", "sessions seen", "sessions dead-panes",
		"worktrees seen", "worktrees missing", "worktrees crashed", "forge reachable", "ci reachable", "ci workers", "containers reachable", "disk space", "disk inodes", "clock behind", "clock skew"} {
		if c := told(e)[name]; c.State != api.CheckCannot {
			t.Errorf("%s is %s where nothing was seen: %s", name, c.State, c.Why)
		}
	}
}

// Many reasons are one line: the worst first, a few by name.
func TestDoctorManyReasons(t *testing.T) {
	e := wellInstalled()
	for _, p := range []float64{85, 86, 87, 95} {
		e.Pass.Snapshot.Host.Value.Mounts = append(e.Pass.Snapshot.Host.Value.Mounts, fleet.Mount{Path: "/m", UsedPercent: fleet.Known(p), InodesPercent: fleet.Known(1.0)})
	}
	c := told(e)["disk space"]
	if c.State != api.CheckBad || !strings.HasPrefix(c.Why, "/m is 95 %") || !strings.HasSuffix(c.Why, "; and 1 more") {
		t.Errorf("%s: %s", c.State, c.Why)
	}
}

func TestDoctorRoute(t *testing.T) {
	w := newWorld()
	o := w.options()
	looked := 0
	o.Cycle = counting{w, &looked}
	ask := func(path string) (int, api.Doctor) {
		r := httptest.NewRecorder()
		New(o).ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
		var d api.Doctor
		_ = json.Unmarshal(r.Body.Bytes(), &d) // an error has no checks
		return r.Code, d
	}
	if status, _ := ask("/v1/doctor?category=dsk"); status != http.StatusBadRequest || looked != 0 {
		t.Errorf("a category that is none: status %d, %d looks", status, looked)
	}
	if _, d := ask("/v1/doctor?category=dependencies&category=security"); looked != 0 || d.Counts.Cannot != len(d.Checks) || d.Counts.Cannot != 9 {
		t.Errorf("where nobody examines: %d looks, %+v", looked, d.Counts)
	}
	o.Examine = func(context.Context) Installation { return wellInstalled().Installation }
	if _, d := ask("/v1/doctor?category=security"); looked != 0 || d.Counts.OK != 5 {
		t.Errorf("security: %d looks, %+v", looked, d.Checks)
	}
	w.lookErr = errors.New("cannot look: no world")
	if _, d := ask("/v1/doctor?category=disk"); looked != 1 || d.Counts.Cannot != 2 || !strings.Contains(d.Checks[0].Why, "no world") {
		t.Errorf("disk: %d looks, %+v", looked, d.Checks)
	}
}

// counting counts looks.
type counting struct {
	*world
	n *int
}

func (c counting) Look(ctx context.Context, within time.Duration) (fleet.Pass, error) {
	*c.n++
	return c.world.Look(ctx, within)
}
