//go:build conformance

package conformance

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestLab runs a person's own script beside the model, with a home in which the CLI has
// been settled, or has not: MODEL is the model's address, PROGRAM the CLI.
func TestLab(t *testing.T) {
	script := os.Getenv(labVar)
	if script == "" {
		t.Skip("no script was given")
	}
	for _, c := range wanted(t) {
		h := newHome(t, c, StartModel(t, 250*time.Millisecond))
		env := c.settle(t, h)
		cmd := exec.Command("bash", script, c.kind, c.version)
		cmd.Dir, cmd.Env = h.project, slices.Concat(h.env(), env, []string{"MODEL=" + h.model.URL, "PROGRAM=" + c.program()})
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
		for _, a := range h.model.Asked() {
			t.Logf("asked by %s: %.80q, %d turns, %d tools: %d", a.Protocol, a.Prompt(), len(a.Turns), len(a.Tools), a.Status)
		}
	}
}
