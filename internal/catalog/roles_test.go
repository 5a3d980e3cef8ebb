package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Each preset is a role that agents can have, with nothing in its prompt that is not known.
func TestRolePresets(t *testing.T) {
	presets, err := RolePresets()
	if err != nil || !slices.Equal(roleNames(presets), []string{"builder", "coordinator", "crew", "lead", "reviewer", "scout"}) {
		t.Fatalf("%q, %v", roleNames(presets), err)
	}
	text := ""
	for _, p := range presets {
		text += "[role." + p.Name + "]\nkind = \"claude\"\n"
	}
	roles, err := Roles(loaded(t, text), kindsOfTest(t))
	if err != nil || len(roles) != len(presets) {
		t.Fatal(err)
	}
	w := fleet.WorkItem{Head: fleet.Head{ID: "w7"}, Title: "the title", Body: "the body"}
	for _, r := range roles {
		got := ledger.RolePrompt(r, fleet.Registration{Name: "me", Project: "shop", Branch: "agent/me"}, &w)
		if r.Name == "crew" {
			if got != "" {
				t.Errorf("crew is told %q", got)
			}
			continue
		}
		for _, want := range []string{"me", "w7", "the title", "the body"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not told %q:\n%s", r.Name, want, got)
			}
		}
		if strings.Contains(got, "{{") || strings.Contains(got, "\n\n\n") {
			t.Errorf("%s is told\n%s", r.Name, got)
		}
	}
	if i := slices.IndexFunc(roles, func(r fleet.Role) bool { return r.Name == "builder" }); roles[i].Ends != fleet.RoleEndsMerged {
		t.Error("a builder's word closes its work")
	}
}

func TestRoleMistakes(t *testing.T) {
	kinds := kindsOfTest(t)
	for want, text := range map[string]string{
		`custos.toml:1: [role.x] kind: want a kind of agent`:                                                                "[role.x]\nwhat = 'y'",
		`custos.toml:2: [role.x] kind: there is no kind "cloude"`:                                                           "[role.x]\nkind = 'cloude'",
		`custos.toml:3: [role.x] preset: there is none called "bilder", did you mean`:                                       "[role.x]\nkind = 'claude'\npreset = 'bilder'",
		`custos.toml:3: [role.x] may_spawn: there is no role "scot", did you mean`:                                          "[role.x]\nkind = 'claude'\nmay_spawn = ['scot']",
		`custos.toml:3: [role.x] reports_to: there is no [role.led]`:                                                        "[role.x]\nkind = 'claude'\nreports_to = 'led'",
		`custos.toml:3: [role.x] reports_to: a role reports to another one`:                                                 "[role.x]\nkind = 'claude'\nreports_to = 'x'",
		`custos.toml:3: [role.x] mails: there is no type "worker_dne", did you mean "worker_done"?`:                         "[role.x]\nkind = 'claude'\nmails = ['worker_dne']",
		`custos.toml:3: [role.x] prompt: there is no {{wrok}}`:                                                              "[role.x]\nkind = 'claude'\nprompt = 'do {{wrok}}'",
		`want repo, of which each agent has a worktree, or dir`:                                                             "[role.x]\nkind = 'claude'\nrepo = '/a'\ndir = '/b'",
		`custos.toml:3: [role.x] max: 0 is not between 1 and 1000`:                                                          "[role.x]\nkind = 'claude'\nmax = 0",
		`custos.toml:3: [role.x] context: cannot start pi: its context would stand before its first prompt, which is typed`: "[role.x]\nkind = 'pi'\ncontext = ['a.md']\nprompt = 'y'",
		`custos.toml:3: [role.x] context: cannot start codex: its context stands before its first prompt, and it has none`:  "[role.x]\nkind = 'codex'\ncontext = ['a.md']",
		`custos.toml:3: [role.x] context: cannot start claude: its own command line has --append-system-prompt, which`:      "[role.x]\nargv = ['claude', '--append-system-prompt', 'z']\ncontext = ['a.md']",
		`custos.toml:3: [role.x] context: "" is no file`:                                                                    "[role.x]\nkind = 'claude'\ncontext = ['']",
		`unknown key "knd" in [role.x], did you mean "kind"?`:                                                               "[role.x]\nknd = 'claude'",
	} {
		_, err := Roles(loaded(t, text), kinds)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestMergeMistakes(t *testing.T) {
	gate := "\n[[merge.x.gate]]\nname = 'a'\nrun = ['true']"
	again := "[merge.x]\nrepo = '/a'\ntarget = 'main'" + gate + "\n[[merge.x.regenerate]]\n"
	for want, text := range map[string]string{
		"there is no gate, and nothing is merged that none has passed":                          "[merge.x]\nrepo = '/a'\ntarget = 'main'",
		`[merge.x] mode: "forg" is none of own, forge, watch, did you mean "forge"?`:            "[merge.x]\nrepo = '/a'\ntarget = 'main'\nmode = 'forg'" + gate,
		`[merge.x] gate: a queue of mode forge merges nothing itself`:                           "[merge.x]\nrepo = '/a'\ntarget = 'main'\nmode = 'forge'" + gate,
		`[merge.x] mode: watch wants the pull requests of project x, and there is no [forge.x]`: "[merge.x]\nrepo = '/a'\ntarget = 'main'\nmode = 'watch'",
		`[merge.x] resolve: there is no [role.biulder]`:                                         "[merge.x]\nrepo = '/a'\ntarget = 'main'\nresolve = 'biulder'" + gate,
		`[merge.x] repo: want the folder of a repository`:                                       "[merge.x]\ntarget = 'main'" + gate,
		`[merge.x] target: want the branch`:                                                     "[merge.x]\nrepo = '/a'" + gate,
		"there are two called a":                                                                "[merge.x]\nrepo = '/a'\ntarget = 'main'" + gate + gate,
		"a wants either run":                                                                    "[merge.x]\nrepo = '/a'\ntarget = 'main'\n[[merge.x.gate]]\nname = 'a'",
		"batch: 65 is not between 1 and 64":                                                     "[merge.x]\nrepo = '/a'\ntarget = 'main'\nbatch = 65" + gate,
		"[merge.mq1] its name is one of an item":                                                "[merge.mq1]\nrepo = '/a'\ntarget = 'main'" + strings.ReplaceAll(gate, "merge.x", "merge.mq1"),
		`"refs/heads/main" is no name of a branch`:                                              "[merge.x]\nrepo = '/a'\ntarget = 'refs/heads/main'" + gate,
		`"-x" is no name of a branch`:                                                           "[merge.x]\nrepo = '/a'\ntarget = '-x'" + gate,
		"env: a wants names of variables":                                                       "[merge.x]\nrepo = '/a'\ntarget = 'main'" + gate + "\nenv = ['A=B']",
		"[merge.y] it has the target of [merge.x]":                                              "[merge.x]\nrepo = '/a'\ntarget = 'main'" + gate + "\n[merge.y]\nrepo = '/a/'\ntarget = 'main'" + strings.ReplaceAll(gate, "merge.x", "merge.y"),
		`[merge.x] regenerate: files: want the files that it makes`:                             again + "run = ['a']",
		`[merge.x] regenerate: run: want what makes go.sum anew`:                                again + "files = ['go.sum']",
		`regenerate: files: "../go.sum" is no path from the top`:                                again + "files = ['../go.sum']\nrun = ['a']",
		`regenerate: files: "/go.sum" is no path from the top`:                                  again + "files = ['/go.sum']\nrun = ['a']",
		`regenerate: files: "gen/[a" is no pattern`:                                             again + "files = ['gen/[a']\nrun = ['a']",
		`regenerate: files: "**/*" names every file`:                                            again + "files = ['go.sum', '**/*']\nrun = ['a']",
		`regenerate: env: want names of variables`:                                              again + "files = ['a']\nrun = ['a']\nenv = ['A=B']",
		`custos.toml:8: [merge.x.regenerate.0] timeout: 11m is too long: the most is 10m`:       again + "timeout = '11m'",
		`regenerate: timeout: all of them may take 10m0s together, and these 12m0s`:             again + "files = ['a']\nrun = ['a']\ntimeout = '6m'" + strings.Repeat("\n[[merge.x.regenerate]]\nfiles = ['a']\nrun = ['a']\ntimeout = '6m'", 1),
		`custos.toml:8: unknown key "file" in [merge.x.regenerate.0], did you mean "files"?`:    again + "file = ['a']",
		`is no name: it has letters`:                                                            "[merge.x]\nrepo = '/a'\ntarget = 'main'\n[[merge.x.gate]]\nname = '../a'\nrun = ['true']",
	} {
		_, err := Merges(loaded(t, text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
	q, err := Merges(loaded(t, "[merge.x]\nrepo = '~/a'\ntarget = 'main'"+gate), nil)
	if err != nil || q[0].Remote != "origin" || q[0].Batch != 8 || q[0].Digest == "" || q[0].Project != "x" || !strings.HasSuffix(q[0].Repo, "/a") {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestMergeConflictKeys(t *testing.T) {
	text := "[merge.x]\nrepo = '/a'\ntarget = 'main'\nrerere = true\n[[merge.x.gate]]\nname = 'a'\nrun = ['true']\n" +
		"[[merge.x.regenerate]]\nfiles = ['go.sum', 'gen/*.pb.go', '**/package-lock.json']\nrun = ['go', 'mod', 'tidy']\nenv = ['GOPROXY']\n"
	q, err := Merges(loaded(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.MergeRegenerate{Files: []string{"go.sum", "gen/*.pb.go", "**/package-lock.json"}, Argv: []string{"go", "mod", "tidy"}, Timeout: fleet.Duration(3 * time.Minute), Env: []string{"GOPROXY"}}
	if !q[0].Rerere || len(q[0].Regenerate) != 1 || !reflect.DeepEqual(q[0].Regenerate[0], want) {
		t.Errorf("%+v", q[0])
	}
}

// kindsOfTest are the kinds that come with Custos.
func kindsOfTest(t *testing.T) *agent.Kinds {
	t.Helper()
	w, err := world(t, "")
	if err != nil {
		t.Fatal(err)
	}
	return w.Kinds
}
