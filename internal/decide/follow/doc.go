// Package follow says what follows from records by itself in a pass, as the last part of
// its plan: each folder beneath it moves one noun. In goes a pass that was judged and
// decided, out comes its plan with the rows that change, and with a move in words for
// each, made of those very rows. It is pure; what is lawful is ledger's to say.
package follow
