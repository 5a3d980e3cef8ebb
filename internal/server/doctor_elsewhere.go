package server

import (
	"fmt"
	"time"

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

func judgeWorkers(e *Examination) verdict {
	ci := e.Pass.Snapshot.CI
	if v := part(ci.Sight, "no [ci.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	for _, w := range ci.Value.Workers {
		switch well, known := w.Healthy.Get(); {
		case !known:
			list = append(list, cannot(w.Name+": "+w.Healthy.Why()))
		case !well:
			list = append(list, bad("%s: %s", w.Name, w.Why).by("custos", "why", "worker/"+w.Name).
				healed("ci-worker-unhealthy", fleet.Subject{Kind: fleet.KindWorker, Name: w.Name}))
		}
	}
	return worst(list, "%s, all well", fleet.Counted(len(ci.Value.Workers), "worker"))
}

func judgeEngine(e *Examination) verdict {
	engine := e.Pass.Snapshot.Engine
	if v := part(engine.Sight, "no container engine is here"); v.state != "" {
		return v
	}
	var list []verdict
	for _, c := range engine.Value.Containers {
		switch state, known := c.State.Get(); {
		case !known:
			list = append(list, cannot(c.Name+": "+c.State.Why()))
		case c.Wanted && state != "running":
			list = append(list, bad("%s is to run, and is %s", c.Name, state).by("custos", "why", "container/"+c.Name).
				healed("container-down", fleet.Subject{Kind: fleet.KindContainer, Name: c.Name}))
		}
	}
	return worst(list, "%s answers, %s", engine.Value.Address, fleet.Counted(len(engine.Value.Containers), "container"))
}

// queueLate is how long what is ready may wait to be merged, as the seed has it.
const queueLate = 24 * time.Hour

// judgeQueue finds pull requests that are ready and that nobody sees through.
func judgeQueue(e *Examination) verdict {
	forge := e.Pass.Snapshot.Forge
	if v := part(forge.Sight, "no [forge.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range forge.Value.Pulls {
		if p.Agent == "" && !p.Draft {
			list = append(list, waits(p))
		}
	}
	return worst(list, "%s open, none of them ready for more than a day and nobody's", fleet.Counted(len(forge.Value.Pulls), "pull request"))
}

// waits judges one that nobody works on.
func waits(p fleet.PullRequest) verdict {
	age, aged := p.Age.Get()
	checks, checked := p.Checks.Get()
	review, reviewed := p.Review.Get()
	conflict, tried := p.Conflict.Get()
	switch why := "custos why pr/" + p.Name; {
	case aged && time.Duration(age) <= queueLate, checked && (checks == "failure" || checks == "pending"), review == "changes requested", conflict: // it is young, or not ready
		return verdict{}
	case !aged || !checked || !reviewed || !tried:
		return cannot(p.Name + ": whether it waits cannot be told").by(why)
	case checks != "success" && review != "approved":
		return verdict{}
	default:
		return warn("%s is ready (checks %s, review %s), open for %s, and nobody works on it", p.Name, checks, review, leafSpan(p.Age)).by(why)
	}
}
