package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/hookwire"
	"custos/internal/policy"
)

// lab is a policy in which two rules deny: rm, and what is recursive.
func lab(t *testing.T) string {
	t.Helper()
	text, err := policy.Compiled{Agent: "bob", Instance: "i1", Places: policy.Places{Worktree: "/w"}, Policy: policy.Policy{Name: "lab", Rules: []policy.Rule{
		{ID: "no-rm", Verdict: policy.Deny, When: policy.When{Programs: []string{"rm"}}},
		{ID: "no-r", Verdict: policy.Deny, When: policy.When{Flags: []string{"-r"}}},
		{ID: "ask-ls", Verdict: policy.Ask, When: policy.When{Programs: []string{"ls"}}},
	}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := policy.File(t.TempDir(), "bob")
	if err := os.MkdirAll(policy.Grants(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func give(t *testing.T, file, rule string, change func(*policy.Grant)) {
	t.Helper()
	g := policy.Grant{Agent: "bob", Instance: "i1", Rule: rule, Until: time.Now().Add(time.Hour), By: "ann"}
	change(&g)
	text, err := g.Encode()
	if err == nil {
		err = os.WriteFile(policy.GrantFile(file, rule), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func isSaid(t *testing.T, what, file, command, want string) {
	t.Helper()
	got := answered(t, file, "claude", "PreToolUse", payloadOf(t, "Bash", command))
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("%s: %s: said %q, want %q", what, command, got, want)
	}
}

// What a person granted is not denied: that rule, of that start of that agent, until then, and no other.
func TestAGrant(t *testing.T) {
	as := func(*policy.Grant) {}
	for what, c := range map[string]struct {
		rule    string
		change  func(*policy.Grant)
		command string
		want    string
	}{
		"nothing is granted":     {"", as, "rm x", "no-rm"},
		"it is granted":          {"no-rm", as, "rm x", ""},
		"another rule denies":    {"no-rm", as, "rm -r x", "rule no-r."},
		"another one is granted": {"no-r", as, "rm x", "no-rm"},
		"it is over":             {"no-rm", func(g *policy.Grant) { g.Until = time.Now().Add(-time.Second) }, "rm x", "no-rm"},
		"of the start before":    {"no-rm", func(g *policy.Grant) { g.Instance = "i0" }, "rm x", "no-rm"},
		"of another agent":       {"no-rm", func(g *policy.Grant) { g.Agent = "eve" }, "rm x", "no-rm"},
		"of another rule":        {"no-rm", func(g *policy.Grant) { g.Rule = "no-r" }, "rm x", "no-rm"},
		"what would be asked":    {"ask-ls", as, "ls", ""},
	} {
		file := lab(t)
		if c.rule != "" {
			give(t, file, c.rule, c.change)
		}
		isSaid(t, what, file, c.command, c.want)
		isSaid(t, what+", again", file, c.command, c.want)
	}
	torn := lab(t)
	if err := os.WriteFile(policy.GrantFile(torn, "no-rm"), []byte(`{"agent":"bob"`), 0o600); err != nil {
		t.Fatal(err)
	}
	isSaid(t, "a torn grant", torn, "rm x", "no-rm")
}

// What is granted for one call is used up by one, of however many at once; one that another rule denies uses nothing up.
func TestAGrantForOneCall(t *testing.T) {
	once := func(g *policy.Grant) { g.Once = true }
	file := lab(t)
	give(t, file, "no-rm", once)
	isSaid(t, "another rule denies", file, "rm -r x", "rule no-r.")
	const calls = 8
	said := make(chan string, calls)
	for range calls {
		go func() { said <- answered(t, file, "claude", "PreToolUse", payloadOf(t, "Bash", "rm x")) }()
	}
	made := 0
	for range calls {
		if <-said == "" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d of %d calls were let go on", made, calls)
	}
	isSaid(t, "it is used up", file, "rm x", "no-rm")
}

// Where the hook cannot take it away, within a boundary, the daemon does; without one the call is denied.
func TestAGrantForOneCallWithinABoundary(t *testing.T) {
	for _, takes := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "gone", "grant.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		g := &grant{Grant: policy.Grant{Rule: "no-rm", Once: true}, path: path + "/of/which/nothing/can/be/removed", file: f}
		asked := ""
		used := g.use(func(rule string) {
			if asked = rule; takes {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}
		})
		if used != takes || asked != "no-rm" {
			t.Errorf("taken by the daemon: %v; used: %v, asked for %q", takes, used, asked)
		}
	}
	p := hookwire.Post{V: hookwire.Version, ID: "x1", Kind: "claude", Used: strings.Repeat("x", 65)}
	if p.Check() == nil {
		t.Error("a name of any length is taken")
	}
}
