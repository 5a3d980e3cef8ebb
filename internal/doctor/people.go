package doctor

import (
	"strings"

	"custos/internal/fleet"
)

func judgeChat(e *Examination) verdict {
	if len(e.Installation.People) == 0 {
		return warn("nobody is told: custos.toml has no [notifier.NAME]")
	}
	for _, p := range e.Installation.Secrets {
		if strings.HasPrefix(p.What, "[notifier.") && p.Is == "" && p.Err == "" {
			return bad("%s cannot tell anybody: its token file %s is not there", p.What, p.Path)
		}
	}
	return ok("%s", strings.Join(e.Installation.People, ", "))
}

func judgeVersion(e *Examination) verdict {
	switch {
	case e.Installation.Mute:
		return bad("a daemon runs, and does not answer").by("custos status")
	case e.Installation.Untold != "":
		return cannot(e.Installation.Untold)
	case !e.Daemon:
		return ok("%s; no daemon runs", e.Version)
	case e.Asker == "":
		return cannot("who asks did not say its version; the daemon's is " + e.Version)
	case e.Asker != e.Version:
		return warn("the daemon is %s, and this program %s", e.Version, fleet.Line(e.Asker, 60)).by("custos down && custos up")
	}
	return ok("%s, the daemon's too", e.Version)
}

// judgeReach asks of each chat whether it answers, and knows Custos.
func judgeReach(e *Examination) verdict {
	var list []verdict
	var known []string
	for _, c := range e.Installation.Chats {
		switch {
		case c.Refused:
			list = append(list, bad("[notifier.%s] is refused: %s", c.Name, c.Err))
		case c.Err != "":
			list = append(list, cannot("[notifier."+c.Name+"]: "+c.Err))
		default:
			known = append(known, c.Name+" as "+c.Me)
		}
	}
	if len(e.Installation.Chats) == 0 {
		return ok("there is none that could be asked")
	}
	return worst(list, "it answers: %s", strings.Join(known, ", "))
}

// judgeBuilt compares what the programs that belong together were built from.
func judgeBuilt(e *Examination) verdict {
	var list []verdict
	for _, p := range e.Installation.Programs {
		switch {
		case p.Path == "" || !strings.HasPrefix(p.Name, "custos-"): // dependencies tells of it
		case p.Built == "" || e.Installation.Built == "":
			list = append(list, cannot("what "+p.Name+" was built from cannot be told"))
		case p.Built != e.Installation.Built:
			list = append(list, warn("%s was built from %s, and custos from %s", p.Path, p.Built, e.Installation.Built).by("make build"))
		}
	}
	return worst(list, "built from %s, all of them", e.Installation.Built)
}
