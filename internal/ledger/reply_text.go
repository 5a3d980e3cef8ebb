package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// What an answer may hold.
const (
	mostLines  = 15  // of one list
	longestRow = 300 // runes
)

// Acted is the answer to a reply that was acted on; NotActed to one that was not.
func Acted(r Reply, what string) string { return "Acted on your reply: " + r.String() + ": " + what }

// NotActed says why a reply was not acted on.
func NotActed(r Reply, why string) string {
	return "Not acted on your reply: " + r.String() + ": " + why
}

// StatusAnswer tells how things are: how far Custos may go, what fires, and how
// many agents are in which state. host is the host in one line.
func StatusAnswer(snap fleet.Snapshot, past fleet.Past, policy fleet.Policy, host string) string {
	lines := []string{"mode " + string(policy.Mode)}
	if policy.Frozen != "" {
		lines[0] += ", frozen by " + fleet.Line(policy.Frozen, 120)
	}
	lines = append(lines, agentsLine(snap), alertsLine(past))
	if host != "" {
		lines = append(lines, host)
	}
	return strings.Join(lines, "\n")
}

func agentsLine(snap fleet.Snapshot) string {
	if !snap.Agents.Usable() {
		return "agents: not seen: " + fleet.Line(snap.Agents.Why, 120)
	}
	n := map[fleet.AgentState]int{}
	for _, a := range snap.Agents.Value {
		n[a.State]++
	}
	var parts []string
	for state, k := range n {
		parts = append(parts, fmt.Sprintf("%d %s", k, state))
	}
	slices.Sort(parts)
	out := fmt.Sprintf("agents: %d", len(snap.Agents.Value))
	if len(parts) > 0 {
		out += " (" + strings.Join(parts, ", ") + ")"
	}
	return out + seenLast(snap)
}

func seenLast(snap fleet.Snapshot) string {
	if snap.Agents.Fresh() {
		return ""
	}
	return ", as they were seen last"
}

func alertsLine(past fleet.Past) string {
	if past.Blind != "" || past.Amnesia {
		return "alerts: they cannot be told now"
	}
	n := map[fleet.Priority]int{}
	for _, a := range past.Alerts {
		if a.Status == fleet.AlertFiring {
			n[a.Priority]++
		}
	}
	var parts []string
	for _, p := range []fleet.Priority{fleet.P0, fleet.P1, fleet.P2, fleet.P3, fleet.P4} {
		if n[p] > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n[p], p))
		}
	}
	if len(parts) == 0 {
		return "alerts: none fires"
	}
	return "alerts: " + strings.Join(parts, ", ")
}

// StuckAnswer tells what does not go on: the alerts of P2 and worse, and the
// agents that wait, are stuck, or are not seen.
func StuckAnswer(snap fleet.Snapshot, past fleet.Past) string {
	var lines []string
	if past.Blind != "" || past.Amnesia {
		lines = append(lines, "which alerts fire cannot be told now")
	}
	lines = append(lines, stuckAlerts(snap.At, past.Alerts)...)
	lines = append(lines, stuckAgents(snap)...)
	if len(lines) == 0 {
		return "Nothing is stuck: no alert of P2 or worse fires, and no agent waits."
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("… and %d more: custos alerts", more))
	}
	return strings.Join(lines, "\n")
}

func stuckAlerts(at fleet.Instant, all []fleet.Alert) (lines []string) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b fleet.Alert) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Number, b.Number))
	})
	for _, a := range all {
		if a.Status != fleet.AlertFiring || !a.Priority.AtLeast(fleet.P2) {
			continue
		}
		line := fmt.Sprintf("#%d [%s] %s", a.Number, a.Priority, a.Summary)
		line += fmt.Sprintf(" (%s, for %s", a.Rule, fleet.Duration(at.Since(a.Since).Round(time.Minute)).Short())
		if a.AckedBy != "" {
			line += ", taken up by " + a.AckedBy
		}
		if a.Blind != "" {
			line += ", not seen now"
		}
		lines = append(lines, fleet.Redact(fleet.Line(line+")", longestRow)))
	}
	return lines
}

func stuckAgents(snap fleet.Snapshot) (lines []string) {
	if !snap.Agents.Usable() {
		return []string{"agents are not seen: " + fleet.Line(snap.Agents.Why, 120)}
	}
	for _, a := range snap.Agents.Value {
		switch a.State {
		case fleet.StateWorking, fleet.StateIdle, fleet.StateStarting, fleet.StateFinished, fleet.StateStopped:
			continue
		}
		line := fmt.Sprintf("agent %s: %s", a.Name, a.State)
		if d, ok := snap.Now(a).Dwell.Get(); ok {
			line += " for " + fleet.Duration(time.Duration(d).Round(time.Second)).Short()
		}
		if a.Reason != "" {
			line += ": " + a.Reason
		}
		if a.Dialog != nil && a.Dialog.Question != "" {
			line += ": " + a.Dialog.Question
		}
		lines = append(lines, fleet.Redact(fleet.Line(line, longestRow)))
	}
	return lines
}
