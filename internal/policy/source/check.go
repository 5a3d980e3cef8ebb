package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"custos/internal/policy"
)

var (
	verdicts = []string{string(policy.Deny), string(policy.Ask), string(policy.Warn)}
	accesses = []string{string(policy.Read), string(policy.Write), string(policy.Delete)}
)

// check says what is wrong with a rule.
func check(r policy.Rule) error {
	switch {
	case !plainName.MatchString(r.ID):
		return errors.New("id: it may have letters, digits, and . _ -, 64 at most")
	case r.Verdict == "allow":
		return errors.New(`verdict: a policy never allows: that would skip what the CLI itself asks people. What it does not name goes on as without it`)
	case !slices.Contains(verdicts, string(r.Verdict)):
		return fmt.Errorf("verdict: %s", unknown("verdict", string(r.Verdict), verdicts))
	case r.When.Empty():
		return fmt.Errorf("id: rule %q is about nothing: want one of tool, program, args, flags, git, ref, in, access, path, host and opaque", r.ID)
	}
	for _, w := range append([]policy.When{r.When}, r.Except...) {
		if w.Empty() {
			return errors.New("except: it names nothing")
		}
		if err := checkWhen(w); err != nil {
			return err
		}
	}
	return nil
}

func checkWhen(w policy.When) error {
	for _, c := range w.In {
		if !slices.Contains(policy.Classes(), string(c)) {
			return fmt.Errorf("in: %s", unknown("place", string(c), policy.Classes()))
		}
	}
	for _, a := range w.Access {
		if !slices.Contains(accesses, string(a)) {
			return fmt.Errorf("access: %s", unknown("access", string(a), accesses))
		}
	}
	for _, o := range w.Opaque {
		if all := append(policy.Reasons(), "any"); !slices.Contains(all, o) {
			return fmt.Errorf("opaque: %s", unknown("reason", o, all))
		}
	}
	for _, g := range w.Git {
		if !policy.IsVerb(g) {
			return fmt.Errorf("git: git has no verb %q", g)
		}
	}
	return checkPaths(w)
}

func checkPaths(w policy.When) error {
	for _, p := range w.Paths {
		if !strings.Contains(p, "/") {
			if !slices.Contains(policy.Classes(), p) {
				return fmt.Errorf("path: %s", unknown("place", p, policy.Classes()))
			}
			continue
		}
		if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~/") && !strings.HasPrefix(p, "./") {
			return fmt.Errorf("path: %q begins with neither / nor ~/ nor ./, which is the worktree", p)
		}
	}
	for _, f := range w.Flags {
		for _, one := range strings.Split(f, "|") {
			if !strings.HasPrefix(one, "-") {
				return fmt.Errorf("flags: %q is no option: write it like %q", one, "-r|-R|--recursive")
			}
		}
	}
	return nil
}
