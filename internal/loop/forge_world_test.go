package loop_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/report"
	"custos/internal/report/journal"
	"custos/internal/rules"
)

// forgeDay is a day of a fleet that works for three projects: a forge with their
// issues and pull requests, a CI, and the agents, all of them moved by a script and
// by what is done to them. The rules, the guards, the loop, the actor and the
// journal are the real ones.
type forgeDay struct {
	*day
	dir    journal.Dir
	script []scene

	tickets  []*ticket
	changes  []*proposal
	builds   []*build
	crews    []*mate
	sick     bool // the CI's worker
	forge    string
	ci       string // why they cannot be seen; "" when they can
	told     report.Told
	messages []string // what the phone was told, and when
}

// forgeTick never falls on a patrol within a day, so that of two passes it is
// always known which comes first. For the same reason what is done takes a while.
const (
	forgeTick = 251 * time.Second
	takes     = 5 * time.Second
)

// scene is what happens at a moment of the day.
type scene struct {
	at time.Duration
	do func()
}

// ticket is an issue. Moments are since the day began.
type ticket struct {
	project         string
	number          int
	opened, touched time.Duration
	labels          []string
	assignees       []string
	waits           []*ticket
	circle          []string
	agent           string
	closed          bool
	closedAt        time.Duration
	comments        int
}

// proposal is a pull request.
type proposal struct {
	project         string
	number          int
	opened, pushed  time.Duration
	checks, review  string
	checked         time.Duration
	conflict, draft bool
	agent           string
	gone            bool
}

// build is a pipeline; it is the newest of its branch until another one is made.
type build struct {
	project, branch string
	number          int64
	state           string
	changed         time.Duration // into that state
	attempt         int
	cause           string // outside the code
	old             bool
}

// mate is an agent.
type mate struct {
	name, project string
	state         fleet.AgentState
	since         time.Duration
}

func newForgeDay(t *testing.T) *forgeDay {
	d := &forgeDay{day: &day{workshop: newWorkshop(t), t: t, regs: map[string]fleet.Registration{}, agents: map[string]fleet.AgentRecord{},
		alerts: map[fleet.AlertKey]fleet.Alert{}}, dir: journal.Dir(t.TempDir())}
	set, err := rules.Parse("rules.toml", rules.Builtin(), rules.Source{Name: "overlay", Text: []byte(`
[rule.ci-stuck]
mode = "auto"
[rule.orphaned-work]
mode = "auto"
[rule.blocked-exhausted]
mode = "auto"
`)})
	if err != nil {
		t.Fatal(err)
	}
	var actions []act.Action
	for do := range forgeParts() {
		actions = append(actions, &errand{d: d, do: do})
	}
	d.actor = act.New(act.Options{Actions: actions, Ledger: phoned{dayBook{d.day}, d}, Now: d.now, Workers: 4, Done: func(r fleet.Result) { d.loop.Done(r) }})
	t.Cleanup(d.actor.Close)
	d.loop = loop.New(loop.Options{Board: d, Rules: set, Policy: d.policy, History: d, Act: d.actor, Journal: report.New(report.Options{Journal: d.dir}),
		Touches: func(do string) []fleet.PartName { return []fleet.PartName{forgeParts()[do]} }, Every: dayPatrol, Tick: forgeTick, Log: slog.New(slog.DiscardHandler)})
	return d
}

// forgeParts are the actions there are, and the part each touches.
func forgeParts() map[string]fleet.PartName {
	return map[string]fleet.PartName{"nudge": fleet.PartAgents, "comment": fleet.PartForge, "label": fleet.PartForge, "assign": fleet.PartForge,
		"retrigger": fleet.PartCI, "cancel-pipeline": fleet.PartCI, "restart-container": fleet.PartEngine}
}

// at puts a scene into the script, or one that follows from what was done.
func (d *forgeDay) at(when time.Duration, do func()) {
	d.script = append(d.script, scene{when, do})
	slices.SortStableFunc(d.script, func(a, b scene) int { return cmp.Compare(a.at, b.at) })
}

// clock is how far the day is.
func (d *forgeDay) clock() time.Duration { return time.Since(d.machine.begun) }

// play does what the script says has happened by now. mu is held.
func (d *forgeDay) play() {
	for len(d.script) > 0 && d.script[0].at <= d.clock() {
		next := d.script[0]
		d.script = d.script[1:]
		next.do()
	}
}

// ---- what is seen ------------------------------------------------------------

func known(d time.Duration) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(max(d, 0)))
}

// Snapshot implements loop.Board.
func (d *forgeDay) Snapshot() fleet.Snapshot {
	s := d.day.Snapshot()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.play()
	for _, m := range d.crews {
		s.Agents.Value = append(s.Agents.Value, d.mateSeen(m))
	}
	s.Engine.Value.Containers = []fleet.Container{{ID: "c1", Name: "wp-agent", Owner: fleet.OwnerConfigured, Wanted: true, Run: "1", State: fleet.Known("running"), Since: known(d.clock()),
		Health: fleet.Known("healthy"), Exit: fleet.Known(0), OOM: fleet.Known(false), Restarts: fleet.Known(0), Lately: fleet.Known(0), Memory: fleet.Known(gib), Limit: fleet.Known[int64](0), CPU: fleet.Known(1.0)}}
	s.Engine.Value.Dangling = fleet.Known[int64](0)
	s.Forge.Value, s.CI.Value = d.forgeSeen(), d.ciSeen()
	return s
}

func (d *forgeDay) mateSeen(m *mate) fleet.Agent {
	a := fleet.Agent{Name: m.name, Kind: "claude", Owner: fleet.OwnerCustos, Registered: true, Project: m.project, Desired: fleet.DesiredRunning, Restart: fleet.RestartNever, State: m.state,
		Dwell: known(d.clock() - m.since), PromptState: fleet.DeliveryAcknowledged, Source: "hook", CWD: fleet.Known("/w/" + m.name), RSS: fleet.Known(gib / 4), ContextPercent: fleet.Known(10.0),
		ComposerEmpty: fleet.Known(true), Age: known(d.clock() + time.Hour), Quiet: known(time.Second), Progress: fleet.ProgressSome, LastHealthy: known(0)}
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

func (d *forgeDay) forgeSeen() fleet.Forge {
	var f fleet.Forge
	for _, t := range d.tickets {
		if !t.closed || d.clock()-t.closedAt < 24*time.Hour {
			f.Issues = append(f.Issues, d.ticketSeen(t))
		}
	}
	for _, c := range d.changes {
		if !c.gone && c.opened <= d.clock() {
			f.Pulls = append(f.Pulls, d.proposalSeen(c))
		}
	}
	for _, name := range []string{"bank", "docs", "shop"} {
		f.Projects = append(f.Projects, d.projectSeen(name, f.Issues))
	}
	return f
}

func (t *ticket) has(label string) bool { return slices.Contains(t.labels, label) }

func (d *forgeDay) ticketSeen(t *ticket) fleet.Issue {
	i := fleet.Issue{Name: fleet.IssueName(t.project, t.number), Project: t.project, Number: t.number, Owner: fleet.OwnerConfigured, Labels: slices.Clone(t.labels),
		Assignees: slices.Clone(t.assignees), Open: fleet.Known(!t.closed), Age: known(d.clock() - t.opened), Updated: known(d.clock() - t.touched), Closed: known(0), Agent: t.agent}
	if d.forge != "" {
		blind := fleet.Unknown[fleet.Duration](d.forge)
		i.Open, i.Taken, i.Ready, i.BlockedBy = fleet.Unknown[bool](d.forge), fleet.Unknown[bool](d.forge), fleet.Unknown[bool](d.forge), fleet.Unknown[[]string](d.forge)
		i.Age, i.Updated, i.Closed, i.Waits = blind, blind, blind, blind
		return i
	}
	by, oldest := []string{}, time.Duration(0)
	for _, w := range t.waits {
		if !w.closed {
			by, oldest = append(by, fleet.IssueName(w.project, w.number)), max(oldest, d.clock()-w.opened)
		}
	}
	if t.closed {
		i.Closed = known(d.clock() - t.closedAt)
	}
	taken := !t.closed && (t.has("in-progress") || len(t.assignees) > 0)
	i.Taken, i.BlockedBy, i.Waits, i.Cycle = fleet.Known(taken), fleet.Known(by), known(oldest), slices.Clone(t.circle)
	i.Ready = fleet.Known(!t.closed && t.has("backlog") && !t.has("blocked") && !taken && len(by) == 0)
	return i
}

func (d *forgeDay) projectSeen(name string, issues []fleet.Issue) fleet.Project {
	p := fleet.Project{Name: name, Repo: "acme/" + name, Owner: fleet.OwnerConfigured, Primary: fleet.Known("main"), Active: fleet.Known(true), Skew: known(0)}
	if d.forge != "" {
		p.Ready, p.InProgress, p.Blocked, p.Empty = fleet.Unknown[int](d.forge), fleet.Unknown[int](d.forge), fleet.Unknown[int](d.forge), fleet.Unknown[int](d.forge)
		return p
	}
	ready, begun, blocked := 0, 0, 0
	for _, i := range issues {
		if i.Project != name || !i.Open.Or(false) {
			continue
		}
		if i.Ready.Or(false) {
			ready++
		}
		if i.Taken.Or(false) {
			begun++
		}
		if by, _ := i.BlockedBy.Get(); len(by) > 0 || slices.Contains(i.Labels, "blocked") {
			blocked++
		}
	}
	p.Ready, p.InProgress, p.Blocked, p.Empty = fleet.Known(ready), fleet.Known(begun), fleet.Known(blocked), fleet.Known(0)
	if ready == 0 {
		p.Empty = fleet.Known(int(d.clock()/time.Minute) - int(d.emptySince(name)/time.Minute))
	}
	return p
}

// emptySince is when the script took the last ready issue of the bank away.
func (d *forgeDay) emptySince(name string) time.Duration {
	if name == "bank" && d.clock() >= 8*time.Hour {
		return 8 * time.Hour
	}
	return d.clock()
}

func (d *forgeDay) proposalSeen(c *proposal) fleet.PullRequest {
	p := fleet.PullRequest{Name: fleet.PullName(c.project, c.number), Project: c.project, Number: c.number, Owner: fleet.OwnerConfigured, Base: "main", Branch: "fix-" + strconv.Itoa(c.number),
		Head: "c0ffee", Draft: c.draft, Agent: c.agent, Age: known(d.clock() - c.opened), Pushed: known(d.clock() - c.pushed), Checks: fleet.Known(c.checks), Checked: known(0),
		Conflict: fleet.Known(c.conflict), Review: fleet.Known(c.review)}
	if c.checks == "success" || c.checks == "failure" {
		p.Checked = known(d.clock() - c.checked)
	}
	if d.forge != "" {
		blind := fleet.Unknown[fleet.Duration](d.forge)
		p.Age, p.Pushed, p.Checked, p.Checks, p.Review, p.Conflict = blind, blind, blind, fleet.Unknown[string](d.forge), fleet.Unknown[string](d.forge), fleet.Unknown[bool](d.forge)
	}
	return p
}

func (d *forgeDay) ciSeen() fleet.CI {
	w := fleet.Worker{Name: "wp/one", System: "wp", Owner: fleet.OwnerConfigured, Healthy: fleet.Known(!d.sick), Contact: known(0), Container: "wp-agent"}
	if d.sick {
		w.Why = "it has not spoken to its server for 10m"
	}
	if d.ci != "" {
		w.Healthy, w.Contact = fleet.Unknown[bool](d.ci), fleet.Unknown[fleet.Duration](d.ci)
	}
	ci := fleet.CI{Workers: []fleet.Worker{w}}
	for _, b := range d.builds {
		ci.Pipelines = append(ci.Pipelines, d.buildSeen(b))
	}
	return ci
}

func (d *forgeDay) buildSeen(b *build) fleet.Pipeline {
	p := fleet.Pipeline{Name: fleet.PipelineName("wp", b.project, b.number), System: "wp", Project: b.project, Number: b.number, Owner: fleet.OwnerConfigured, Event: "push", Branch: b.branch,
		Head: "c0ffee", Primary: b.branch == "main", Newest: !b.old, State: fleet.Known(b.state), Pending: known(0), Running: known(0), Ended: known(0), Attempt: b.attempt,
		Infra: fleet.Known(b.cause != ""), Cause: b.cause}
	age := known(d.clock() - b.changed)
	switch b.state {
	case "pending", "blocked":
		p.Pending = age
	case "running":
		p.Running = age
	default:
		p.Ended = age
	}
	if d.ci != "" {
		blind := fleet.Unknown[fleet.Duration](d.ci)
		p.State, p.Pending, p.Running, p.Ended, p.Infra = fleet.Unknown[string](d.ci), blind, blind, blind, fleet.Unknown[bool](d.ci)
	}
	return p
}

// ---- what is done ------------------------------------------------------------

// errand is an action of the day; it changes the day as its kind would.
type errand struct {
	d  *forgeDay
	do string
}

func (e *errand) Ability() fleet.Ability {
	return fleet.Ability{Do: e.do, Idempotent: e.do != "nudge", Deadline: fleet.Duration(time.Minute), Touches: []fleet.PartName{forgeParts()[e.do]}}
}

func (e *errand) Commands(fleet.Action) []fleet.Command { return nil }

func (e *errand) Prepare(_ context.Context, a fleet.Action) (act.Run, error) {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	if e.do == "comment" && e.d.ticket(a.Subject.Name).comments > 0 {
		return nil, act.ErrUnneeded
	}
	return &errandRun{e.d, a}, nil
}

type errandRun struct {
	d *forgeDay
	a fleet.Action
}

func (r *errandRun) Verify(context.Context) (string, error) { return "", nil }
func (r *errandRun) Close()                                 {}

func (r *errandRun) Do(context.Context) error {
	d := r.d
	time.Sleep(takes) // fake
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r.a.Do {
	case "nudge":
		d.nudged(d.mate(r.a.Subject.Name))
	case "cancel-pipeline":
		b := d.build(r.a.Subject.Name)
		b.state, b.changed = "cancelled", d.clock()
	case "retrigger":
		d.again(d.build(r.a.Subject.Name))
	case "restart-container":
		d.at(d.clock()+30*time.Second, func() { d.sick = false })
	default:
		d.write(r.a)
	}
	return nil
}

// write comments, labels and assigns.
func (d *forgeDay) write(a fleet.Action) {
	t := d.ticket(a.Subject.Name)
	switch t.touched = d.clock(); a.Do {
	case "comment":
		t.comments++
	case "assign":
		t.assignees = nil
	case "label":
		t.labels, t.agent = []string{"backlog"}, ""
	}
}

// nudged: the agent works for ten minutes, and pushes.
func (d *forgeDay) nudged(m *mate) {
	m.state, m.since = fleet.StateWorking, d.clock()
	d.at(d.clock()+10*time.Minute, func() {
		for _, c := range d.changes {
			if c.agent == m.name && !c.gone && c.opened <= d.clock() {
				c.pushed, c.checks, c.conflict = d.clock(), "pending", false
			}
		}
	})
	d.at(d.clock()+15*time.Minute, func() {
		m.state, m.since = fleet.StateIdle, d.clock()
		for _, c := range d.changes {
			if c.agent == m.name && c.opened <= d.clock() {
				c.gone = true // merged by a person
			}
		}
	})
}

// again begins the next attempt of a pipeline, which fails as long as the cause lasts.
func (d *forgeDay) again(b *build) {
	b.old = true
	next := &build{project: b.project, branch: b.branch, number: b.number + 1, state: "running", changed: d.clock(), attempt: b.attempt + 1}
	d.builds = append(d.builds, next)
	d.at(d.clock()+5*time.Minute, func() {
		if next.state, next.changed = "success", d.clock(); b.cause == diskFull && next.attempt <= 3 {
			next.state, next.cause = "failure", b.cause
		}
	})
}

const diskFull = "no space left on device"

func (d *forgeDay) mate(name string) *mate {
	return d.crews[slices.IndexFunc(d.crews, func(m *mate) bool { return m.name == name })]
}

func (d *forgeDay) ticket(name string) *ticket {
	return d.tickets[slices.IndexFunc(d.tickets, func(t *ticket) bool { return fleet.IssueName(t.project, t.number) == name })]
}

func (d *forgeDay) change(name string) *proposal {
	return d.changes[slices.IndexFunc(d.changes, func(c *proposal) bool { return fleet.PullName(c.project, c.number) == name })]
}

func (d *forgeDay) build(name string) *build {
	return d.builds[slices.IndexFunc(d.builds, func(b *build) bool { return fleet.PipelineName("wp", b.project, b.number) == name })]
}

// ---- who is told ---------------------------------------------------------------

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
