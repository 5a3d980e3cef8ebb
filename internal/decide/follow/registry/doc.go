// Package registry says what becomes of the agents on record in a pass: what people ordered
// and what was seen of them (Settle), whom other systems know of (Register), hand-offs
// (HandOff) and pools (Pools). What starts or ends an agent is an ordinary order, which
// the next pass answers.
package registry
