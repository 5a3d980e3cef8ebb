package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// Categories lists the groups of checks of custos doctor, in the order they are shown.
func Categories() []string {
	return []string{"dependencies", "structure", "config", "databases", "consistency", "agents", "logs", "locks", "sessions", "worktrees", "hooks",
		"formulas", "schedules", "forge", "merge-queue", "ci", "containers", "chat", "disk", "clock", "security", "service", "version"}
}

// ParseCategory reads the name of one.
func ParseCategory(s string) (string, error) {
	if all := Categories(); !slices.Contains(all, s) {
		return "", fmt.Errorf("%q is no category of custos doctor, want one of %s", Line(s, 60), strings.Join(all, ", "))
	}
	return s, nil
}
