package decide

import "custos/internal/fleet"

// lostInReboot says whether the request is to start an agent again that ran when
// the machine was started again. Whichever rule asks for it, it is held to what
// is wanted after a reboot.
func lostInReboot(r *request) bool {
	if r.wish.Do != doRecover {
		return false
	}
	exit := exitOf(r.reg, r.wish.Target.Agent)
	return exit != nil && exit.Rebooted()
}

// afterReboot returns how far Custos may go with such an agent.
func (p *pass) afterReboot() fleet.Mode {
	if p.policy.Agents.AfterReboot == "" {
		return fleet.ModeAsk
	}
	return plain(p.policy.Agents.AfterReboot)
}

func hintRecover(r *request) string { return "custos recover " + word(r.wish.Subject.Name) }

// askReboot starts the agents that a reboot ended one at a time, and the next
// when the one before was seen to work: all at once they would fall on the
// machine, the logins and the registries together. A person need not wait for
// one that did not work.
func (p *pass) askReboot(r *request) *refusal {
	if !lostInReboot(r) {
		return nil
	}
	const when = "after the machine was started again"
	for _, other := range p.known.starting {
		if other.action.Do == doRecover && isRebooted(&other.action) {
			return &refusal{why: when + " the agents are started one at a time, and " + other.action.Subject.String() + other.doing()}
		}
	}
	if r.byPerson() {
		return nil
	}
	return p.askHelped(p.latest(p.recoveredAfterReboot()), when)
}

// recoveredAfterReboot lists the recoveries of such agents that ended.
func (p *pass) recoveredAfterReboot() (list []*fleet.ActionRecord) {
	for _, e := range p.known.ended {
		if e.Do == doRecover && isRebooted(&e.Action) {
			list = append(list, e)
		}
	}
	return list
}

// isRebooted says whether an action is on an agent that a reboot had ended.
func isRebooted(a *fleet.Action) bool {
	exit := exitOf(a.Target.Registration, a.Target.Agent)
	return exit != nil && exit.Rebooted()
}
