package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

const resolveConfig = `
[limits]
stagger = "0s"
settle = "100ms"
spawn_memory = "0"
[role.author]
kind = "claude"
repo = "DIR/shop/repo"
project = "shop"
prompt = "fake script DIR/author.sh"
restart = "never"
[role.builder]
kind = "claude"
repo = "DIR/shop/repo"
project = "shop"
prompt = "fake script DIR/bring.sh {{work}}"
restart = "never"
[merge.shop]
repo = "DIR/shop/repo"
target = "main"
resolve = "builder"
wait = "0s"
[[merge.shop.gate]]
name = "check"
script = "! grep -rq '<<<' --include='f*' ."
`

var resolveScripts = map[string]string{
	"author.sh": `echo mine > f; git add f && git -c user.name=a -c user.email=a@example.org commit --quiet --message mine
CUSTOS merge add`,
	"bring.sh": `git -C DIR/shop/repo fetch --quiet origin
! git -c user.name=b -c user.email=b@example.org merge --quiet origin/main || exit 0
printf 'theirs\nmine\n' > f; git add f && git -c user.name=b -c user.email=b@example.org commit --quiet --message both
CUSTOS merge add --work "$1"`,
}

// What conflicts, and whose author is gone, another agent brings in by a branch of its own; with that the first one is merged.
func TestAnotherBringsInWhatConflicts(t *testing.T) {
	w := scriptedTown(t, resolveConfig, resolveScripts)
	clone := filepath.Join(w.dir, "other")
	w.repo.Git(w.dir, "clone", "-q", filepath.Join(w.repo.Dir, "origin.git"), clone)
	w.repo.Commit(clone, "f", "theirs\n")
	w.repo.Git(clone, "push", "-q", "origin", "HEAD:main")
	if out, code := w.inside(w.dir, "spawn", "ann", "--role", "author"); code != 0 {
		t.Fatal(out)
	}
	var all map[string]api.Merge
	shown := func() string { return fmt.Sprintf("%+v\n%s\n%s", all, w.words("work", "list", "--all"), w.said) }
	await(t, shown, func() bool { all, _ = w.items(); return all["agent/ann"].State == "conflict" })
	if out := w.words("merge", "why", "agent/ann"); !strings.Contains(out, "it conflicts with main") {
		t.Errorf("by its branch: %s", out)
	}
	if out, code := w.inside(w.dir, "stop", "ann"); code != 0 {
		t.Fatal(out)
	}
	await(t, shown, func() bool {
		all, _ = w.items()
		return all["agent/ann"].State == "merged" && all["agent/builder-w1"].State == "merged"
	})
	if got := w.repo.Git(filepath.Join(w.repo.Dir, "origin.git"), "show", "main:f"); got != "theirs\nmine" {
		t.Errorf("main has %q", got)
	}
	if out := w.words("work", "show", "w1"); !strings.Contains(out, "merged as ") {
		t.Error(out)
	}
}
