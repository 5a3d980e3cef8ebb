package source

import (
	"os"
	"strings"
	"testing"

	"custos/internal/policy"
)

// world is where the agent of the cases works: one of two worktrees beside a main checkout.
func world() policy.Places {
	return policy.Places{
		Worktree: "/home/dev/trees/app-1", GitDir: "/home/dev/app/.git/worktrees/app-1", Common: "/home/dev/app/.git", Home: "/home/dev",
		Others: []string{"/home/dev/app", "/home/dev/trees/app-2"}, Custos: []string{"/home/dev/.local/state/custos", "/home/dev/.config/custos"},
		Branch: "feature", Default: "main",
	}
}

func shell(command string) policy.Call {
	return policy.Call{Tool: "Bash", Shell: true, Command: command, Cwd: world().Worktree, Places: world()}
}

func builtIn(t testing.TB) map[string]policy.Policy {
	t.Helper()
	all, wrong, err := Policies(nil)
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	return all
}

// caseOf is one line of a table: VERDICT RULE COMMAND, with ␤ for a new line; - is nothing.
type caseOf struct{ verdict, rule, command string }

func table(t testing.TB, name string) (out []caseOf) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		f := strings.SplitN(line, "\t", 3)
		if len(f) != 3 {
			t.Fatalf("%s.txt:%d has %d columns", name, i+1, len(f))
		}
		out = append(out, caseOf{f[0], f[1], strings.NewReplacer("␤", "\n", "␍", "\r", "␀", "\x00").Replace(f[2])})
	}
	return out
}

func TestCases(t *testing.T) {
	seen := 0
	for name, p := range builtIn(t) {
		for _, c := range table(t, name) {
			seen++
			d := p.Decide(shell(c.command))
			verdict, rule := string(d.Verdict), d.Rule
			if verdict == "" {
				verdict, rule = "-", "-"
			}
			if verdict != c.verdict || rule != c.rule {
				t.Errorf("%s: %q: %s by %s (%s), want %s by %s", name, c.command, verdict, rule, d.Deed, c.verdict, c.rule)
			}
		}
	}
	if seen < 500 {
		t.Errorf("%d cases were seen, want 500", seen)
	}
}
