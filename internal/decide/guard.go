package decide

import "custos/internal/fleet"

// guard is one reason not to act.
type guard struct {
	name fleet.Guard
	ask  func(*pass, *request) *refusal
	// sparesMessages: an action that touches nothing of anyone's (a message) is
	// not asked. A frozen, spent or observe-only fleet must still be able to say so.
	sparesMessages bool
	// ofPass: it counts what this very pass does, of what every other guard let pass.
	ofPass bool
}

// refusal is why a guard says no. The words change only when the reason does
// (no countdowns, no ages): a refusal that lasts is journalled once.
type refusal struct {
	why   string        // plain words, with the numbers
	until fleet.Instant // zero: until something changes
	hint  string        // the command a person can type
	also  []string      // what else holds, by guard: of a hold that ends at a known moment
	fails bool          // the agent's recoveries are used up
	// What it means for an order; without either it is queued.
	final bool // it will never be lawful
	done  bool // what was ordered is so already
}

// guards returns the guards in the order they are asked: the order of the
// constants in fleet, then the rule's own limit.
func guards() []guard {
	return []guard{
		{fleet.GuardInFlight, askInFlight, false, false},
		{fleet.GuardFrozen, askFrozen, true, false},
		{fleet.GuardMode, askMode, true, false},
		{fleet.GuardForeign, askForeign, true, false},
		{fleet.GuardPaused, askPaused, false, false},
		{fleet.GuardPerson, askPerson, false, false},
		{fleet.GuardEvidence, askEvidence, false, false},
		{fleet.GuardAlive, askAlive, true, false},
		{fleet.GuardState, askState, true, false},
		{fleet.GuardGrace, askGrace, true, false},
		{fleet.GuardCause, askCause, false, false},
		{fleet.GuardCannot, askCannot, false, false},
		{fleet.GuardCooldown, askCooldown, false, false},
		{fleet.GuardAttempts, askAttempts, false, false},
		{fleet.GuardVerdict, askVerdict, true, false},
		{fleet.GuardGate, askGate, true, false},
		{fleet.GuardSpend, askSpend, false, false},
		{fleet.GuardBudget, askBudget, true, false},
		{fleet.GuardLease, askLease, false, false},
		{fleet.GuardBlast, askBlast, true, true},
		{fleet.GuardApproval, askApproval, true, false},
		{fleet.GuardLimit, askLimit, false, true},
	}
}
