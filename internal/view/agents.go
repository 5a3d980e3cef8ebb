package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"custos/internal/api"
	"custos/internal/fleet"
)

// isThrough says whether an agent has ended so that it is not started again by itself: it
// did well and is kept on failure only, a person ended it, or it was given up.
func isThrough(s *fleet.Snapshot, r fleet.Registration) bool {
	return r.Failed != "" || slices.ContainsFunc(s.Agents.Value, func(a fleet.Agent) bool {
		return a.Name == r.Name && (a.State == fleet.StateFinished && r.Restart != fleet.RestartAlways || endedByPerson(a, r))
	})
}

// endedByPerson says whether a person ended the agent since it was last wanted, which its
// record does not say before the next pass that can be committed.
func endedByPerson(a fleet.Agent, r fleet.Registration) bool {
	return a.State == fleet.StateStopped && a.Exit != nil && a.Exit.Ender() == fleet.EnderPerson && !a.Exit.At.Before(r.DesiredAt)
}

// Agents is the fleet, and what was asked for and is not there yet.
func Agents(p fleet.Pass, h Hints) api.Agents {
	snap := &p.Snapshot
	out := api.Agents{At: snap.At.Wall.UTC(), Agents: agentRows(snap), Pending: Pending(p), Kept: []string{}, Next: []api.Hint{}}
	within := map[string]*api.Boundary{}
	for _, r := range p.Past.Registrations {
		if r.Kept() && !isThrough(snap, r) {
			out.Kept = append(out.Kept, r.Name)
		}
		within[r.Name] = boundaryView(r.Boundary)
	}
	for i, row := range out.Agents {
		if row.Registered {
			out.Agents[i].Boundary = within[row.Name]
		}
	}
	for _, part := range seen(snap) {
		if part.Part == string(fleet.PartAgents) {
			out.Seen = part
		}
	}
	out.Next = append(out.Next, Adoptions(snap)...)
	if len(out.Pending) > 0 && !h.Daemon {
		out.Next = append(out.Next, NoDaemon())
	}
	return out
}

// Pending lists the agents that are to run and do not yet, the first prompts
// that were not acknowledged, recoveries, and the orders that are not over.
func Pending(p fleet.Pass) []api.Pending {
	out := []api.Pending{}
	agents := ByName(&p.Snapshot)
	for _, r := range p.Past.Registrations {
		if w, waits := pendingAgent(r, agents[r.Name], p.Snapshot.At); waits {
			out = append(out, w)
		}
	}
	out = append(out, pendingRecovery(p)...)
	for _, o := range p.Past.Orders {
		if o.IsOver() {
			continue
		}
		out = append(out, api.Pending{Agent: cmp.Or(o.Agent, "account "+o.Account), What: string(o.Do), State: OrderState(o), Order: o.ID,
			Since: o.At.Wall.UTC(), For: Since(p.Snapshot.At, o.At), Why: o.Why, Until: Moment(o.Until)})
	}
	return out
}

// pendingAgent says what a registered agent is waited for with, if it is.
func pendingAgent(r fleet.Registration, a *fleet.Agent, at fleet.Instant) (api.Pending, bool) {
	if r.Desired != fleet.DesiredRunning || r.Failed != "" || r.Owner != fleet.OwnerCustos || r.Exit != nil {
		return api.Pending{}, false
	}
	from := r.StartedAt
	if from.IsZero() {
		from = r.CreatedAt
	}
	w := api.Pending{Agent: r.Name, What: "start", Since: from.Wall.UTC(), For: Since(at, from)}
	switch {
	case r.Instance == "":
		w.State, w.Why = "not started", "no instance of it has begun"
	case a != nil && (a.State == fleet.StateStarting || a.State == fleet.StateDialog):
		w.State, w.Why = string(a.State), a.Reason
	case r.PromptState == fleet.DeliveryPending || r.PromptState == fleet.DeliverySent:
		w.What, w.State, w.Why = "prompt", string(r.PromptState), "its first prompt is not acknowledged"
	default:
		return w, false
	}
	return w, true
}

func ByName(s *fleet.Snapshot) map[string]*fleet.Agent {
	out := map[string]*fleet.Agent{}
	if !s.Agents.Usable() {
		return out
	}
	for i := range s.Agents.Value {
		out[s.Agents.Value[i].Name] = &s.Agents.Value[i]
	}
	return out
}

func Messages(list []fleet.Message) (out []api.Message) {
	for _, m := range list {
		out = append(out, api.Message{ID: m.ID, At: m.At.Wall.UTC(), Kind: string(m.Kind), Priority: string(m.Priority), About: m.About, Subject: m.Subject, Body: m.Body})
	}
	return out
}

func UnseenAgent(r fleet.Registration, how fleet.Sight) fleet.Agent {
	why := "it was not seen at the last look"
	if !how.Usable() {
		why = fmt.Sprintf("agents is %s (%s)", how.Status, how.Why)
	}
	state := fleet.StateUnknown
	if r.Desired == fleet.DesiredRetired {
		state, why = fleet.StateStopped, "it is retired"
	}
	return fleet.Agent{Name: r.Name, Kind: r.Kind, Owner: r.Owner, State: state, Reason: why, Source: "record",
		Registered: true, Role: r.Role, Project: r.Project, Parent: r.Parent, Depth: r.Depth, Run: r.Run, Task: r.Task,
		Account: r.Account, Desired: r.Desired, Failed: r.Failed, PromptState: r.PromptState, Exit: r.Exit}
}

// Agent is everything known about one agent.
func Agent(a fleet.Agent, r *fleet.Registration, p fleet.Pass, failures []fleet.Failure, t Teller) api.AgentDetail {
	story := Story(StoryOf{Subject: fleet.Subject{Kind: fleet.KindAgent, Name: a.Name}}, p, p.Assessment.Alerts, nil, t)
	row, a := agentRow(a, &p.Snapshot), p.Snapshot.Now(a)
	out := api.AgentDetail{At: p.Snapshot.At.Wall.UTC(), Agent: row, Signals: []api.AgentSignal{}, Tool: toolView(a.Tool),
		Dialog: dialogView(a.Dialog), Context: pointer(a.ContextPercent), Limited: Moment(a.RateLimitedUntil), Exit: exitView(a.Exit),
		TerminalStopped: a.TerminalStopped, Attach: []string{}, Orders: []api.Order{}, Alerts: story.Alerts, Planned: story.Planned, Skipped: story.Skipped, Failures: Failures(failures)}
	for _, sig := range a.Signals {
		out.Signals = append(out.Signals, api.AgentSignal{Source: sig.Source, Says: sig.Says, Hint: string(sig.Hint), Age: lasting(sig.Age)})
	}
	if a.Pane != nil && a.TerminalStopped == 0 { // who attaches to a stopped one waits in it, and may end it
		out.Attach = attachArgv(*a.Pane)
	}
	if r != nil {
		out.Record = recordView(*r)
	}
	for _, o := range p.Past.Orders {
		if o.Agent == a.Name && !o.IsOver() {
			out.Orders = append(out.Orders, Order(o, true))
		}
	}
	out.Next = agentHints(a, out)
	return out
}

func toolView(t *fleet.ToolCall) *api.AgentTool {
	if t == nil {
		return nil
	}
	return &api.AgentTool{Name: t.Name, Args: t.Args, For: lasting(fleet.Known(t.Age)), Deadline: lasting(fleet.Known(t.Deadline))}
}

func dialogView(d *fleet.Dialog) *api.AgentDialog {
	if d == nil {
		return nil
	}
	out := &api.AgentDialog{ID: d.ID, Says: d.Says, Question: d.Question, Tool: d.Tool, Args: d.Args, Hash: d.Hash, Choices: []api.AgentChoice{}}
	for _, c := range d.Choices {
		out.Choices = append(out.Choices, api.AgentChoice{Name: c.Name, Label: c.Label})
	}
	return out
}

func exitView(e *fleet.Exit) *api.AgentExit {
	if e == nil {
		return nil
	}
	return &api.AgentExit{Status: pointer(e.Status), Signal: pointer(e.Signal), OOM: e.OOM, At: e.At.Wall.UTC(),
		Source: e.Source, Asked: e.Asked, Words: exitWords(*e)}
}

// exitWords says how an instance ended.
func exitWords(e fleet.Exit) string {
	words := "ended, and nothing says how"
	if status, ok := e.Status.Get(); ok {
		words = "exit status " + strconv.Itoa(status)
	}
	if signal, ok := e.Signal.Get(); ok && signal != 0 {
		words = "killed by signal " + strconv.Itoa(signal)
	}
	return words + e.Besides()
}

func boundaryView(b *fleet.Boundary) *api.Boundary {
	if b == nil {
		return nil
	}
	return &api.Boundary{Name: b.Name, By: b.By, Landlock: b.Landlock, Open: b.Open, Never: b.Never}
}

func recordView(r fleet.Registration) *api.AgentRecord {
	out := &api.AgentRecord{Where: string(r.Where), Argv: fleet.RedactArgs(r.Argv), Env: append([]string{}, r.Env...), Dir: r.Dir,
		Repo: r.Repo, Worktree: r.Worktree, Branch: r.Branch, Spec: r.Spec, Files: append([]string{}, r.Files...),
		Restart: string(r.Restart), Kept: r.Kept(), Standing: r.Standing, MemoryMax: r.MemoryMax, DesiredBy: r.DesiredBy, DesiredAt: Moment(r.DesiredAt),
		CreatedAt: r.CreatedAt.Wall.UTC(), StartedAt: Moment(r.StartedAt), Instance: r.Instance, Session: r.SessionID,
		Prompt: fleet.Line(fleet.Redact(r.Prompt), 200), Delivery: string(r.PromptState)}
	if h := r.Heartbeat; h != nil {
		out.Heartbeat = "every " + h.Every.String() + ", and " + h.Grace.String() + " of grace"
	}
	out.Boundary = boundaryView(r.Boundary)
	if c := r.Checkpoint; c != nil {
		out.Checkpoint = &api.Checkpoint{At: c.At.Wall.UTC(), Head: c.Head, Ref: c.Ref, Session: c.SessionID,
			Prompt: fleet.Line(fleet.Redact(c.LastPrompt), 200), Files: append([]string{}, c.Files...)}
	}
	return out
}

func Failures(list []fleet.Failure) []api.Failure {
	out := make([]api.Failure, 0, len(list))
	for _, f := range list {
		out = append(out, api.Failure{ID: f.ID, At: f.At.Wall.UTC(), Agent: f.Agent, Role: f.Role, Project: f.Project, Run: f.Run, Task: f.Task,
			Instance: f.Instance, Reason: f.Reason, Tier: f.Tier, Verdict: f.Verdict, Tags: append([]string{}, f.Tags...)})
	}
	return out
}

// agentHints is what is worth typing about an agent.
func agentHints(a fleet.Agent, d api.AgentDetail) []api.Hint {
	out := []api.Hint{}
	add := func(when bool, what string, argv ...string) {
		if when {
			out = append(out, api.Hint{Command: api.Typed(argv...), What: what})
		}
	}
	alive := a.Process.PID != 0
	add(d.Dialog != nil && len(d.Dialog.Choices) > 0 && a.Owner.MayTouch(), "answer it", "custos", "answer", a.Name, firstChoice(d.Dialog))
	add(a.TerminalStopped != 0, "let its terminal server go on: until then it is neither seen nor reached", "kill", "-CONT", strconv.Itoa(a.TerminalStopped))
	add(len(d.Attach) > 0, "look at it", "custos", "attach", a.Name)
	add(!a.Registered && alive, "let Custos care for it", "custos", "adopt", a.Name)
	add(a.Registered && a.HasEnded() && a.Desired != fleet.DesiredRetired && a.FolderLost == "", "start it again where it was", "custos", "recover", a.Name)
	add(a.Desired == fleet.DesiredPaused, "let it go on", "custos", "resume", a.Name)
	add(true, "its story, and what Custos would do", "custos", "why", fleet.Subject{Kind: fleet.KindAgent, Name: a.Name}.String())
	return out
}

func firstChoice(d *api.AgentDialog) string {
	if d == nil || len(d.Choices) == 0 {
		return ""
	}
	return d.Choices[0].Name
}
