package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// FirstLook is the state of the machine and its agents, and what could be done.
func FirstLook(p fleet.Pass, t Teller, h Hints) api.FirstLook {
	s := &p.Snapshot
	could, skipped := couldDo(p)
	out := api.FirstLook{
		At: s.At.Wall.UTC(), From: fromView(s.From), Mode: string(p.Policy.Mode), Frozen: p.Policy.Frozen,
		Host: hostView(s), Seen: seen(s),
		NeedsYou:   needs(p, could, skipped),
		Agents:     agentRows(s),
		Worktrees:  staleWorktrees(s, p.Assessment),
		CannotTell: doubts(p.Assessment.Blind),
		CouldDo:    make([]api.Deed, 0, len(could)),
		Skipped:    make([]api.Refusal, 0, len(skipped)),
	}
	for _, a := range p.Assessment.Alerts {
		switch {
		case a.Status == fleet.AlertPending:
			out.Pending++
		case a.Status == fleet.AlertFiring && a.Priority == fleet.P4:
			out.Housekeeping++
		}
	}
	for _, a := range could {
		out.CouldDo = append(out.CouldDo, Deed(a, t))
	}
	for _, k := range skipped {
		out.Skipped = append(out.Skipped, Refusal(k))
	}
	out.Next = append(Adoptions(s), h.afterLook(out)...)
	return out
}

// couldDo parts what a person's word would set going from what it would not.
// Messages are left out: to notify people is no repair.
func couldDo(p fleet.Pass) (could []fleet.Action, skipped []fleet.Skipped) {
	message := func(do string) bool { return p.Policy.Abilities[do].Harmless }
	for _, a := range p.Plan.Actions {
		if !message(a.Do) {
			could = append(could, a)
		}
	}
	for _, k := range p.Plan.Skipped {
		switch {
		case message(k.Do):
		case onlyAWord(k, p.Policy):
			could = append(could, k.Action)
		default:
			skipped = append(skipped, k)
		}
	}
	return could, skipped
}

// onlyAWord says whether nothing but a person's word is missing. Where the
// guards were asked as if it had been given, none of them refuses for want of it.
func onlyAWord(k fleet.Skipped, p fleet.Policy) bool {
	if p.ApprovedBy != "" || !k.Target.Owner().MayTouch() {
		return false
	}
	return k.Guard == fleet.GuardMode || k.Guard == fleet.GuardApproval
}

// needs lists what a person should look at: firing alerts that no person has taken
// up, that no other alert explains, and that are no mere housekeeping.
func needs(p fleet.Pass, could []fleet.Action, skipped []fleet.Skipped) []api.Need {
	at := p.Snapshot.At
	firing, _ := ByStatus(p.Assessment.Alerts)
	out := []api.Need{}
	for _, a := range SortedAlerts(firing) {
		taken := a.AckedBy != "" || SilencedUntil(a, at) != nil
		if taken || a.Priority == fleet.P4 || explained(a, firing) {
			continue
		}
		out = append(out, api.Need{
			Number: a.Number, ID: AlertID(a), Priority: string(a.Priority), Rule: a.Rule, Subject: a.Subject.String(),
			Summary: a.Summary, Since: a.Since.Wall.UTC(), For: Since(at, a.Since),
			Command: needCommand(a, p, could, skipped), Runbook: a.Runbook,
		})
	}
	out = append(out, waiting(p)...)
	slices.SortStableFunc(out, func(a, b api.Need) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

// waiting lists the agents that wait for a person, from the first second on: the
// delay of a rule is for notifying people, not for those who look. An agent of which
// an alert is firing already, taken up or not, is not listed twice.
func waiting(p fleet.Pass) []api.Need {
	if !p.Snapshot.Agents.Usable() {
		return nil
	}
	alerted := map[string]bool{}
	firing, _ := ByStatus(p.Assessment.Alerts)
	for _, a := range firing {
		alerted[a.Subject.Name] = alerted[a.Subject.Name] || a.Subject.Kind == fleet.KindAgent
	}
	var out []api.Need
	for _, seen := range p.Snapshot.Agents.Value {
		a := p.Snapshot.Now(seen)
		what := map[fleet.AgentState]string{fleet.StateWaiting: "waits for a person", fleet.StateDialog: "stands at a start-up dialog", fleet.StateAuthLost: "has lost its login"}[a.State]
		if what == "" || alerted[a.Name] {
			continue
		}
		if a.Reason != "" {
			what += ": " + a.Reason
		}
		d, _ := a.Dwell.Get()
		of := fleet.Subject{Kind: fleet.KindAgent, Name: a.Name}
		out = append(out, api.Need{Priority: string(fleet.P2), Subject: of.String(), Summary: a.Name + " " + what,
			Since: p.Snapshot.At.Wall.UTC().Add(-time.Duration(d)), For: lasting(a.Dwell),
			Command: needCommand(fleet.Alert{AlertKey: fleet.AlertKey{Subject: of}}, p, nil, nil)})
	}
	slices.SortStableFunc(out, func(a, b api.Need) int { return a.Since.Compare(b.Since) })
	return out
}

func explained(a fleet.Alert, firing []fleet.Alert) bool {
	return slices.ContainsFunc(firing, func(other fleet.Alert) bool { return slices.Contains(a.CausedBy, other.AlertKey) })
}

// needCommand is what a person should type: let Custos mend it, go and look at
// the agent, lift what holds Custos back, or read the story.
func needCommand(a fleet.Alert, p fleet.Pass, could []fleet.Action, skipped []fleet.Skipped) string {
	if slices.ContainsFunc(could, func(c fleet.Action) bool { return c.For == a.AlertKey }) {
		return "custos patrol --apply"
	}
	if asks := ByName(&p.Snapshot)[a.Subject.Name]; a.Subject.Kind == fleet.KindAgent && asks != nil && asks.Dialog != nil && asks.Owner.MayTouch() {
		return api.Typed("custos", "show", asks.Name) // the question, and how to answer it
	}
	if attach := attachCommand(a.Subject, p.Snapshot.Agents); attach != "" {
		return attach
	}
	for _, k := range skipped {
		if k.For == a.AlertKey && p.Policy.Abilities[k.Do].Singly {
			break // its story shows what would be done, and how to say so
		}
		if k.For == a.AlertKey && k.Hint != "" {
			return k.Hint
		}
	}
	if a.Subject.Kind == fleet.KindOrder {
		return api.Typed("custos", "orders", "show", a.Subject.Name)
	}
	return api.Typed("custos", "why", a.Subject.String())
}

// attachCommand shows the pane of an agent, from inside a tmux too; "" when it has
// none.
func attachCommand(s fleet.Subject, agents fleet.Part[[]fleet.Agent]) string {
	if s.Kind != fleet.KindAgent || !agents.Usable() {
		return ""
	}
	for _, a := range agents.Value {
		if a.Name == s.Name && a.Pane != nil {
			return api.Typed("custos", "attach", a.Name)
		}
	}
	return ""
}

// attachArgv is the command that shows a pane.
func attachArgv(p fleet.Pane) []string {
	argv := []string{"tmux"}
	if !strings.HasSuffix(p.ID.Socket, "/default") {
		argv = append(argv, "-S", p.ID.Socket)
	}
	// "=" asks for the exact name: a bare one matches by prefix.
	return append(argv, "attach", "-t", "="+p.Name())
}

func agentRows(s *fleet.Snapshot) []api.AgentRow {
	out := []api.AgentRow{}
	if !s.Agents.Usable() {
		return out
	}
	for _, a := range s.Agents.Value {
		out = append(out, agentRow(a, s))
	}
	slices.SortStableFunc(out, func(a, b api.AgentRow) int {
		return cmp.Or(
			cmp.Compare(api.Attention(a.State), api.Attention(b.State)),
			cmp.Compare(a.Name, b.Name))
	})
	return out
}

// agentRow is an agent as it is now: what was seen at the last look has lasted
// longer since.
func agentRow(a fleet.Agent, s *fleet.Snapshot) api.AgentRow {
	a = s.Now(a)
	row := api.AgentRow{
		Name: a.Name, Kind: a.Kind, Version: a.Version, Outgrown: a.Outgrown, State: string(a.State), Since: lasting(a.Dwell), Reason: a.Reason, Source: a.Source,
		Owner: string(a.Owner), Instance: a.Identity(), PID: a.Process.PID, CWD: a.CWD.Or(""), OneShot: a.OneShot,
		CPU: pointer(a.CPU), RSS: pointer(a.RSS), People: a.Attached,
	}
	row.Model, row.Context, row.ContextUsed, row.Tokens = a.Model, pointer(a.ContextPercent), pointer(a.ContextUsed), pointer(a.Tokens)
	if micro, ok := a.Cost.Get(); ok {
		usd := Dollars(micro)
		row.Dollars = &usd
	}
	row.Registered, row.Role, row.Project, row.Task, row.Run = a.Registered, a.Role, a.Project, a.Task, a.Run
	row.Parent, row.Depth, row.Account, row.Desired = a.Parent, a.Depth, a.Account, string(a.Desired)
	row.Failed, row.Conflict, row.Delivery, row.Left = a.Failed, a.Conflict, string(a.PromptState), a.LeftSays
	row.Deaf, row.Policy, row.PolicyGap = a.Deaf.Or(""), a.Policy, a.PolicyGap
	if a.Tampered != "" {
		row.PolicyGap = "changed since it was started: " + a.Tampered
	}
	if a.Exit != nil {
		row.Ended = exitWords(*a.Exit)
	}
	if a.Pane != nil {
		row.Pane, row.Socket = a.Pane.Name(), a.Pane.ID.Socket
	}
	return row
}

// staleWorktrees lists the worktrees a rule has something against, or may have,
// the biggest first: what is stale is for the rules to say.
func staleWorktrees(s *fleet.Snapshot, found fleet.Assessment) []api.Worktree {
	out := []api.Worktree{}
	if !s.Repos.Usable() {
		return out
	}
	named := map[string]bool{}
	name := func(of fleet.Subject) { named[of.Name] = named[of.Name] || of.Kind == fleet.KindWorktree }
	for _, f := range found.Findings {
		name(f.Subject)
	}
	for _, c := range found.Blind {
		name(c.Subject)
	}
	for _, w := range s.Repos.Value.Worktrees {
		if named[w.Path] {
			out = append(out, worktreeView(w))
		}
	}
	slices.SortStableFunc(out, func(a, b api.Worktree) int {
		return cmp.Or(cmp.Compare(bytesOf(b), bytesOf(a)), cmp.Compare(a.Path, b.Path))
	})
	return out
}

func bytesOf(w api.Worktree) int64 {
	if w.Bytes == nil {
		return -1
	}
	return *w.Bytes
}

func worktreeView(w fleet.Worktree) api.Worktree {
	out := api.Worktree{
		Path: w.Path, Repo: w.Repo, Branch: w.Branch.Or(""), Owner: string(w.Owner), Age: lasting(w.Age),
		Bytes: pointer(w.Bytes), Fills: []api.Fill{}, Merged: pointer(w.Merged), MergedBy: w.MergedBy,
		Removable: pointer(w.Removable), WhyNot: []string{}, Missing: w.Missing, Crashed: w.Crashed,
	}
	for _, b := range w.Bulk.Or(nil) {
		out.Fills = append(out.Fills, api.Fill{Path: b.Path, Bytes: b.Bytes, What: b.What})
	}
	if out.WhyNot = append(out.WhyNot, w.Obstacles...); len(out.WhyNot) == 0 && !w.Removable.IsKnown() {
		out.WhyNot = append(out.WhyNot, w.Removable.Why())
	}
	return out
}
