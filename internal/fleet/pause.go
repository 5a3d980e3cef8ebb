package fleet

import (
	"strings"
	"time"
)

// pauses is the rule of a silence that is a pause of a whole project: no rule has
// such a name, so that it silences nothing else.
const pauses = "@paused"

// PauseProject returns the record of a pause of a project, which lasts until it is
// resumed.
func PauseProject(project, by, why string, at Instant) Silence {
	const forGood = 100 * 365 * 24 * time.Hour
	return Silence{Rule: pauses, Subject: Subject{Kind: KindProject, Name: project}, By: by, Why: why, From: at, Until: at.Add(forGood)}
}

// ResumeProject returns the record that ends a pause of a project.
func ResumeProject(project, by string, at Instant) Silence {
	return Silence{Rule: pauses, Subject: Subject{Kind: KindProject, Name: project}, By: by, From: at, Until: at}
}

// PausedProjects returns the pauses among silences, by project.
func PausedProjects(silences []Silence) map[string]Silence {
	var out map[string]Silence
	for _, s := range silences {
		if s.Rule != pauses || s.Subject.Kind != KindProject {
			continue
		}
		if out == nil {
			out = map[string]Silence{}
		}
		out[s.Subject.Name] = s
	}
	return out
}

// Held returns alerts with those of paused projects silenced. Without any it
// returns the argument, which it never changes.
func Held(alerts []Alert, silences []Silence) []Alert {
	paused := PausedProjects(silences)
	if len(paused) == 0 {
		return alerts
	}
	out := append([]Alert(nil), alerts...)
	for i := range out {
		out[i].Hold(paused)
	}
	return out
}

// Hold silences the alert when its project is paused.
func (a *Alert) Hold(paused map[string]Silence) {
	if s, ok := paused[a.Project]; ok && a.Project != "" {
		a.SilencedUntil, a.SilencedBy = s.Until, s.By
	}
}

// Projects says of which project a subject is.
type Projects struct{ agents, runs, phases map[string]string }

// ProjectsOf reads them from what is seen and remembered.
func ProjectsOf(snap *Snapshot, past *Past) Projects {
	p := Projects{map[string]string{}, map[string]string{}, map[string]string{}}
	for i := range past.Registrations {
		p.agents[past.Registrations[i].Name] = past.Registrations[i].Project
	}
	for i := range past.Runs {
		p.runs[past.Runs[i].ID] = past.Runs[i].Project
	}
	for i := range snap.Phases.Value {
		p.phases[snap.Phases.Value[i].Path] = snap.Phases.Value[i].Project
	}
	return p
}

// Of returns the project of a subject; "" when it is of none, or that is not known.
func (p Projects) Of(s Subject) string {
	switch s.Kind {
	case KindProject:
		return s.Name
	case KindIssue:
		return before(s.Name, "#")
	case KindPull:
		return before(s.Name, "!")
	case KindPipeline: // SYSTEM/PROJECT#12
		_, rest, _ := strings.Cut(s.Name, "/")
		return before(rest, "#")
	case KindAgent:
		return p.agents[s.Name]
	case KindRun:
		return p.runs[s.Name]
	case KindPhase:
		return p.phases[s.Name]
	}
	return ""
}

func before(name, mark string) string {
	if i := strings.LastIndex(name, mark); i >= 0 {
		return name[:i]
	}
	return ""
}
