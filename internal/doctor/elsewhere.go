package doctor

import (
	"fmt"

	"custos/internal/fleet"
)

func judgeForge(e *Examination) verdict {
	forge := e.Pass.Snapshot.Forge.Value
	var list []verdict
	for _, p := range forge.Projects {
		if !p.Primary.IsKnown() {
			list = append(list, cannot(fmt.Sprintf("%s at %s: %s", p.Name, p.URL, p.Primary.Why())).by("custos", "why", "project/"+p.Name))
		}
	}
	return worst(list, "%s, all answered", fleet.Counted(len(forge.Projects), "project"))
}

func judgeCI(e *Examination) verdict {
	ci := e.Pass.Snapshot.CI.Value
	var list []verdict
	blind := map[string]bool{}
	for _, p := range ci.Pipelines {
		if !p.State.IsKnown() && !blind[p.System] {
			blind[p.System] = true
			list = append(list, cannot(p.System+": "+p.State.Why()).by("custos", "why", "pipeline/"+p.Name))
		}
	}
	return worst(list, "%s known", fleet.Counted(len(ci.Pipelines), "pipeline"))
}

func judgeEngine(e *Examination) verdict {
	engine := e.Pass.Snapshot.Engine.Value
	var list []verdict
	for _, c := range engine.Containers {
		if !c.State.IsKnown() {
			list = append(list, cannot(c.Name+": "+c.State.Why()))
		}
	}
	return worst(list, "%s answers, %s", engine.Address, fleet.Counted(len(engine.Containers), "container"))
}
