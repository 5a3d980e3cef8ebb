package doctor

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// judgeTools finds tools that began and never ended, though their agent went on:
// a hook that was lost, or a turn that was cut off.
func judgeTools(e *Examination) verdict {
	events, known := e.Events.Get()
	if !known {
		return cannot(e.Events.Why())
	}
	type call struct{ key, id string }
	begun, lost, who := map[call]string{}, map[string]int{}, []string{}
	drop := func(key string) {
		for c, agent := range begun {
			if c.key == key {
				lost[agent]++
				delete(begun, c)
			}
		}
	}
	for _, t := range events {
		switch c := (call{t.Key(), t.CallID}); {
		case c.key == "":
		case t.Event == fleet.HookToolBegin && c.id != "":
			begun[c] = t.Agent
		case t.Event == fleet.HookToolEnd:
			delete(begun, c)
		case t.Event == fleet.HookPrompt || t.Event == fleet.HookStop || t.Event == fleet.HookSessionEnd:
			drop(c.key)
		}
	}
	for agent, n := range lost {
		if agent == "" {
			agent = "agents without a name"
		}
		who = append(who, fmt.Sprintf("%s: %d", agent, n))
	}
	if len(who) > 0 {
		slices.Sort(who)
		return warn("tools that began and never ended in the last 24 h, by agent: %s", some(who)).by("custos feed")
	}
	return ok("every tool that agents told of in the last 24 h ended too")
}

// judgeLines finds logs of JSON of which lines cannot be read: a writer that was
// cut off, or two that write over each other.
func judgeLines(e *Examination) verdict {
	var list []verdict
	lines := 0
	for _, l := range e.Installation.Lines {
		lines += l.Read
		switch {
		case l.Err != "":
			list = append(list, cannot(l.Err))
		case l.Broken > 0:
			list = append(list, warn("%s: %d of its last %d lines are no JSON, the first of them %s", l.Path, l.Broken, l.Read, l.First).by("tail", "-n", "20", l.Path))
		}
	}
	if len(e.Installation.Lines) == 0 {
		return ok("no log of them is of JSON lines")
	}
	return worst(list, "the last %s of %s are whole", fleet.Counted(lines, "line"), fleet.Counted(len(e.Installation.Lines), "log"))
}
