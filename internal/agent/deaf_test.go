package agent

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// An agent is deaf where it is known why, or where it made a whole turn in which no hook was called; one that has just
// begun, or whose conversation is not known, is not known to be.
func TestDeaf(t *testing.T) {
	event := func(name fleet.HookName, ago time.Duration) fleet.HookEvent {
		return fleet.HookEvent{Event: name, At: noon.Add(-ago)}
	}
	heard := func(events ...fleet.HookEvent) Reported { return Gather(events, "", noon, Deadlines{}) }
	wrote := func(answered time.Duration, events ...fleet.HookEvent) Reported {
		return GatherWritten(fleet.Conversation{Events: events, Answered: noon.Wall.Add(-answered)}, time.Time{}, noon, Deadlines{})
	}
	turn := wrote(3*time.Minute, event(fleet.HookPrompt, 4*time.Minute), event(fleet.HookStop, 3*time.Minute))
	const silent, unknown = "its conversation tells of a whole turn in which none of its hooks was called", "?"
	for name, c := range map[string]struct {
		s    Signals
		want string
	}{
		"it has no hooks of ours":                    {Signals{Written: turn}, ""},
		"it has just begun":                          {Signals{Hooked: true}, unknown},
		"its CLI ignores them":                       {Signals{Hooked: true, Deaf: "root does not own /run"}, "root does not own /run"},
		"they are heard all the same":                {Signals{Hooked: true, Deaf: "root does not own /run", Told: heard(event(fleet.HookSessionStart, 5*time.Minute))}, ""},
		"a whole turn in silence":                    {Signals{Hooked: true, Written: turn}, silent},
		"and the next one has begun":                 {Signals{Hooked: true, Written: wrote(3*time.Minute, event(fleet.HookPrompt, 4*time.Minute), event(fleet.HookStop, 3*time.Minute), event(fleet.HookPrompt, time.Minute))}, silent},
		"it began and told so, and was silent since": {Signals{Hooked: true, Written: turn, Told: heard(event(fleet.HookSessionStart, 6*time.Minute))}, silent},
		"its prompt was heard":                       {Signals{Hooked: true, Written: turn, Told: heard(event(fleet.HookPrompt, 4*time.Minute))}, ""},
		"a slow hook ran before its prompt":          {Signals{Hooked: true, Written: turn, Told: heard(event(fleet.HookPrompt, 4*time.Minute+30*time.Second))}, ""},
		"heard after that turn":                      {Signals{Hooked: true, Written: turn, Told: heard(event(fleet.HookStop, 2*time.Minute))}, ""},
		"a status line is no hook of a turn":         {Signals{Hooked: true, Written: turn, Told: heard(event(fleet.HookStatus, time.Minute))}, silent},
		"its turn goes on":                           {Signals{Hooked: true, Written: wrote(time.Minute, event(fleet.HookPrompt, 4*time.Minute))}, unknown},
		"its turn has just ended":                    {Signals{Hooked: true, Written: wrote(time.Second, event(fleet.HookPrompt, 4*time.Minute), event(fleet.HookStop, time.Second))}, unknown},
		"a command that its CLI answered itself":     {Signals{Hooked: true, Written: wrote(time.Hour, event(fleet.HookPrompt, 4*time.Minute), event(fleet.HookStop, 3*time.Minute))}, unknown},
		"so long ago that hooks may be forgotten":    {Signals{Hooked: true, Written: wrote(40*time.Hour, event(fleet.HookPrompt, 41*time.Hour), event(fleet.HookStop, 40*time.Hour))}, unknown},
		"what hooks told cannot be read":             {Signals{Hooked: true, Written: turn, Unheard: "it cannot be read what hooks told"}, unknown},
	} {
		c.s.Kind, c.s.Now = kindOf(t, "gemini"), noon
		why, known := Deaf(c.s).Get()
		if !known {
			why = unknown
		}
		if why != c.want {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
	if why, known := Deaf(Signals{Kind: kindOf(t, "generic"), Now: noon, Hooked: true, Written: turn}).Get(); !known || why != "" {
		t.Errorf("of a kind that has no hooks: %q, %v", why, known)
	}
}
