package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"custos/internal/api"
)

// homeData is the first page: all of it of one look.
type homeData struct {
	Look   api.FirstLook
	Hosts  []api.HostLook // other machines
	Unseen string         // why the agents are not known
	Needs  []need
	States []stateCount
	Beyond string // whose agents are not counted
}

// need is one thing that waits for a person, and where to go on.
type need struct {
	api.Need
	Step string // what to do
	To   string // where
}

// stateCount is how many of the rows shown are in a state.
type stateCount struct {
	State string
	Count int
}

func (s *site) home(ctx context.Context, r *http.Request) (page, error) {
	look, err := s.api.FirstLook(ctx)
	if err != nil {
		return page{}, err
	}
	others, now := s.others(r, false), s.Now()
	look.NeedsYou, look.Agents = withNeeds(look.NeedsYou, others, now), withAgents(look.Agents, others, now)
	d := homeData{Hosts: others, Look: look, Needs: needs(look.NeedsYou), States: states(look.Agents), Beyond: api.Beyond(others)}
	if i := slices.IndexFunc(look.Seen, func(p api.PartSeen) bool { return p.Part == "agents" }); i >= 0 {
		d.Unseen = unseen(look.Seen[i])
	}
	p := page{Name: "home", Title: "What needs you", At: look.At, Banners: hostBanners(others, now), Data: d}
	for _, part := range look.Seen {
		if part.Status == "unknown" || part.Status == "stale" || part.Status == "pending" {
			p.Banners = append(p.Banners, banner{"note", fmt.Sprintf("Not seen as it is now: %s (%s): %s", part.Part, part.Status, part.Why)})
		}
	}
	return p, nil
}

func needs(list []api.Need) []need {
	out := make([]need, 0, len(list))
	for _, n := range list {
		step, to := nextStep(n)
		out = append(out, need{n, step, to})
	}
	return out
}

// nextStep is the one thing to do about a need. What the page cannot do is the command.
func nextStep(n api.Need) (step, to string) {
	agent, isAgent := strings.CutPrefix(n.Subject, "agent/")
	switch {
	case n.Number > 0 && isCommand(n, "approve"):
		return "Look at it, and approve", hostPath(n.Host) + alertPath(n.Number)
	case isAgent && isCommand(n, "answer"):
		return "Answer " + agent, hostPath(n.Host) + agentPath(agent)
	case n.Number > 0:
		return "Look at it", hostPath(n.Host) + alertPath(n.Number)
	case isAgent:
		return "Go to " + agent, hostPath(n.Host) + agentPath(agent)
	}
	return "", ""
}

// isCommand says whether the command of a need is this one of Custos, on whichever machine.
func isCommand(n api.Need, name string) bool {
	flags := ""
	if n.Host != "" {
		flags = "--host " + n.Host + " "
	}
	return strings.HasPrefix(n.Command, "custos "+flags+name)
}

// Partial says whether not all that needs a person is known.
func (d homeData) Partial() bool { return d.Unseen != "" || isPartial(d.Hosts) }

// states counts rows by their state, in the order of the API; unknown is a state of its own
// and is always there.
func states(rows []api.AgentRow) []stateCount {
	count := map[string]int{}
	for _, r := range rows {
		count[r.State]++
	}
	var out []stateCount
	for _, state := range api.AgentStates() {
		if count[state] > 0 || state == "unknown" {
			out = append(out, stateCount{state, count[state]})
		}
		delete(count, state)
	}
	for _, state := range slices.Sorted(maps.Keys(count)) { // of a daemon that knows more states
		out = append(out, stateCount{state, count[state]})
	}
	return out
}
