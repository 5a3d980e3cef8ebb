package view

import (
	"fmt"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// facts says what is seen of a thing now, one plain sentence each. A thing that
// is not seen says so, and whether that means that it is gone.
func facts(s *fleet.Snapshot, of fleet.Subject) []string {
	sight := s.Sight(fleet.PartOf(of.Kind))
	if of.Kind == fleet.KindPart {
		return partFacts(s, of.Name)
	}
	out := describe(s, of)
	if len(out) == 0 {
		if sight.Usable() && sight.Cut == "" {
			return []string{"It is not there now."}
		}
		if sight.Usable() {
			return []string{fmt.Sprintf("It is not known whether it is there: not all of %s is looked at (%s).", fleet.PartOf(of.Kind), sight.Cut)}
		}
		return []string{fmt.Sprintf("It is not known whether it is there: %s is %s (%s).", fleet.PartOf(of.Kind), sight.Status, sight.Why)}
	}
	if sight.Status == fleet.StatusStale {
		out = append(out, "This is an old reading: "+sight.Why+".")
	}
	return out
}

func partFacts(s *fleet.Snapshot, name string) []string {
	sight := s.Sight(fleet.PartName(name))
	if sight == nil {
		return []string{"There is no such part."}
	}
	out := []string{fmt.Sprintf("The part is %s.", sight.Status)}
	if sight.Why != "" {
		out = append(out, "Why: "+sight.Why+".")
	}
	if sight.Cut != "" {
		out = append(out, "Not looked at: "+sight.Cut+".")
	}
	if sight.Source != "" {
		out = append(out, "Looked at: "+sight.Source+".")
	}
	return out
}

// describe finds the thing and puts it into words.
func describe(s *fleet.Snapshot, of fleet.Subject) []string {
	switch of.Kind {
	case fleet.KindHost:
		return hostFacts(s)
	case fleet.KindMount:
		return found(s.Host.Value.Mounts, func(m fleet.Mount) string { return m.Path }, of.Name, func(m fleet.Mount) []string { return []string{mountLine(m)} })
	case fleet.KindSession:
		return found(s.Sessions.Value, fleet.Pane.Place, of.Name, paneFacts)
	case fleet.KindAgent:
		return found(s.Agents.Value, func(a fleet.Agent) string { return a.Name }, of.Name,
			func(a fleet.Agent) []string { return append(agentFacts(s.Now(a)), agentOverlaps(s, a)...) })
	case fleet.KindRepo:
		return found(s.Repos.Value.Repos, func(r fleet.Repo) string { return r.Path }, of.Name, func(r fleet.Repo) []string { return []string{repoLine(r)} })
	case fleet.KindWorktree:
		return found(s.Repos.Value.Worktrees, func(w fleet.Worktree) string { return w.Path }, of.Name, worktreeFacts)
	case fleet.KindLock:
		return found(s.Locks.Value, func(l fleet.Lock) string { return l.Path }, of.Name, func(l fleet.Lock) []string { return []string{lockLine(l), owner(l.Owner)} })
	case fleet.KindPhase:
		return found(s.Phases.Value, func(p fleet.Phase) string { return p.Path }, of.Name, func(p fleet.Phase) []string { return []string{phaseLine(p), owner(p.Owner)} })
	case fleet.KindLog:
		return found(s.Logs.Value, func(l fleet.Log) string { return l.Path }, of.Name, func(l fleet.Log) []string { return logLines([]fleet.Log{l}) })
	case fleet.KindExtra:
		return found(s.Extra.Value, func(e fleet.Extra) string { return e.Name }, of.Name, func(e fleet.Extra) []string { return extraLines([]fleet.Extra{e}) })
	case fleet.KindRun:
		return found(s.Runs.Value, func(r fleet.RunFacts) string { return r.ID }, of.Name, runFacts)
	case fleet.KindPlugin:
		return found(s.Self.Value.Plugins, func(p fleet.PluginFacts) string { return p.Name }, of.Name, pluginFacts)
	case fleet.KindReceiver:
		return found(s.Self.Value.Receivers, func(r fleet.Receiver) string { return r.Name }, of.Name, receiverFacts)
	case fleet.KindPeer:
		return found(s.Hub.Value.Peers, func(p fleet.Peer) string { return p.Name }, of.Name, peerFacts)
	case fleet.KindNode:
		return found(s.Hub.Value.Nodes, func(n fleet.HubNode) string { return n.Name }, of.Name, nodeFacts)
	case fleet.KindOrder:
		return found(s.Self.Value.Asked, func(o fleet.Asked) string { return o.ID }, of.Name, askedFacts)
	case fleet.KindOverlap:
		return found(s.Overlaps.Value, func(o fleet.Overlap) string { return o.Name }, of.Name, overlapFacts)
	case fleet.KindBudget:
		return found(s.Spending.Value.Budgets, func(b fleet.BudgetFacts) string { return b.Name }, of.Name, budgetFacts)
	case fleet.KindCode:
		return found(s.Self.Value.Code, func(c fleet.CodeFacts) string { return c.Dir }, of.Name, codeFacts)
	case fleet.KindVault:
		return found(s.Vaults.Value, func(v fleet.VaultItem) string { return v.Name }, of.Name, vaultFacts)
	case fleet.KindLandmark:
		return found(s.Self.Value.Landmarks, func(l fleet.Landmark) string { return l.Path }, of.Name, landmarkFacts)
	case fleet.KindSelf:
		return selfFacts(s)
	}
	return describeElsewhere(s, of)
}

func found[T any](list []T, name func(T) string, want string, say func(T) []string) []string {
	for _, v := range list {
		if name(v) == want {
			return say(v)
		}
	}
	return nil
}

func hostFacts(s *fleet.Snapshot) []string {
	if !s.Host.Usable() {
		return nil
	}
	return hostLines(s.Host.Value)
}

func paneFacts(p fleet.Pane) []string {
	out := []string{fmt.Sprintf("tmux pane %s of %s, running %s in %s", p.ID.Pane, p.ID.Socket, p.Command, p.CWD),
		"Last output: " + LeafSpan(p.Activity) + " ago"}
	if p.Dead {
		out = append(out, "Its program has ended, exit status "+leafInt(p.ExitStatus))
	}
	return out
}

func agentFacts(a fleet.Agent) []string {
	out := []string{agentWords(a)}
	if a.Process.PID != 0 {
		out = append(out, agentLife(a)...)
	}
	out = append(out, owner(a.Owner))
	if IsLost(a) {
		out = append(out, "A shim of Custos has started it, as instance "+a.Instance+".")
	}
	if a.Pane != nil {
		out = append(out, "pane "+a.Pane.Name()+", "+lookers(a.Attached)+" looking")
	}
	out = append(out, recordFacts(a)...)
	for _, sig := range a.Signals {
		if sig.Source == fleet.SourceOutput {
			continue
		}
		line := fmt.Sprintf("%s says: %s", sig.Source, sig.Says)
		if sig.Hint != "" {
			line += fmt.Sprintf(" → %s", sig.Hint)
		}
		out = append(out, line)
	}
	return out
}

// runFacts says how a run of a formula stands, and each step of it that is a command.
func runFacts(r fleet.RunFacts) []string {
	out := []string{fmt.Sprintf("run of formula %s, %s, begun %s ago", r.Formula, r.State, LeafSpan(fleet.Known(r.Age)))}
	say := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(r.Why != "", "Why: %s", r.Why)
	say(r.Waits != "", "These steps wait for a person: %s", r.Waits)
	say(r.Agent != "", "Its prose is for agent %s", r.Agent)
	say(r.Kept != "", "A worktree of it is kept: %s", r.Kept)
	if p, _ := r.Phase.Get(); p.Word != "" {
		say(true, "Its agent wrote phase %s%s", p.Word, after(": ", p.Reason))
	}
	for _, s := range r.Steps {
		say(s.State != fleet.ProcNone, "step %s, attempt %d: %s%s%s", s.Step, s.Attempt, s.State, after(", ", s.Why), after("; it prints to ", s.Output))
	}
	return out
}

// after is a text behind what leads to it; nothing when there is none.
func after(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

func lookers(n int) string {
	if n == 0 {
		return "no person"
	}
	return fleet.Counted(n, "person")
}

// agentLife says how the process of an agent does.
func agentLife(a fleet.Agent) []string {
	return []string{
		fmt.Sprintf("pid %d, %s old, in %s", a.Process.PID, LeafSpan(a.Age), leafText(a.CWD)),
		fmt.Sprintf("CPU %s, memory %s, progress %s, last sign of life %s ago", leafPercent(a.CPU), leafSize(a.RSS), a.Progress, LeafSpan(a.Quiet)),
	}
}

// onScreen is what the terminal of a thing shows, or what it has printed: not all who may know of
// the thing may see that.
func onScreen(s *fleet.Snapshot, of fleet.Subject) []string {
	if of.Kind != fleet.KindAgent {
		return nil
	}
	return found(s.Agents.Value, func(a fleet.Agent) string { return a.Name }, of.Name, func(a fleet.Agent) (out []string) {
		if d := a.Dialog; d != nil {
			out = append(out, fmt.Sprintf("It shows a dialog (%s): %s", d.Says, fleet.Line(d.Question, 200)))
		}
		for _, sig := range a.Signals {
			if sig.Source == fleet.SourceOutput {
				out = append(out, fmt.Sprintf("%s says: %s", sig.Source, sig.Says))
			}
		}
		return out
	})
}

// recordFacts says what the ledger knows of an agent, and what is unusual about it.
func recordFacts(a fleet.Agent) (out []string) {
	say := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(a.Registered, "registered%s, wanted %s, restarted %s", work(a), a.Desired, a.Restart)
	say(a.Failed != "", "It is not started again by itself: %s", a.Failed)
	if a.Exit != nil {
		say(true, "Its newest instance: %s (source: %s)", exitWords(*a.Exit), a.Exit.Source)
	}
	say(a.Deaf.Or("") != "", "Nothing is heard of its hooks: %s", a.Deaf.Or(""))
	say(a.Conflict != "", "Record and observation disagree: %s", a.Conflict)
	say(a.Cycles > 0, "unresponsive in %s in a row", fleet.Counted(a.Cycles, "patrol"))
	say(a.PromptState != "" && a.PromptState != fleet.DeliveryAcknowledged, "Its first prompt is %s.", a.PromptState)
	if t := a.Tool; t != nil {
		say(true, "in the tool %s for %s, which may take %s", t.Name, LeafSpan(fleet.Known(t.Age)), LeafSpan(fleet.Known(t.Deadline)))
	}
	if used, ok := a.ContextPercent.Get(); ok {
		say(true, "context used: %.0f %%", used)
	}
	say(!a.RateLimitedUntil.IsZero(), "limited until %s UTC", a.RateLimitedUntil.Wall.UTC().Format("2006-01-02 15:04"))
	say(a.LeftSays != "", "Instances of it that have ended left running: %s.", a.LeftSays)
	say(a.Orphan, "An orphan: nothing that is alive started it, and it has no terminal.")
	return out
}

// work is what a registered agent is for.
func work(a fleet.Agent) string {
	var out string
	for _, w := range []struct{ word, value string }{{"role", a.Role}, {"project", a.Project}, {"task", a.Task}, {"run", a.Run},
		{"account", a.Account}, {"parent", a.Parent}} {
		if w.value != "" {
			out += ", " + w.word + " " + w.value
		}
	}
	return out
}

func worktreeFacts(w fleet.Worktree) []string {
	out := []string{
		worktreeLine(w),
		fmt.Sprintf("branch %s of %s", branchText(w.Branch), w.Repo),
		fmt.Sprintf("changed files %s, untracked %s, unpushed commits %s, stashes %s", leafInt(w.Dirty), leafInt(w.Untracked), leafInt(w.Unpushed), leafInt(w.Stashed)),
		"precious ignored files: " + known(w.Precious, listed),
		"processes inside: " + known(w.Occupied, func(pids []int) string { return listed(Each(pids, func(p int) string { return fmt.Sprint(p) })) }),
		owner(w.Owner),
	}
	for _, b := range w.Bulk.Or(nil) {
		out = append(out, fmt.Sprintf("%s of %s in %s", api.Size(b.Bytes), b.What, b.Path))
	}
	return out
}

func listed(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func owner(o fleet.Owner) string {
	switch o {
	case fleet.OwnerCustos:
		return "Custos started it."
	case fleet.OwnerAdopted:
		return "It was handed over to Custos."
	case fleet.OwnerConfigured:
		return "custos.toml names it: Custos may mend it."
	case fleet.OwnerUnknown:
		return "Whose it is is not known: what was known of it is lost. Custos only looks at it."
	}
	return "It is not ours: Custos only looks at it."
}
