package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leaves are the commands that do something themselves.
func leaves(c *cobra.Command) (out []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.Name() == "completion" || sub.Name() == "help" { // cobra's own
			continue
		}
		out = append(out, leaves(sub)...)
	}
	if len(c.Commands()) == 0 || strings.HasPrefix(c.Name(), "orders") {
		out = append(out, c)
	}
	return out
}

// typedWrong runs a command line that goes no further than its own check.
func typedWrong(args ...string) (code int, said string) {
	var out bytes.Buffer
	code = Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &out, Getenv: func(string) string { return "" }})
	return code, out.String()
}

// TestEveryCommandIsForPeople walks all commands: each shows how it is used by an
// example, names the nearest flag with its own help for one that it has not, and
// refuses an argument with nothing in it.
func TestEveryCommandIsForPeople(t *testing.T) {
	all := leaves(testRoot())
	if len(all) < 90 {
		t.Fatalf("%d commands", len(all))
	}
	for _, c := range all {
		words := strings.Fields(c.CommandPath())[1:]
		if !strings.Contains(commandHelp(c), "Examples:\n  custos "+strings.Join(words, " ")) && !strings.Contains(c.Example, "custos "+strings.Join(words, " ")) {
			t.Errorf("%s: its help has no example of it", c.CommandPath())
		}
		for _, empty := range []string{"", " "} {
			code, said := typedWrong(append(words, empty)...)
			if code != exitUse || !strings.Contains(said, "an argument is empty") || !strings.Contains(said, "try: custos help "+strings.Join(words, " ")) {
				t.Errorf("%s %q ended with %d: %s", c.CommandPath(), empty, code, said)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if len(f.Name) < 4 || f.Name == "help" {
				return
			}
			slip := "--" + f.Name[:2] + f.Name[3:]
			code, said := typedWrong(append(words, slip)...)
			if code != exitUse || !strings.Contains(said, "unknown flag: "+slip) || !strings.Contains(said, "did you mean \"--") || !strings.Contains(said, "try: custos help "+strings.Join(words, " ")) {
				t.Errorf("%s %s ended with %d: %s", c.CommandPath(), slip, code, said)
			}
		})
	}
}
