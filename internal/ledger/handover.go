package ledger

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"custos/internal/fleet"
)

// FreshPrompt is the first prompt of the one that takes over.
func FreshPrompt(r fleet.Registration) string {
	var b strings.Builder
	b.WriteString("You take the place of an agent whose context was nearly full. You begin afresh, in the same folder and with the same task. " +
		"What it had not committed is there as it left it: look at git status first.")
	for _, part := range []struct{ says, what string }{{"Your task", r.Task}, {"It is described in", r.Spec}} {
		if part.what != "" {
			fmt.Fprintf(&b, " %s: %s.", part.says, fleet.Line(part.what, 400))
		}
	}
	b.WriteString(" This is what it handed over to you:\n\n" + r.Handoff.Text)
	return b.String()
}

// HandOver returns r with what its agent hands over. It is kept whatever becomes of
// it; a later one takes its place until the work is being backed up.
func HandOver(r fleet.Registration, text, by string, at fleet.Instant) (fleet.Registration, error) {
	fail := func(format string, args ...any) (fleet.Registration, error) {
		return r, fmt.Errorf("cannot take the hand-off of %s: %w: %s", shown(r.Name), ErrIllegal, fmt.Sprintf(format, args...))
	}
	h := r.Handoff
	switch {
	case strings.TrimSpace(text) == "":
		return fail("it is empty")
	case len(text) > fleet.LongestHandoff || !utf8.ValidString(text):
		return fail("it is longer than %d KiB, or no text", fleet.LongestHandoff>>10)
	case by == "":
		return fail("nobody gives it")
	case r.Instance == "" || r.Exit != nil:
		return fail("it does not run")
	case h != nil && h.Instance == r.Instance && slices.Contains([]fleet.HandoffStage{fleet.HandoffSaving, fleet.HandoffStopping, fleet.HandoffStarting}, h.Stage):
		return fail("it was taken already, and is carried out: it is %s", h.Stage)
	}
	r.Handoff = &fleet.Handoff{Instance: r.Instance, Stage: fleet.HandoffWritten, Since: at, Text: text, By: by}
	return r, nil
}
