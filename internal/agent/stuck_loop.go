package agent

import "custos/internal/fleet"

// loopAfter is how many equal tool calls in a row make a loop. A command that is
// asked again until something is done (a build, a CI run) is often equal four or
// five times.
const loopAfter = 10

// Loop is the same tool with the same arguments, again and again. The zero Loop
// is none.
type Loop struct {
	Tool  string
	Args  string
	Times int
	Since fleet.Instant // of the first of them
}

// call is a tool call of the current turn.
type call struct {
	key, tool, args string
	at              fleet.Instant
	ended           bool
}

func (c call) same(other call) bool { return c.tool == other.tool && c.args == other.args }

// loopOf finds the loop that the newest calls of a turn make. Only calls whose
// end was told count, so that a lost event is not taken for a repetition; and
// only calls whose arguments are known, for without them all calls are equal.
func loopOf(calls []call) Loop {
	var newest call
	loop := Loop{}
	for i := len(calls) - 1; i >= 0; i-- {
		c := calls[i]
		switch {
		case !c.ended && loop.Times == 0:
			continue // still runs
		case c.args == "" || loop.Times > 0 && (!c.ended || !c.same(newest)):
			return loop.enough()
		case loop.Times == 0:
			newest = c
		}
		loop = Loop{Tool: c.tool, Args: c.args, Times: loop.Times + 1, Since: c.at}
	}
	return loop.enough()
}

func (l Loop) enough() Loop {
	if l.Times < loopAfter {
		return Loop{}
	}
	return l
}
