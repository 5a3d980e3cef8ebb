package view

import (
	"custos/internal/api"
	"custos/internal/fleet"
)

// Hints knows what is worth proposing next.
type Hints struct {
	Daemon     bool // one is running
	Configured bool // there is a custos.toml
}

func (h Hints) afterLook(l api.FirstLook) []api.Hint {
	out := []api.Hint{}
	add := func(when bool, command, what string) {
		if when {
			out = append(out, api.Hint{Command: command, What: what})
		}
	}
	add(l.Frozen != "", "custos thaw", "let Custos act again")
	add(len(l.CouldDo) > 0, "custos plan", "the exact commands of what it could do")
	add(len(l.CouldDo) > 0 && l.Frozen == "", "custos patrol --apply", "do it: everything under COULD DO")
	add(len(l.NeedsYou)+len(l.Skipped) > 0, "custos why X", "the story of anything named above")
	add(!h.Configured, "custos init --layout bare", "say which repositories, locks and logs are yours")
	add(!h.Daemon, "custos up", "keep watching")
	add(h.Daemon && len(out) == 0, "custos journal", "what happened today")
	return out
}

func afterPatrol(r api.PatrolReport, p fleet.Policy) []api.Hint {
	out := []api.Hint{}
	switch {
	case p.Frozen != "":
		out = append(out, api.Hint{Command: "custos thaw", What: "let Custos act again"})
	case !r.Applied && refusedForWant(r.Skipped):
		out = append(out, api.Hint{Command: "custos patrol --apply", What: "do what waits for your word"})
	}
	if len(r.Alerts) > 0 {
		out = append(out, api.Hint{Command: "custos alerts", What: "what is wrong, with numbers to acknowledge"})
	}
	return out
}

// refusedForWant says whether something was refused only for want of an approval.
func refusedForWant(list []api.Refusal) bool {
	for _, r := range list {
		if r.Guard == string(fleet.GuardMode) || r.Guard == string(fleet.GuardApproval) {
			return true
		}
	}
	return false
}
