package server

import (
	"fmt"

	"custos/internal/fleet"
)

func judgeForge(e *Examination) verdict {
	forge := e.Pass.Snapshot.Forge
	if v := part(forge.Sight, "no [forge.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range forge.Value.Projects {
		if !p.Primary.IsKnown() {
			list = append(list, cannot(fmt.Sprintf("%s at %s: %s", p.Name, p.URL, p.Primary.Why())).by("custos", "why", "project/"+p.Name))
		}
	}
	return worst(list, "%s, all answered", fleet.Counted(len(forge.Value.Projects), "project"))
}

func judgeCI(e *Examination) verdict {
	ci := e.Pass.Snapshot.CI
	if v := part(ci.Sight, "no [ci.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	blind := map[string]bool{}
	for _, p := range ci.Value.Pipelines {
		if !p.State.IsKnown() && !blind[p.System] {
			blind[p.System] = true
			list = append(list, cannot(p.System+": "+p.State.Why()).by("custos", "why", "pipeline/"+p.Name))
		}
	}
	return worst(list, "%s known", fleet.Counted(len(ci.Value.Pipelines), "pipeline"))
}

func judgeEngine(e *Examination) verdict {
	engine := e.Pass.Snapshot.Engine
	if v := part(engine.Sight, "no container engine is here"); v.state != "" {
		return v
	}
	var list []verdict
	for _, c := range engine.Value.Containers {
		if !c.State.IsKnown() {
			list = append(list, cannot(c.Name+": "+c.State.Why()))
		}
	}
	return worst(list, "%s answers, %s", engine.Value.Address, fleet.Counted(len(engine.Value.Containers), "container"))
}
