package agentrun

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"custos/internal/fleet"
	"custos/internal/policy"
	"custos/internal/session"
)

// A start of a role with a policy writes it down, with where everything lies, and names it;
// a start of any other role is what it was.
func TestLaunchNamesThePolicy(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatal(string(out), err)
	}
	w, _ := accounts(t)
	w.o.Hook, w.o.Run = "/custos-hook", "/run/custos"
	r := fleet.Registration{Name: "bob", Kind: "claude", Role: "builder", Where: fleet.WhereHeadless}
	before, err := w.Plan(r, "i1", dir, How{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	w.o.Policy = func(role string) (policy.Policy, bool) {
		return policy.Policy{Name: "p", Rules: []policy.Rule{{ID: "a", Verdict: policy.Deny, When: policy.When{Programs: []string{"rm"}}}}}, role == "builder"
	}
	after, err := w.Plan(r, "i1", dir, How{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.o.Run, "policies", "bob.json")
	c, err := policy.Decode(after.Files[file])
	if err != nil || c.Agent != "bob" || c.Instance != "i1" || c.Policy.Name != "p" || c.Places.Worktree != dir || c.Places.Common != filepath.Join(dir, ".git") {
		t.Errorf("%+v %v", c, err)
	}
	if want := append(slices.Clone(before.Launch.Env), policyVar+"="+file); !slices.Equal(sorted(want), sorted(after.Launch.Env)) {
		t.Errorf("the environment is %q", after.Launch.Env)
	}
	r.Kind = "generic"
	unasked, err := w.Plan(fleet.Registration{Name: "bob", Kind: "generic", Role: "builder", Where: fleet.WhereHeadless, Argv: []string{"make"}}, "i1", dir, How{})
	if learned := Learned(r, unasked, session.Launched{}, fleet.Instant{}); err != nil || learned.Policy != "p" || len(unasked.Files) != 0 {
		t.Errorf("of a kind that asks nobody it is on record that it is judged by %q, with files %v: %v", learned.Policy, unasked.Files, err)
	}
	r.Kind, r.Role = "claude", "other"
	other, err := w.Plan(r, "i1", dir, How{Prompt: "x"})
	if err != nil || other.Policy != "" || !slices.Equal(other.Launch.Env, before.Launch.Env) || len(other.Files) != len(before.Files) {
		t.Errorf("a role without a policy starts with %q and %d files: %v", other.Launch.Env, len(other.Files), err)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
