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
	free := []string{"convoy create", "group create", "doctor", "explain", "freeze", "gate add", "journal", "mail send", "policy explain", "policy test",
		"hub invite", "hub revoke", "join", "schema", "simulate", "spawn", "tell", "trigger", "trust", "work add"} // what is made up, a file, or cheap to type
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
	for _, flag := range []string{"spawn --kind", "explain --kind", "web link --agent", "work add --agent"} {
		path, name, _ := strings.Cut(flag, " --")
		c, _, err := testRoot().Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.GetFlagCompletionFunc(name); !ok {
			t.Errorf("custos %s has no names for the shell", flag)
		}
	}
	for path, want := range map[string]string{"runbook": "locks", "help": "states.md"} {
		if _, out, said := runDocs(t, "__complete", path, want[:3]); !slices.Contains(strings.Fields(out), want) {
			t.Errorf("custos %s %s: %q %s", path, want[:3], out, said)
		}
	}
	if _, out, _ := runDocs(t, "__complete", "help", ""); strings.Contains(out, "__") || !strings.Contains(out, "ack\n") {
		t.Errorf("custos help takes what is hidden: %q", out)
	}
	for path := range completions() {
		if c, _, err := testRoot().Find(strings.Fields(path)); err != nil || c.CommandPath() != "custos "+path {
			t.Errorf("there is no custos %s", path)
		}
	}
}
