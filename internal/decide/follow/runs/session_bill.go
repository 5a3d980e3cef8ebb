package runs

import "custos/internal/fleet"

// bill takes what the run's agent told of its cost. Each instance tells its own,
// from nothing; what those before it cost stays. It is asked after the end of a
// run too: a last bill comes with an agent's last words.
func (a *advance) bill(r *fleet.Run) {
	if r.Session == nil {
		return
	}
	agent, s := a.agents[r.Session.Agent], r.Session
	if agent == nil || agent.Run != r.ID || agent.Instance == "" {
		return
	}
	cost, priced := agent.Cost.Get()
	tokens, counted := agent.Tokens.Get()
	if !priced && !counted {
		return
	}
	if s.Billed != agent.Instance {
		s.Billed, s.CostBefore, s.TokensBefore = agent.Instance, r.MicroUSD, r.Tokens
	}
	r.MicroUSD = max(r.MicroUSD, s.CostBefore+cost)
	r.Tokens = max(r.Tokens, s.TokensBefore+tokens)
}
