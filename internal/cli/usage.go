package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// sayUsage has every command that is given too much or too little say how it is
// used, with an example. One with commands of its own names the unknown one.
func sayUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		sayUsage(sub)
	}
	check := c.Args
	if check == nil || c.HasSubCommands() {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if check(c, args) == nil {
			return nil
		}
		given := "without an argument"
		if len(args) > 0 {
			given = fmt.Sprintf("%q", strings.Join(args, " "))
		}
		example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
		if example == "" {
			example = "custos help " + strings.TrimPrefix(c.CommandPath(), "custos ")
		}
		return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot %s %s: usage: %s", c.Name(), given, c.UseLine()), Hint: example}
	}
}

// asksJSON says whether --json is among the arguments.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}
