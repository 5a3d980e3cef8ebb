package doctor

import (
	"strings"

	"custos/internal/fleet"
)

// judgeService judges the units of systemd that start the daemon. That there is none is well: somebody
// else may start it.
func judgeService(e *Examination) verdict {
	if why := e.Installation.Services.Err; why != "" {
		return cannot(why)
	}
	var well []string
	list := each(e.Installation.Services.Units, func(s Service) verdict {
		well = append(well, s.Unit)
		return s.judge()
	})
	if len(well) == 0 {
		return ok("no unit of systemd starts it: custos service install writes one")
	}
	return worst(list, "%s, which is as it should be", strings.Join(well, ", "))
}

func (s Service) judge() verdict {
	switch {
	case s.Err != "":
		return cannot(s.Unit + ": " + s.Err)
	case len(s.Broken) > 0:
		return bad("%s: %s", s.Unit, some(s.Broken)).by("custos service status")
	case len(s.Drift) > 0:
		return warn("%s: %s", s.Unit, some(s.Drift)).by("custos service status")
	case !s.Enabled:
		return warn("%s does not begin by itself", s.Unit).by("custos service install")
	case s.Active != "active":
		return bad("%s does not run: systemd says %s", s.Unit, fleet.Line(s.Active, 60)).by("custos service status")
	case s.Lingers == "no":
		return warn("%s ends when %s has logged out", s.Unit, s.User).by("loginctl", "enable-linger", s.User)
	case s.Lingers == "unknown":
		return cannot("whether "+s.Unit+" runs on when "+s.User+" has logged out is not known").by("loginctl", "enable-linger", s.User)
	}
	return verdict{}
}
