package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"custos/internal/config"
)

func priorities() []string { return []string{"P0", "P1", "P2", "P3", "P4"} }

func (a *app) failOnFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.failOn, "fail-on", "", "exit with 1 on an alert of this `PRIORITY` or worse: P0 to P4, or never (default: fail_on of custos.toml, which is never)")
}

// checkFailOn reads the flag before anything is asked, so that a slip of the
// keyboard is not found out after minutes.
func (a *app) checkFailOn() error {
	if a.failOn != "" && a.failOn != config.Never && !slices.Contains(priorities(), a.failOn) {
		return usage("cannot read --fail-on %q: want P0, P1, P2, P3, P4 or never", a.failOn)
	}
	if a.failOn != "" {
		return nil
	}
	c, err := a.config()
	a.failOn = c.FailOn
	return err
}

// alarm fails when one of the priorities is as bad as --fail-on or worse.
func (a *app) alarm(found []string) error {
	for _, p := range found {
		if a.failOn != config.Never && p <= a.failOn {
			return errAlarm
		}
	}
	return nil
}
