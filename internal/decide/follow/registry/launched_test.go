package registry

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// An instance of ours that no action lived to note is learned from what is seen, so
// that its end is known as its own.
func TestAnUnnotedStartIsLearned(t *testing.T) {
	const at0 = uint64(time.Hour / tick) // at(0), in ticks since boot
	for name, c := range map[string]struct {
		reg    func(*fleet.Registration)
		seen   func(*fleet.Agent)
		past   []fleet.ActionRecord
		status fleet.Status
		learns bool
	}{
		"never noted": {learns: true},
		"after another one": {learns: true, reg: func(r *fleet.Registration) {
			r.Instance, r.Process, r.StartedAt = "i-old", fleet.ProcessID{PID: 5, Start: 9, Boot: "b"}, at(-time.Hour)
			r.Exit, r.Failed = &fleet.Exit{Instance: "i-old", Signal: fleet.Known(9)}, "gave up"
		}},
		"a newer one is on record": {reg: func(r *fleet.Registration) {
			r.Instance, r.Process, r.StartedAt = "i-newer", fleet.ProcessID{PID: 5, Start: at0, Boot: "b"}, at(0)
		}},
		"being started": {past: []fleet.ActionRecord{{Stage: fleet.StageStarted, Action: fleet.Action{Do: fleet.OrderSpawn.Action(), Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "a"}}}}},
		"not ours":      {reg: func(r *fleet.Registration) { r.Owner = fleet.OwnerAdopted }},
		"gone":          {seen: func(a *fleet.Agent) { a.Process = fleet.ProcessID{} }},
		"of no boot":    {seen: func(a *fleet.Agent) { a.Process.Boot = "" }},
		"no instance":   {seen: func(a *fleet.Agent) { a.Instance = "" }},
		"unregistered":  {seen: func(a *fleet.Agent) { a.Registered = false }},
		"not fresh":     {status: fleet.StatusStale},
	} {
		t.Run(name, func(t *testing.T) {
			r := reg("a")
			r.Desired, r.Prompt, r.PromptState, r.Where = fleet.DesiredRunning, "mend the tests", fleet.DeliveryPending, fleet.WhereTmux
			a := fleet.Agent{Name: "a", Registered: true, Owner: fleet.OwnerCustos, Instance: "i-new", State: fleet.StateWorking,
				Process: fleet.ProcessID{PID: 7, Start: at0 - 3000, Boot: "b"}, Pane: &fleet.Pane{ID: fleet.PaneID{Socket: "/run/u/tmux.sock"}}}
			if c.reg != nil {
				c.reg(&r)
			}
			if c.seen != nil {
				c.seen(&a)
			}
			snap := fleet.Snapshot{}
			snap.Agents.Status, snap.Agents.Value = fleet.StatusOK, []fleet.Agent{a}
			if c.status != "" {
				snap.Agents.Status = c.status
			}
			_, after, _ := settled(t, fleet.Past{Registrations: []fleet.Registration{r}, Actions: c.past}, snap, fleet.Plan{})
			if !c.learns {
				if len(after) > 0 {
					t.Errorf("it is now %+v", after[0])
				}
				return
			}
			if len(after) != 1 || after[0].Instance != "i-new" || after[0].Process != a.Process || after[0].Server != a.Pane.ID.Socket || after[0].StartedAt != at(-30*time.Second) ||
				after[0].Exit != nil || after[0].Failed != "" || after[0].PromptState != fleet.DeliverySent {
				t.Errorf("it is %+v", after)
			}
		})
	}
}
