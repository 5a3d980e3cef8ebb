package doctor

import (
	"fmt"
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
	s.Self.Value = fleet.Self{Remembered: fleet.Remembered{ClockBehind: fleet.Known(false)}, StoreWritable: fleet.Known(true), JournalWritable: fleet.Known(true)}
	s.Host.Value.Mounts = []fleet.Mount{{Path: "/", UsedPercent: fleet.Known(50.0), InodesPercent: fleet.Known(5.0), Available: fleet.Known[int64](1 << 30)}}
	s.Agents.Value = []fleet.Agent{{Name: "a", Kind: "claude", State: fleet.StateIdle, Owner: fleet.OwnerCustos, Registered: true}}
	s.Logs.Value = []fleet.Log{{Path: "/l/a.log", Bytes: fleet.Known[int64](5)}}
	s.Locks.Value = []fleet.Lock{{Path: "/l/lock", Holder: fleet.Known(fleet.HolderAlive)}}
	s.Sessions.Value = []fleet.Pane{{Session: "s", Orphan: fleet.Known(false)}, {Session: "~custos", Dead: true, Orphan: fleet.Known(false)}}
	s.Repos.Value = fleet.Repos{Repos: []fleet.Repo{{Path: "/r", Operation: fleet.Known("")}}, Worktrees: []fleet.Worktree{{Path: "/w", Repo: "/r", Age: fleet.Known(fleet.Duration(3 * time.Hour)), Occupied: fleet.Known([]int{}), Removable: fleet.Known(false)}}}
	s.Runs.Value = []fleet.RunFacts{{ID: "r1"}}
	s.Forge.Value.Projects = []fleet.Project{{Name: "shop", URL: "http://f", Primary: fleet.Known("main"), Skew: fleet.Known(fleet.Duration(time.Second))}}
	s.Forge.Value.Pulls = []fleet.PullRequest{{Name: "shop!7", Age: fleet.Known(fleet.Duration(25 * time.Hour)), Checks: fleet.Known("success"), Review: fleet.Known("none"),
		Conflict: fleet.Known(false), Agent: "a"}}
	s.CI.Value = fleet.CI{Pipelines: []fleet.Pipeline{{Name: "ci/shop#1", System: "ci", State: fleet.Known("success")}}, Workers: []fleet.Worker{{Name: "ci/w", Healthy: fleet.Known(true)}}}
	s.Engine.Value.Containers = []fleet.Container{{Name: "db", Wanted: true, State: fleet.Known("running")}}
	p.Past.Registrations = []fleet.Registration{
		{Name: "a", Kind: "claude", Desired: fleet.DesiredRunning, Process: fleet.ProcessID{PID: 7}, Worktree: "/w"},
		{Name: "old", Kind: "gone", Desired: fleet.DesiredRetired, Worktree: "/w", Parent: "nobody"},
	}
	p.Past.Orders = []fleet.Order{{ID: "o", At: instant(-time.Minute)}, {ID: "under way", At: instant(-2 * time.Hour), Action: "a1"}}
	p.Past.Runs = []fleet.Run{{ID: "r1", State: fleet.RunOpen}, {ID: "r0", State: fleet.RunDone}}
	call := fleet.HookEvent{Agent: "a", Instance: "i", CallID: "c", Event: fleet.HookToolBegin}
	end, stop := call, call
	end.Event, stop.Event, stop.CallID = fleet.HookToolEnd, fleet.HookStop, ""
	return &Examination{
		At: instant(0), Version: "1", Asker: "1", Daemon: true, Rules: checking(), Pass: &p, Events: fleet.Known([]fleet.HookEvent{call, end, stop}),
		Formulas: fleet.Known([]api.FormulaRow{{Name: "f"}}), Schedules: fleet.Known(1),
		Installation: Installation{
			UID: 1000, Config: ConfigFacts{File: "/c.toml", Found: true}, People: []string{"ops (telegram)"},
			Programs: []Program{{Name: "tmux", Path: "/bin/tmux", Version: "tmux 3.3a"}, {Name: "git", Path: "/bin/git", Version: "git 2"},
				{Name: "custos-shim", Path: "/b/custos-shim", Built: "c0ffee"}, {Name: "custos-hook", Path: "/b/custos-hook", Built: "c0ffee"}},
			Built: "c0ffee", Chats: []Chat{{Name: "ops", Me: "1"}}, Lines: []LogLines{{Path: "/l/a.jsonl", Read: 9}},
			Kinds: []Program{{Name: "claude", Path: "/bin/claude"}, {Name: "codex"}},
			Places: []Place{{Path: "/s", Want: "dir", Is: "dir", UID: 1000, Mode: 0o700, Own: true}, {Path: "/s/db", Want: "file", Is: "file", UID: 1000, Mode: 0o644, Own: true, Shut: true},
				{Path: "/s/sock", Want: "socket", Is: "socket", UID: 1000, Mode: 0o600}, {What: "[notifier.ops]", Path: "/t", Want: "file", Is: "file", UID: 1000, Mode: 0o600}},
			Store:     StoreFacts{Path: "/s/db", There: true},
			Hooks:     []HookFacts{{Kind: "claude", File: "/h", Events: []string{"Stop"}, Command: "/b/custos-hook claude", Hook: "/b/custos-hook", Kept: true, Exact: true}},
			Listeners: []Listener{{What: "metrics", Address: "127.0.0.1:1", Loopback: true}, {What: "signed webhooks", Address: "127.0.0.1:2", Loopback: true, Guard: "a signature"}},
		},
	}
}

func checked(e Examination) []api.DoctorCheck {
	d, _ := Diagnose(e, nil)
	return d.Checks
}

func instant(after time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}.Add(after)
}

// told is every check by "category name".
func told(e *Examination) map[string]api.DoctorCheck {
	out := map[string]api.DoctorCheck{}
	for _, c := range checked(*e) {
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

// A unit that is as it should be is named, where there is one.
func TestDoctorNamesAUnitThatIsWell(t *testing.T) {
	for _, linger := range []string{"yes", ""} {
		e := wellInstalled()
		e.Installation.Services.Units = []Service{{Unit: "/u/custos.service", Enabled: true, Active: "active", Lingers: linger}}
		if c := told(e)["service unit"]; c.State != api.CheckOK || c.Why != "/u/custos.service, which is as it should be" {
			t.Errorf("%s: %s", c.State, c.Why)
		}
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
		if c := all["databases pages"]; k.store.Err != "" && c.State != "cannot tell" {
			t.Errorf("%+v: its pages are %s", k.store, c.State)
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
		case strings.HasPrefix(name, "dependencies "), name == "version programs":
			want = api.CheckOK
		case name == "config read":
			want = api.CheckBad
		}
		if c.State != want {
			t.Errorf("%s is %s: %s", name, c.State, c.Why)
		}
	}
	if d, _ := Diagnose(*e, []string{"disk"}); d.Counts != (api.DoctorCounts{Bad: 1, Cannot: 1}) || d.Checks[0].Name != "read" {
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
			if c := row.view(row.verdict(e)); c.State == api.CheckOK {
				t.Errorf("%s became well when %s was hidden: %s", k.check, leaf.Name, c.Why)
			}
		}
	}
	e := wellInstalled()
	for _, name := range fleet.PartNames() {
		e.Pass.Snapshot.Sight(name).Status = fleet.StatusUnknown
	}
	for _, name := range []string{"agents states", "sessions seen", "sessions dead-panes", "worktrees seen", "forge reachable", "ci reachable", "containers reachable"} {
		if c := told(e)[name]; c.State != api.CheckCannot {
			t.Errorf("%s is %s where nothing was seen: %s", name, c.State, c.Why)
		}
	}
}

// halves are the ways in which a part is seen, and not all of it now.
func halves() map[string]func(*fleet.Sight) {
	return map[string]func(*fleet.Sight){
		"stale": func(s *fleet.Sight) { s.Status, s.Why = fleet.StatusStale, "the server is stopped" },
		"cut":   func(s *fleet.Sight) { s.Cut = "the server is stopped" },
	}
}

// That nothing was found in an old reading, or in half of what there is, says nothing
// of now: whatever rests on a part is not well then.
func TestDoctorHalfSeenIsNeverWell(t *testing.T) {
	rest := map[string]bool{}
	for _, name := range fleet.PartNames() {
		blind := wellInstalled()
		blind.Pass.Snapshot.Sight(name).Status = fleet.StatusUnknown
		for way, half := range halves() {
			e := wellInstalled()
			half(e.Pass.Snapshot.Sight(name))
			now := told(e)
			for check, c := range told(blind) {
				if c.State == api.CheckOK {
					continue
				}
				rest[check] = true
				if got := now[check]; got.State != api.CheckCannot || !strings.Contains(got.Why, "the server is stopped") || got.Command == "" {
					t.Errorf("%s is %s where %s is %s: %s → %s", check, got.State, name, way, got.Why, got.Command)
				}
			}
		}
	}
	for _, check := range []string{"sessions seen", "sessions dead-panes", "agents states", "logs lines", "worktrees seen", "forge reachable"} {
		if !rest[check] {
			t.Errorf("%s rests on no part: %v", check, rest)
		}
	}
}

// What an old reading does hold is told.
func TestDoctorTellsWhatAnOldReadingHolds(t *testing.T) {
	for way, half := range halves() {
		e := wellInstalled()
		e.Pass.Snapshot.Sessions.Value[0].Dead = true
		half(e.Pass.Snapshot.Sight(fleet.PartSessions))
		if c := told(e)["sessions dead-panes"]; c.State != api.CheckWarn || !strings.Contains(c.Why, "is dead") {
			t.Errorf("%s: a dead pane is %s: %s", way, c.State, c.Why)
		}
	}
}

// Many reasons are one line: the worst first, a few by name.
func TestDoctorManyReasons(t *testing.T) {
	e := wellInstalled()
	for _, p := range []float64{85, 86, 87, 95} {
		f := findings()["disk-pressure"]
		if f.Summary = fmt.Sprintf("/m is %.0f %% full", p); p < 90 {
			f.Priority = fleet.P3
		}
		e.Pass.Assessment.Findings = append(e.Pass.Assessment.Findings, f)
	}
	c := told(e)["disk disk-pressure"]
	if c.State != api.CheckBad || !strings.HasPrefix(c.Why, "/m is 95 %") || !strings.HasSuffix(c.Why, "; and 1 more") {
		t.Errorf("%s: %s", c.State, c.Why)
	}
}

// Where nobody could look, no check takes what was seen for granted, whatever is known of
// the database.
func TestNoCheckNeedsALookThatFailed(t *testing.T) {
	for _, st := range []StoreFacts{{}, {Path: "/db"}, {Path: "/db", There: true}, {Path: "/db", There: true, Err: "no", Damaged: true}} {
		e := Examination{At: instant(0), Daemon: true, NoPass: "cannot recall the past", Installation: Installation{Store: st}}
		for _, c := range checked(e) {
			if c.Name == "open" && c.Command == "custos patrol" && e.Daemon {
				t.Errorf("a daemon heals by itself: %+v", c)
			}
			if c.Category == "databases" && c.Name == "open" && !st.There && (c.State != api.CheckCannot || !strings.Contains(c.Why, "cannot recall the past")) {
				t.Errorf("of a database that is not there, %+v", c)
			}
		}
	}
}

// A configuration that is root's, and that Custos may only read, as in a container, is well.
func TestAConfigurationMayBeRoots(t *testing.T) {
	p := Place{What: "config", Path: "/etc/custos/custos.toml", Want: "file", Is: "file", Mode: 0o644}
	if v := p.judge(1000); v.why != "" {
		t.Errorf("it is said of it: %s", v.why)
	}
	if p.Open() {
		t.Error("others may only read it, and it counts as open")
	}
}
