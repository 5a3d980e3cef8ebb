package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"custos/internal/api"
	"custos/internal/nearest"
)

// sayUsage has every command that is given too much or too little say how it is
// used, with an example. One with commands of its own names the unknown one, and
// shows its help when it does nothing by itself.
func sayUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		sayUsage(sub)
	}
	check := c.Args
	if c.HasSubCommands() {
		check = cobra.NoArgs
		if c.RunE == nil {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	if check == nil {
		check = wanted(c.Use)
	}
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case isEmpty(c, args):
			return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot run %s: an argument is empty", c.CommandPath()), Hint: helpFor(c)}
		case check(c, args) == nil:
			return wrongFlags(c)
		case c.HasSubCommands():
			return noCommand(c, args)
		}
		return misused(c, fit(args), missing(c))
	}
}

// wanted checks the number of arguments by what the usage of a command says: NAME is needed,
// [NAME] is not, and of NAME... there are as many as one likes.
func wanted(use string) cobra.PositionalArgs {
	least, most := 0, 0
	for _, word := range strings.Fields(use)[1:] {
		switch {
		case strings.HasPrefix(word, "--"):
			return cobra.RangeArgs(least, most)
		case strings.HasSuffix(word, "..."):
			return cobra.MinimumNArgs(least + 1)
		case !strings.HasPrefix(word, "["):
			least++
		}
		most++
	}
	return cobra.RangeArgs(least, most)
}

// isEmpty says whether there is nothing in one of the arguments: a shell variable that
// was not set is no name. The arguments of another program, after --, are its own.
func isEmpty(c *cobra.Command, args []string) bool {
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	return slices.ContainsFunc(args, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// fit says what is wrong with arguments that are too few, or too many.
func fit(args []string) string {
	if len(args) == 0 {
		return "it needs more to go on"
	}
	return fmt.Sprintf("%q does not fit", flat(strings.Join(args, " ")))
}

// wrongFlags says which flags a command cannot go on without, or not with together.
func wrongFlags(c *cobra.Command) error {
	if lacks := missing(c); len(lacks) > 0 {
		return misused(c, "", lacks)
	}
	if err := c.ValidateFlagGroups(); err != nil {
		return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot run %s: %s", c.CommandPath(), rivals(err)), Hint: helpFor(c)}
	}
	return nil
}

// missing lists the flags that a command cannot go on without, and was not given.
func missing(c *cobra.Command) (out []*pflag.Flag) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 && !f.Changed {
			out = append(out, f)
		}
	})
	return out
}

// misused says how a command is used whose arguments do not fit, or that lacks flags.
func misused(c *cobra.Command, wrong string, lacks []*pflag.Flag) error {
	use := strings.TrimSuffix(c.UseLine(), " [flags]")
	for _, f := range lacks {
		if value, _ := pflag.UnquoteUsage(f); !strings.Contains(use, " --"+f.Name+" ") {
			use += fmt.Sprintf(" --%s %s", f.Name, value)
		}
		wrong = strings.TrimPrefix(wrong+", and --"+f.Name+" is missing", ", and ")
	}
	message := fmt.Sprintf("cannot run %s: %s: usage: %s", c.CommandPath(), wrong, use)
	if example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n"); example != "" {
		message += "; for example: " + example
	}
	return &api.Error{Kind: api.BadInput, Message: message, Hint: helpFor(c)}
}

// grouped finds the flags of which one excludes the others, and those that were given,
// in what cobra says of them.
var grouped = regexp.MustCompile(`\[([^]]+)\] are set none of the others can be; \[([^]]+)\]`)

// rivals says which flags do not go together.
func rivals(err error) string {
	m := grouped.FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error()
	}
	dashed := func(names, between string) string {
		return "--" + strings.Join(strings.Fields(names), between+"--")
	}
	return fmt.Sprintf("%s do not go together: take one of %s", dashed(m[2], " and "), dashed(m[1], ", "))
}

// noCommand says that a command has none of that name, and which one is meant where
// that can be guessed: one of its own, or one of that very name below another.
func noCommand(c *cobra.Command, args []string) error {
	hint := nearest.Hint(args[0], names(c.Commands()))
	for _, sub := range c.Commands() {
		if hint == "" && slices.Contains(names(sub.Commands()), args[0]) {
			hint = fmt.Sprintf(", did you mean %q?", sub.CommandPath()+" "+args[0])
		}
	}
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot run %s %s: unknown command %q%s", c.CommandPath(), flat(args[0]), flat(args[0]), hint), Hint: helpFor(c)}
}

func names(list []*cobra.Command) (out []string) {
	for _, c := range list {
		out = append(out, c.Name())
	}
	return out
}

// helpFor is the command that shows the help of another one.
func helpFor(c *cobra.Command) string {
	if !c.HasParent() {
		return "custos help all"
	}
	return "custos help " + strings.TrimPrefix(c.CommandPath(), "custos ")
}

// flagName finds the names of flags in the help of a command.
var flagName = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z-]*)`)

// parsed finds what Go says of a value that is no number.
var parsed = regexp.MustCompile(`: strconv\.Parse(?:Int|Uint|Float): parsing .*$`)

// wrongFlag says what is wrong with a flag of a command, which one is meant where
// that can be guessed, and where the command's flags are listed.
func wrongFlag(c *cobra.Command, err error) error {
	message := fmt.Sprintf("cannot run %s: %s", c.CommandPath(), parsed.ReplaceAllString(err.Error(), ": that is no number"))
	var unknown interface {
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" && strings.HasPrefix(err.Error(), "unknown") {
		var known []string
		for _, m := range flagName.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
			known = append(known, "--"+m[1])
		}
		message += nearest.Hint("--"+unknown.GetSpecifiedName(), known)
	}
	return &api.Error{Kind: api.BadInput, Message: message, Hint: helpFor(c)}
}

// asksJSON says whether --json is among the arguments.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}
