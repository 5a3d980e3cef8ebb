package agent

import (
	"time"

	"custos/internal/fleet"
)

// statusEvery is how often a status line may report what changes all the time.
const statusEvery = 30 * time.Second

// StatusNews says whether what a status line was given is worth writing down after what
// was last written down of it: CLIs call it several times a second while they work. What
// people act upon (model, limit, a per cent of the context) is news at once, the rest in time.
func StatusNews(last, now fleet.HookEvent) bool {
	if last.Status == nil || now.Status == nil || now.At.Since(last.At) >= statusEvery {
		return true
	}
	was, is := last.Context.Or(-1), now.Context.Or(-1)
	return int(was) != int(is) || last.Text != now.Text || last.Until != now.Until || last.Session != now.Session ||
		last.Status.Model != now.Status.Model || last.Status.Window.Or(-1) != now.Status.Window.Or(-1)
}
