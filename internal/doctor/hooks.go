package doctor

import (
	"strings"
)

func judgeHooks(e *Examination) verdict {
	var list []verdict
	var installed []string
	for _, h := range e.Installation.Hooks {
		if h.Err != "" {
			list = append(list, cannot("the settings of "+h.Kind+" cannot be read: "+h.Err))
		}
		if len(h.Events) > 0 {
			installed = append(installed, h.Kind+" in "+h.File)
		}
	}
	if len(installed) == 0 {
		return worst(list, "in no settings: agents that Custos starts get theirs on the command line")
	}
	return worst(list, "%s", strings.Join(installed, "; "))
}

// Wrong is what is wrong with hooks of ours that stand in the settings; "" when
// nothing is, or when there are none.
func (h HookFacts) Wrong() string {
	switch {
	case len(h.Events) == 0:
		return ""
	case h.Hook == "":
		return "custos-hook is not there"
	case len(h.Missing) > 0:
		return "it lacks " + strings.Join(h.Missing, ", ")
	case h.Command != "" && !strings.Contains(h.Command, h.Hook):
		return "it calls another custos-hook: " + h.Command
	}
	return ""
}

// judgeUndone judges whether uninstall would leave the settings as they were.
func judgeUndone(e *Examination) verdict {
	var list []verdict
	for _, h := range e.Installation.Hooks {
		switch {
		case h.Err != "":
			list = append(list, cannot("the settings of "+h.Kind+" cannot be read: "+h.Err))
		case !h.Kept:
		case len(h.Events) == 0:
			list = append(list, warn("%s has none of our hooks, and what install kept still lies beside it", h.File).by("diff", h.File+".before-custos", h.File))
		case !h.Exact:
			list = append(list, warn("%s was changed since install: uninstall takes out our lines and leaves the change", h.File).by("diff", h.File+".before-custos", h.File))
		}
	}
	return worst(list, "uninstall would leave every settings file as it was")
}
