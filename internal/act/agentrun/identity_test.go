package agentrun

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// What an agent commits, git itself says who committed; what is set for one agent counts, and
// without git_author nothing is set.
func TestAgentsCommitAsThemselves(t *testing.T) {
	w, _ := accounts(t)
	w.o.Host, w.o.GitAuthor = "vm", "{name} ({role}) <{name}@{host}.custos>"
	for name, c := range map[string]struct {
		r    fleet.Registration
		want string
	}{
		"by the template":       {fleet.Registration{Name: "bob", Role: "builder"}, "bob (builder) <bob@vm.custos> bob (builder) <bob@vm.custos>"},
		"by a value of its own": {fleet.Registration{Name: "bob", Role: "builder", Set: []string{"GIT_AUTHOR_NAME=Ann"}}, "Ann <bob@vm.custos> bob (builder) <bob@vm.custos>"},
	} {
		c.r.Kind, c.r.Where = "claude", fleet.WhereHeadless
		dir := t.TempDir()
		b, err := w.Plan(c.r, "i1", dir, How{Prompt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-ec", "git init -q . && git commit -q --allow-empty -m x && git log -1 --format='%an <%ae> %cn <%ce>'")
		cmd.Dir, cmd.Env = dir, append(b.Launch.Env, "PATH="+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != c.want {
			t.Errorf("%s: git says %s (%v), want %s", name, out, err, c.want)
		}
	}
	w.o.Environ = func() []string { return []string{"HOME=/home/x", "GIT_AUTHOR_EMAIL=ann@x"} }
	if b, err := w.Plan(fleet.Registration{Name: "bob", Kind: "claude", Where: fleet.WhereHeadless, Env: []string{"GIT_AUTHOR_EMAIL"}}, "i1", t.TempDir(), How{Prompt: "x"}); err != nil || !slices.Contains(b.Launch.Env, "GIT_AUTHOR_EMAIL=ann@x") || !slices.Contains(b.Launch.Env, "GIT_COMMITTER_EMAIL=bob@vm.custos") {
		t.Errorf("what it is passed on counts: %v %q", err, b.Launch.Env)
	}
	w.o.GitAuthor = ""
	b, err := w.Plan(fleet.Registration{Name: "bob", Kind: "claude", Where: fleet.WhereHeadless}, "i1", t.TempDir(), How{Prompt: "x"})
	if err != nil || slices.ContainsFunc(b.Launch.Env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_") }) {
		t.Errorf("without git_author: %v %q", err, b.Launch.Env)
	}
}

func TestCheckAuthor(t *testing.T) {
	for author, ok := range map[string]bool{
		"": true, "{name} <{name}@{host}.custos>": true, "Agents <agents@example.com>": true, "{name} of {role} <x@y>": true,
		"{name}": false, "{name} <>": false, "{nme} <a@b>": false, "{name} <a@b": false, "a\nb <a@b>": false, "<a@b> <c@d>": false,
	} {
		if err := checkAuthor(author); (err == nil) != ok {
			t.Errorf("%q: %v", author, err)
		}
	}
}
