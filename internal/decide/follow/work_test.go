package follow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func TestGiveBack(t *testing.T) {
	gone, lives := []fleet.Agent{}, []fleet.Agent{{Name: "me", State: fleet.StateWorking, Process: fleet.ProcessID{PID: 7}}}
	unknown := []fleet.Agent{{Name: "me", State: fleet.StateUnknown}}
	for name, c := range map[string]struct {
		desired fleet.Desired
		failed  string
		mode    fleet.Mode
		agents  []fleet.Agent
		blind   bool
		frozen  string
		want    bool
	}{
		"retired":                          {fleet.DesiredRetired, "", fleet.ModeObserve, gone, false, "", true},
		"given up":                         {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, gone, false, "", true},
		"given up, and people are asked":   {fleet.DesiredRunning, "3 in 1h", fleet.ModeAsk, gone, false, "", false},
		"given up, and Custos only looks":  {fleet.DesiredRunning, "3 in 1h", fleet.ModeObserve, gone, false, "", false},
		"given up, frozen":                 {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, gone, false, "ann: wait", false},
		"given up, and a person began it":  {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, lives, false, "", false},
		"given up, in an unknown state":    {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, unknown, false, "", false},
		"given up, and agents are unseen":  {fleet.DesiredRunning, "3 in 1h", fleet.ModeAuto, gone, true, "", false},
		"dead, and to be started again":    {fleet.DesiredRunning, "", fleet.ModeAuto, gone, false, "", false},
		"stopped by a person, for a while": {fleet.DesiredStopped, "", fleet.ModeAuto, gone, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newVillage(t)
			w.policy = fleet.Policy{Mode: c.mode, Frozen: c.frozen}
			w.snap.Agents.Value = c.agents
			w.blind(&w.snap.Agents.Sight, c.blind)
			w.register(fleet.Registration{Name: "me", Desired: c.desired, Failed: c.failed, Branch: "fix"})
			r := w.add("a")
			w.change(r, func(v fleet.WorkItem) (fleet.WorkItem, error) { return ledger.TakeWork(v, "me", "ann", w.at()) })
			got := w.pass()
			if is := ledger.Work(w.past.Records, r).State == fleet.WorkOpen; is != c.want || (len(got) == 1) != c.want {
				t.Fatalf("given back %v, want %v; mails %q", is, c.want, subjects(got))
			}
			if c.want && (!strings.Contains(got[0].Body, "it left branch fix") || ledger.Work(w.past.Records, r).Agent != "") {
				t.Errorf("got %+v", got[0])
			}
			wantMails(t, w.pass())
		})
	}
}

func TestLeftBehind(t *testing.T) {
	ended := &fleet.Exit{Status: fleet.Known(1), At: at(-time.Hour)}
	kept := &fleet.Checkpoint{At: at(-time.Minute), Ref: "refs/custos/backup/fix/1", Files: []string{"a", "b"}}
	base := fleet.Registration{Name: "me", Desired: fleet.DesiredRunning, Restart: fleet.RestartNever, Exit: ended, Checkpoint: kept, Repo: "/r", Project: "shop", Task: "mend it"}
	for name, c := range map[string]struct {
		change func(*fleet.Registration)
		want   bool
	}{
		"crashed, never restarted": {func(*fleet.Registration) {}, true},
		"given up":                 {func(r *fleet.Registration) { r.Restart, r.Failed = fleet.RestartAlways, "3 in 1h" }, true},
		"retired":                  {func(r *fleet.Registration) { r.Desired = fleet.DesiredRetired }, true},
		"to be started again":      {func(r *fleet.Registration) { r.Restart = fleet.RestartOnFailure }, false},
		"stopped by a person":      {func(r *fleet.Registration) { r.Desired = fleet.DesiredStopped }, false},
		"nothing was left":         {func(r *fleet.Registration) { r.Checkpoint = &fleet.Checkpoint{At: kept.At} }, false},
		"kept while it lived":      {func(r *fleet.Registration) { r.Exit = &fleet.Exit{At: at(0)} }, false},
		"of a run":                 {func(r *fleet.Registration) { r.Run = "r1" }, false},
		"it has not ended":         {func(r *fleet.Registration) { r.Exit = nil }, false},
		"a backup of long ago": {func(r *fleet.Registration) {
			r.Checkpoint = &fleet.Checkpoint{At: at(-2 * month), Ref: "x"}
			r.Exit = &fleet.Exit{At: at(-3 * month)}
		}, false},
		"finished well, on-failure": {func(r *fleet.Registration) {
			r.Restart, r.Exit = fleet.RestartOnFailure, &fleet.Exit{Status: fleet.Known(0), At: at(-time.Hour)}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newVillage(t)
			r := base
			c.change(&r)
			w.register(r)
			for range 3 {
				w.pass()
			}
			if got := w.past.Records.Work; (len(got) == 1) != c.want || len(got) > 1 {
				t.Fatalf("work %+v, want %v", got, c.want)
			} else if c.want && (!strings.Contains(got[0].Body, "git -C /r worktree add DIR refs/custos/backup/fix/1") || !slices.Equal(got[0].Labels, []string{"left-behind"})) {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}
