package decide

import "custos/internal/fleet"

// guard is one reason not to act.
type guard struct {
	name fleet.Guard
	ask  func(*pass, *request) *refusal
	// sparesMessages: an action that touches nothing of anyone's (a message) is
	// not asked. A frozen, spent or observe-only fleet must still be able to say so.
	sparesMessages bool
}

// refusal is why a guard says no. The words change only when the reason does
// (no countdowns, no ages): a refusal that lasts is journalled once.
type refusal struct {
	why   string        // plain words, with the numbers
	until fleet.Instant // zero: until something changes
	hint  string        // the command a person can type
	// What it means for an order; without either it is queued.
	final bool // it will never be lawful
	done  bool // what was ordered is so already
}

// guards returns the guards in the order they are asked: the order of the
// constants in fleet, then the rule's own limit.
func guards() []guard {
	return []guard{
		{fleet.GuardInFlight, askInFlight, false},
		{fleet.GuardFrozen, askFrozen, true},
		{fleet.GuardMode, askMode, true},
		{fleet.GuardForeign, askForeign, true},
		{fleet.GuardPaused, askPaused, false},
		{fleet.GuardPerson, askPerson, false},
		{fleet.GuardEvidence, askEvidence, false},
		{fleet.GuardAlive, askAlive, true},
		{fleet.GuardState, askState, true},
		{fleet.GuardGrace, askGrace, true},
		{fleet.GuardCause, askCause, false},
		{fleet.GuardCannot, askCannot, false},
		{fleet.GuardCooldown, askCooldown, false},
		{fleet.GuardAttempts, askAttempts, false},
		{fleet.GuardVerdict, askVerdict, true},
		{fleet.GuardGate, askGate, true},
		{fleet.GuardBudget, askBudget, true},
		{fleet.GuardBlast, askBlast, true},
		{fleet.GuardApproval, askApproval, true},
		{fleet.GuardLimit, askLimit, false},
	}
}
