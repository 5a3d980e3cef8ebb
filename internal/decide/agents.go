package decide

import "custos/internal/fleet"

// knownAgents is what is known of the agents, by name: what is wanted of each, how it
// was seen, and what was begun on it.
type knownAgents struct {
	registered map[string]*fleet.Registration
	seen       map[string]*fleet.Agent
	accounts   map[string][]*fleet.Agent // seen agents that share a rate limit
	starting   []started                 // starts that are under way or planned
	probing    map[string]fleet.Action   // account: what is under way or planned on it
	ended      []*fleet.ActionRecord     // real starts and nudges that are over
	running    int                       // agents of ours that live
}

// started is a start that has no result yet.
type started struct {
	action  fleet.Action
	at      fleet.Instant
	planned bool // in this very pass: it is not begun
}

// doing says how far a start is that another one waits for.
func (s started) doing() string {
	if s.planned {
		return " goes first"
	}
	return " is under way"
}

// indexAgents indexes the agents. Without a registration and an order there is
// nothing to ask about them, and the index stays empty.
func indexAgents(past *fleet.Past, snap *fleet.Snapshot) knownAgents {
	c := knownAgents{registered: map[string]*fleet.Registration{}, seen: map[string]*fleet.Agent{},
		accounts: map[string][]*fleet.Agent{}, probing: map[string]fleet.Action{}}
	if len(past.Registrations) == 0 && len(past.Orders) == 0 {
		return c
	}
	for i := range past.Registrations {
		c.registered[past.Registrations[i].Name] = &past.Registrations[i]
	}
	if !snap.Agents.Usable() {
		return c
	}
	for i := range snap.Agents.Value {
		c.see(&snap.Agents.Value[i])
	}
	return c
}

func (c *knownAgents) see(a *fleet.Agent) {
	c.seen[a.Name] = a
	if a.Owner == fleet.OwnerCustos && a.Process.PID != 0 {
		c.running++
	}
	if account := accountOf(c.registered[a.Name], a); account != "" {
		c.accounts[account] = append(c.accounts[account], a)
	}
}

// begun notes an action that is under way, or planned in this pass.
func (c *knownAgents) begun(a fleet.Action, at fleet.Instant, planned bool) {
	if starts(a.Do) {
		c.starting = append(c.starting, started{a, at, planned})
	}
	if starts(a.Do) || a.Do == doNudge {
		if account := c.account(a); account != "" {
			c.probing[account] = a
		}
	}
}

// account returns whose rate limit an action on an agent is under.
func (c *knownAgents) account(a fleet.Action) string {
	if a.Target.Registration != nil {
		return a.Target.Registration.Account
	}
	return accountOf(c.registered[a.Subject.Name], a.Target.Agent)
}

func accountOf(reg *fleet.Registration, a *fleet.Agent) string {
	if reg != nil && reg.Account != "" {
		return reg.Account
	}
	if a != nil {
		return a.Account
	}
	return ""
}

// lifted returns when a person last lifted the limit of an account; zero for never.
func (c *knownAgents) lifted(account string) (last fleet.Instant) {
	for _, r := range c.registered {
		if r.Account == account && (last.IsZero() || last.Before(r.LimitLifted)) {
			last = r.LimitLifted
		}
	}
	return last
}

// exitOf returns how the newest instance of an agent ended, or nil.
func exitOf(reg *fleet.Registration, a *fleet.Agent) *fleet.Exit {
	if a != nil && a.Exit != nil {
		return a.Exit
	}
	if reg != nil {
		return reg.Exit
	}
	return nil
}

// isAlive says whether the agent itself runs.
func isAlive(a *fleet.Agent) bool { return a != nil && a.Process.PID != 0 && !a.HasEnded() }
