// Package crew says what becomes of the agents on record in a pass: what people ordered
// and what was seen of them (Settle), whom other systems tell of (Enlist), hand-offs
// (Relieve) and pools (Staff). What starts or ends an agent is an ordinary order, which
// the next pass answers.
package crew
