package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// A moment that is waited for is told to the second where it is near, and with what else
// holds; the plan says that the daemon waits for it.
func TestWhatWaitsForAMoment(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	near, far := at.Add(42*time.Second), at.Add(42*time.Minute)
	held := api.Refusal{Do: "recover", Subject: "agent/a", Guard: "grace", Why: "it was just started", Until: &near, Also: []string{"gate: it is left for 3s"}}
	later := held
	later.Until = &far
	for want, write := range map[string]func(*page){
		"by itself not before 09:00:42: grace: it was just started, and 1 more": func(p *page) {
			writePlan(p, api.Plan{At: at, Actions: []api.Deed{{Do: "recover", Subject: "agent/a", Held: &held}}})
		},
		"grace: it was just started, until 09:00:42\n      and gate: it is left for 3s\n": func(p *page) {
			writeStory(p, api.Story{At: at, Subject: "agent/a", Skipped: []api.Refusal{held}})
		},
		"grace: it was just started, until 09:42\n": func(p *page) {
			writePlan(p, api.Plan{At: at, Skipped: []api.Refusal{later}})
		},
		"until 09:00:42, and 1 more: it was just started": func(p *page) {
			writePending(p, api.Agents{At: at, Pending: []api.Pending{{Agent: "a", What: "recover", State: "held back", Why: held.Why, Until: &near, Also: held.Also}}})
		},
	} {
		var out bytes.Buffer
		p := &page{out: &out, width: 120}
		write(p)
		if err := p.flush(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not told in\n%s", want, out.String())
		}
	}
}
