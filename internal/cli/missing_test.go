package cli

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"custos/internal/api"
)

// cobrasOwn are words of the library that no person is to read.
var cobrasOwn = []string{"required flag", "arg(s)", "in the group"}

// TestEveryCommandSaysWhatIsMissing gives each command no argument, and far too many:
// what it refuses is told in our words, with its usage and an example; a flag that it
// cannot go on without is told by its name.
func TestEveryCommandSaysWhatIsMissing(t *testing.T) {
	needed := 0
	for _, c := range leaves(testRoot()) {
		for _, n := range []int{0, 1, 9} {
			err := c.Args(c, slices.Repeat([]string{"x"}, n))
			if err != nil {
				refusedInOurWords(t, c, err)
			}
			for _, flag := range mandatory(c) {
				needed++
				if err == nil || !strings.Contains(err.Error(), "--"+flag.Name) {
					t.Errorf("%s with %d arguments and without --%s: %v", c.CommandPath(), n, flag.Name, err)
				}
			}
		}
	}
	if needed == 0 {
		t.Error("no command needs a flag")
	}
}

func refusedInOurWords(t *testing.T, c *cobra.Command, err error) {
	var said *api.Error
	if !errors.As(err, &said) || said.Kind != api.BadInput || said.Hint == "" {
		t.Errorf("%s is refused without help: %v", c.CommandPath(), err)
		return
	}
	for _, own := range cobrasOwn {
		if strings.Contains(said.Message, own) {
			t.Errorf("%s is refused in the library's words: %s", c.CommandPath(), said.Message)
		}
	}
	if c.Example != "" && !c.HasSubCommands() && !strings.Contains(said.Message, "; for example: custos ") {
		t.Errorf("%s is refused without an example: %s", c.CommandPath(), said.Message)
	}
}

func mandatory(c *cobra.Command) (out []*pflag.Flag) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 {
			out = append(out, f)
		}
	})
	return out
}

// TestWhatIsMissingIsTold: as a person reads it.
func TestWhatIsMissingIsTold(t *testing.T) {
	for line, want := range map[string]string{
		"gate close g1":           "custos: cannot run custos gate close: --why is missing: usage: custos gate close GATE --why REASON; for example: custos gate close g1 --why 'read and approved'\ntry: custos help gate close\n",
		"gate close":              "custos: cannot run custos gate close: it needs more to go on, and --why is missing: usage: custos gate close GATE --why REASON; for example: custos gate close g1 --why 'read and approved'\ntry: custos help gate close\n",
		"work dep w2":             "custos: cannot run custos work dep: --needs is missing: usage: custos work dep REF --needs REF; for example: custos work dep w2 --needs shop#12\ntry: custos help work dep\n",
		"work list --all --ready": "custos: cannot run custos work list: --all and --ready do not go together: take one of --all, --ready, --blocked\ntry: custos help work list\n",
		"why not":                 "custos: cannot say why not: name what it is about: custos why not NAME\ntry: custos help why\n",
		"work list --limitless":   "custos: cannot run custos work list: unknown flag: --limitless\ntry: custos help work list\n",
	} {
		code, said := typedWrong(strings.Fields(line)...)
		if code != exitUse || said != want {
			t.Errorf("%s ended with %d:\n%s\nwant\n%s", line, code, said, want)
		}
	}
}

// On a terminal what went wrong is folded between words; a command to type stands
// whole, and so does everything where no terminal is.
func TestComplaintsAreFolded(t *testing.T) {
	message := "cannot read /etc/custos.toml:3: " + strings.Repeat("a word ", 20) + "\n  kept as it stands"
	hint := "custos why " + strings.Repeat("x", 90)
	for width, longest := range map[int]int{80: 80, 0: runes("custos: " + strings.SplitN(message, "\n", 2)[0])} {
		var out bytes.Buffer
		a := &app{Env: Env{Stdout: io.Discard, Stderr: &out, ErrWidth: width}}
		a.complain(message, hint)
		said, try, _ := strings.Cut(out.String(), "\ntry: ")
		if try != hint+"\n" || !strings.HasSuffix(said, "\n  kept as it stands") {
			t.Errorf("in %d columns: %q", width, out.String())
		}
		most := 0
		for _, line := range strings.Split(said, "\n") {
			most = max(most, runes(line))
		}
		if most > longest || most < longest-10 || strings.Join(strings.Fields(said), " ") != "custos: "+strings.Join(strings.Fields(message), " ") {
			t.Errorf("in %d columns the longest line has %d: %s", width, most, said)
		}
	}
}
