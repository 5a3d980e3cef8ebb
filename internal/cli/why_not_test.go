package cli

import (
	"bytes"
	"strings"
	"testing"

	"custos/internal/api"
)

// What waits for a person's word is held back, and why not and plan say what gives it.
func TestWhyNotTellsOfAnApproval(t *testing.T) {
	held := &api.Refusal{Do: "remove-lock", Subject: "lock//l", Guard: "approval", Why: "a person must approve", Hint: "custos approve 1"}
	planned := []api.Deed{{Do: "remove-lock", Subject: "lock//l", Held: held}}
	for what, write := range map[string]func(*page){
		"why not": func(p *page) { writeWhyNot(p, api.Story{Subject: "lock//l", Planned: planned}) },
		"plan":    func(p *page) { writePlan(p, api.Plan{Actions: planned}) },
	} {
		var out bytes.Buffer
		p := &page{out: &out, width: 120}
		write(p)
		if err := p.flush(); err != nil || !strings.Contains(out.String(), "approval: a person must approve\n      → custos approve 1\n") || strings.Contains(out.String(), "Nothing is held back") {
			t.Errorf("%s: %v\n%s", what, err, out.String())
		}
	}
}
