package loop_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	forgeprobe "custos/internal/observe/forge"
	"custos/internal/report"
)

// mate is an agent. What it works on is found out by the probe: by its task, its
// branch or its name.
type mate struct {
	name, project string
	task, branch  string
	state         fleet.AgentState
	since         time.Duration
	makes         []int // pull requests of its project
}

func known(d time.Duration) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(max(d, 0)))
}

// clock is how far the day is.
func (d *forgeDay) clock() time.Duration { return time.Since(d.machine.begun) }

// atWork tells the probe of the forge who there is.
func (d *forgeDay) atWork(context.Context) (out []forgeprobe.Hand, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.crews {
		out = append(out, forgeprobe.Hand{Name: m.name, Project: m.project, Task: m.task, Branch: m.branch, Registered: true})
	}
	return out, nil
}

func (d *forgeDay) mateSeen(m *mate) fleet.Agent {
	a := fleet.Agent{Name: m.name, Kind: "claude", Owner: fleet.OwnerCustos, Registered: true, Project: m.project, Desired: fleet.DesiredRunning, Restart: fleet.RestartNever, State: m.state,
		Dwell: known(d.clock() - m.since), PromptState: fleet.DeliveryAcknowledged, Source: "hook", CWD: fleet.Known("/w/" + m.name), RSS: fleet.Known(gib / 4), ContextPercent: fleet.Known(10.0),
		ComposerEmpty: fleet.Known(true), PaneLost: fleet.Known(false), ShimLost: fleet.Known(false), Deaf: fleet.Known(""), FolderGone: fleet.Known(false), Age: known(d.clock() + time.Hour), Quiet: known(time.Second), Progress: fleet.ProgressSome, LastHealthy: known(0)}
	if m.state == fleet.StateFinished {
		a.Progress = fleet.ProgressUnknown
		return a
	}
	a.Process = fleet.ProcessID{PID: 100 + len(m.name), Start: 7, Boot: "b"}
	if m.state == fleet.StateIdle {
		a.Quiet, a.Progress = a.Dwell, fleet.ProgressUnknown
	}
	return a
}

// container is that of the CI's worker.
func (d *forgeDay) container() fleet.Container {
	return fleet.Container{ID: "c1", Name: "wp-agent", Owner: fleet.OwnerConfigured, Wanted: true, Run: "1", State: fleet.Known("running"), Since: known(d.clock()),
		Health: fleet.Known("healthy"), Exit: fleet.Known(0), OOM: fleet.Known(false), Restarts: fleet.Known(0), Lately: fleet.Known(0), Memory: fleet.Known(gib), Limit: fleet.Known[int64](0), CPU: fleet.Known(1.0)}
}

func (d *forgeDay) mate(name string) *mate {
	return d.crews[slices.IndexFunc(d.crews, func(m *mate) bool { return m.name == name })]
}

// errand is an action on what is made up; it changes the day as its kind would.
type errand struct {
	d    *forgeDay
	do   string
	part fleet.PartName
}

func (e *errand) Ability() fleet.Ability {
	return fleet.Ability{Do: e.do, Idempotent: e.do != "nudge", Deadline: fleet.Duration(time.Minute), Touches: []fleet.PartName{e.part}}
}

func (e *errand) Commands(fleet.Action) []fleet.Command { return nil }

func (e *errand) Prepare(_ context.Context, a fleet.Action) (act.Run, error) {
	return &errandRun{e.d, a}, nil
}

type errandRun struct {
	d *forgeDay
	a fleet.Action
}

func (r *errandRun) Verify(context.Context) (string, error) { return "", nil }
func (r *errandRun) Close()                                 {}

func (r *errandRun) Do(context.Context) error {
	time.Sleep(takes) // fake
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	if r.a.Do == "nudge" {
		r.d.nudged(r.d.mate(r.a.Subject.Name))
	} else {
		r.d.at(r.d.clock()+30*time.Second, r.d.heal)
	}
	return nil
}

// nudged: the agent works for ten minutes, and pushes; a person merges.
func (d *forgeDay) nudged(m *mate) {
	m.state, m.since = fleet.StateWorking, d.clock()
	d.at(d.clock()+10*time.Minute, func() {
		for _, n := range m.makes {
			d.push(m.project, n)
		}
	})
	d.at(d.clock()+15*time.Minute, func() {
		m.state, m.since = fleet.StateIdle, d.clock()
		for _, n := range m.makes {
			d.gone(m.project, n)
		}
	})
}

// phoned is the actor's ledger, and a person's phone: with every turn it is told
// what there is to tell, by the default route.
type phoned struct {
	dayBook
	d *forgeDay
}

// Commit implements act.Ledger.
func (p phoned) Commit(ctx context.Context, t fleet.Turn) error {
	if err := p.dayBook.Commit(ctx, t); err != nil {
		return err
	}
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	var open []fleet.Alert
	for _, a := range t.Assessment.Alerts {
		if a.Status != fleet.AlertResolved {
			open = append(open, a)
		}
	}
	route := report.Everybody(nil)
	route.To = []string{"phone"}
	v := report.Deliver(report.Scene{At: t.At, Alerts: open, News: t.Outbox}, d.told, []report.Route{route}, "phone")
	d.told = v.Told
	if v.Send != nil {
		d.told = v.Told.Arrived(*v.Send, t.At)
		d.messages = append(d.messages, t.At.Wall.UTC().Format("15:04 ")+strings.TrimPrefix(v.Send.Message.Subject, "custos: "))
	}
	return nil
}
