// Package decide is the third stage of the cycle: it turns findings into a plan.
// In go a policy, a snapshot, what the snapshot means and what is remembered;
// out comes what to do now, and what is deliberately left undone with the guard
// that refused it, why, and until when. It is pure: the same inputs give the
// same bytes, nothing is read but the arguments, and none of them is changed.
//
// A wish of a firing finding becomes an action only when every guard lets it
// pass. The guards are asked in the order of guards(); docs/guards.md explains
// each. Findings are taken in the order they come in (worst first), so that
// what is scarce (the budget, the blast radius, a rule's limit) goes to the worst.
package decide
