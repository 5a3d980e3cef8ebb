package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each command that takes the name of something there is has names for the shell.
func TestNamesAreCompleted(t *testing.T) {
	free := []string{"convoy create", "doctor", "explain", "freeze", "gate add", "help", "journal", "mail archive", "mail read", "mail reply", "mail send",
		"runbook", "schema", "simulate", "spawn", "tell", "trigger", "trust", "web revoke", "work add"} // what is made up, a file, or cheap to type
	named := regexp.MustCompile(`[A-Z]{2}`)
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" {
			return // cobra's own
		}
		path := strings.TrimPrefix(c.CommandPath(), "custos ")
		takes := named.MatchString(strings.TrimPrefix(c.Use, c.Name()))
		if (c.ValidArgsFunction != nil) != (takes && !slices.Contains(free, path)) && !c.HasSubCommands() {
			t.Errorf("custos %s (%s) has names for the shell: %v", path, c.Use, c.ValidArgsFunction != nil)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(testRoot())
	for name, plain := range map[string]bool{"builder": true, "lock//tmp/a.lock": true, "$(reboot)": false, "a b": false, "`x`": false, "a;b": false, "": false, "日本": false} {
		if plainName.MatchString(name) != plain {
			t.Errorf("a shell is given %q: %v", name, !plain)
		}
	}
	for path := range completions() {
		if c, _, err := testRoot().Find(strings.Fields(path)); err != nil || c.CommandPath() != "custos "+path {
			t.Errorf("there is no custos %s", path)
		}
	}
}
