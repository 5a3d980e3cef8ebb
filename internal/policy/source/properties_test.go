package source

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/policy"
)

// wraps are ways to have a command run by something else. @ stands for it, and ' for it in quotes.
var wraps = []string{"@", "( @ )", "{ @; }", "true; @", "true && @", "false || { @; }", "! @", "time @", "if true; then @; fi", "while true; do @; done", "for i in 1; do @; done", "f() { @; }; f", "echo $( @ )", "cat <( @ )", "case x in *) @;; esac", "{ @ & }", "ls | { @; }",
	"bash -c '", "sh -c '", "env bash -c '", "eval '", "nohup bash -c '", "timeout 5 sh -c '", "nice -n 3 bash -c '", "echo ' | sh", "printf '%s' ' | bash", "bash <<< '", "env A=1 sh -c '", "git -c alias.x='!true' x; @", "find . -exec bash -c ' \\;", "xargs sh -c '", "$X bash -c '", "trap ' EXIT", "sudo -n bash -c '"}

func wrap(in, command string) string {
	if strings.Contains(in, "@") {
		return strings.ReplaceAll(in, "@", command)
	}
	at := strings.LastIndex(in, "'")
	return in[:at] + "'" + strings.ReplaceAll(command, "'", `'\''`) + "'" + in[at+1:]
}

// prefixes run what follows, where that is one simple command.
var prefixes = []string{"env ", "nohup ", "nice ", "timeout 5 ", "command ", "exec ", "A=1 ", "sudo ", "stdbuf -oL ", "setsid ", "$X ", "env -u A B=2 "}

// denied are the commands of the table that are denied, and stay commands on one line of others.
func denied(t testing.TB) (out []string) {
	for _, c := range table(t, "default") {
		open := slices.ContainsFunc(shell(c.command).Deeds(), func(d policy.Deed) bool { return d.Opaque == policy.OpaqueSyntax })
		if c.verdict == "deny" && !open && !strings.ContainsAny(c.command, "\n\r\x00#&") {
			out = append(out, c.command)
		}
	}
	return out
}

// What is denied stays denied however it is wrapped, or it cannot be told any more what it is.
func TestWrappingDoesNotHide(t *testing.T) {
	p, commands := builtIn(t)["default"], denied(t)
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom(commands).Draw(t, "command")
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			command = wrap(rapid.SampledFrom(wraps).Draw(t, "wrap"), command)
		}
		deeds := shell(command).Deeds()
		opaque := slices.ContainsFunc(deeds, func(d policy.Deed) bool { return d.Opaque == policy.OpaqueEval || d.Opaque == policy.OpaqueSize })
		if d := p.Judge(deeds, world()); d.Verdict != policy.Deny && !opaque {
			t.Fatalf("%q is %q", command, d.Verdict)
		}
	})
}

func TestPrefixesDoNotHide(t *testing.T) {
	p := builtIn(t)["default"]
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom([]string{"rm -rf ~", "git -C ../app-2 reset --hard", "/bin/rm -fr /", "git push --force origin main", "tee ~/.ssh/authorized_keys", "find ~ -delete"}).Draw(t, "command")
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			prefix := rapid.SampledFrom(prefixes).Draw(t, "prefix")
			if prefix == "exec " || prefix == "A=1 " || prefix == "command " {
				command = "bash -c '" + strings.ReplaceAll(prefix+command, "'", `'\''`) + "'"
				continue
			}
			command = prefix + command
		}
		if d := p.Decide(shell(command)); d.Verdict != policy.Deny {
			t.Fatalf("%q is %q", command, d.Verdict)
		}
	})
}

// No verdict allows, and a rule more never weakens one.
func TestVerdicts(t *testing.T) {
	all := builtIn(t)
	var commands []string
	for _, name := range []string{"default", "read-only"} {
		for _, c := range table(t, name) {
			commands = append(commands, c.command)
		}
	}
	known := []policy.Verdict{policy.None, policy.Warn, policy.Ask, policy.Deny}
	rapid.Check(t, func(t *rapid.T) {
		rules := append(slices.Clone(all["default"].Rules), all["read-only"].Rules...)
		kept := rapid.SliceOfN(rapid.SampledFrom(rules), 0, 8).Draw(t, "rules")
		more := rapid.SampledFrom(rules).Draw(t, "more")
		more.Verdict = rapid.SampledFrom(known[1:]).Draw(t, "verdict")
		at := rapid.IntRange(0, len(kept)).Draw(t, "at")
		c := shell(rapid.SampledFrom(commands).Draw(t, "command"))
		before := policy.Policy{Rules: kept}.Decide(c).Verdict
		after := policy.Policy{Rules: slices.Insert(slices.Clone(kept), at, more)}.Decide(c).Verdict
		if !slices.Contains(known, before) || slices.Index(known, after) < slices.Index(known, before) {
			t.Fatalf("%q was %q, and is %q with a rule more", c.Command, before, after)
		}
	})
}
