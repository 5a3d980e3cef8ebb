package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/gittest"
)

// probesOf makes the probes of a configuration, by name.
func probesOf(t *testing.T, text string) (map[string]observe.Probe, *World, error) {
	t.Helper()
	w, err := world(t, text)
	if err != nil {
		return nil, nil, err
	}
	w.Runs = func(context.Context) ([]fleet.Run, error) { return nil, nil }
	w.StoreFile = filepath.Join(t.TempDir(), "custos.db")
	list, err := Probes(w)
	out := map[string]observe.Probe{}
	for _, p := range list {
		out[p.Spec().Name] = p
	}
	return out, w, err
}

// From custos.toml to the closed issue of a phase file, and the agent of another.
func TestForges(t *testing.T) {
	s := forgetest.New(t, "forgejo")
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(s.Account("custos-bot")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	phase := filepath.Join(dir, "dev-session-shop-7.phase")
	if err := os.WriteFile(phase, []byte("PHASE:escalate no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.Repo("acme/shop")
	r.Open(7, 50*3600e9, forgetest.Issue{})
	r.Close(7, 30*3600e9)
	r.Open(8, 50*3600e9, forgetest.Issue{Labels: []string{"todo"}})
	probes, w, err := probesOf(t, fmt.Sprintf(`
[phases]
globs = [%q]
[forge.shop]
kind = "forgejo"
url = %q
repo = "acme/shop"
token_file = %q
ready = ["todo"]
[forge.docs]
kind = "gitea"
url = %q
repo = "acme/docs"
token_command = ["cat", %q]
watch_only = true
`, phase, s.URL+"/", token, s.URL, token))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.hosts) != 1 {
		t.Errorf("one host has %d budgets", len(w.hosts))
	}
	w.Registered = func(context.Context) ([]fleet.Registration, error) {
		return []fleet.Registration{{Name: "ann", Project: "shop", Task: "#8", Desired: fleet.DesiredRunning}, {Name: "aaa", Project: "shop", Task: "#8", Desired: fleet.DesiredRetired}}, nil
	}
	var snap fleet.Snapshot
	for _, name := range []string{"phases", "forge"} {
		put, err := probes[name].Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		put(&snap)
	}
	answersAreKept(t, w)
	ph := snap.Phases.Value[0]
	if !ph.Tracked || !ph.Closed.Or(false) || ph.ClosedFor.Or(0) < fleet.Duration(29*3600e9) {
		t.Errorf("phase %+v (%s)", ph, ph.Closed.Why())
	}
	f := snap.Forge.Value
	if len(f.Projects) != 2 || f.Projects[0].Owner != fleet.OwnerForeign || f.Projects[0].Ready.IsKnown() || f.Projects[1].Owner != fleet.OwnerConfigured {
		t.Fatalf("projects %+v", f.Projects)
	}
	for _, i := range f.Issues {
		if i.Name == "shop#8" && i.Agent != "ann" {
			t.Errorf("issue %+v", i)
		}
	}
}

func TestForgesRefuse(t *testing.T) {
	good := "[forge.shop]\nkind = \"forgejo\"\nurl = \"https://git.example\"\nrepo = \"a/b\"\ntoken_env = \"T\"\n"
	if _, _, err := probesOf(t, good); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		strings.Replace(good, `"forgejo"`, `"gitlub"`, 1):                       `custos.toml:2: [forge.shop] kind: "gitlub" is none of forgejo, gitea, github, gitlab`,
		strings.Replace(good, `"a/b"`, `"a/b/c"`, 1):                            "custos.toml:4: [forge.shop] repo: want OWNER/NAME, like \"acme/shop\"",
		"[forge.shop]\nkind = \"gitlab\"\nrepo = \"shop\"\ntoken_env = \"T\"\n": `custos.toml:3: [forge.shop] repo: want GROUP/NAME, like "acme/shop" or "acme/web/shop"`,
		strings.Replace(good, `"https://git.example"`, `"git"`, 1):              "custos.toml:3: [forge.shop] url: want a URL",
		strings.Replace(good, `git.example"`, `a:secret@git.ex"`, 1):            "custos.toml:3: [forge.shop] url: want a URL",
		strings.Replace(good, `"a/b"`, `"a"`, 1):                                "custos.toml:4: [forge.shop] repo: want OWNER/NAME",
		strings.Replace(good, "token_env", "token_evn", 1):                      `custos.toml:5: unknown key "token_evn" in [forge.shop], did you mean "token_env"?`,
		strings.Replace(good, "token_env = \"T\"", "", 1):                       "custos.toml:1: [forge.shop] token_file, token_command, token_env: want exactly one",
		good + "token_file = \"/x\"\n":                                          "want exactly one",
		good + "every = \"1s\"\n":                                               "custos.toml:6: [forge.shop] every: 1s is too short",
		good + "agents = \"dev-.*\"\n":                                          "custos.toml:6: [forge.shop] agents: it has no group",
		good + "path = \"shop\"\n":                                              "custos.toml:6: [forge.shop] path:",
		good + "owner = \"me\"\n":                                               `unknown key "owner"`,
		strings.Replace(good, "[forge.shop]", `[forge."a b#c"]`, 1):             "is no name for a project",
		strings.Replace(good, "[forge.shop]", "[forge]", 1):                     "custos.toml",
	} {
		_, _, err := probesOf(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}

// An agent that nobody registered works on what the worktree it stands in is for.
func TestAgentsOfWorktrees(t *testing.T) {
	repo := gittest.New(t)
	tree := filepath.Join(t.TempDir(), "wt")
	repo.Git(repo.Top, "worktree", "add", "-b", "fix/issue-8", tree)
	s := forgetest.New(t, "gitea")
	s.Repo("acme/shop").Open(8, 3600e9, forgetest.Issue{})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(s.Account("bot")), 0o600); err != nil {
		t.Fatal(err)
	}
	probes, w, err := probesOf(t, fmt.Sprintf("[forge.shop]\nkind = \"gitea\"\nurl = %q\nrepo = \"acme/shop\"\ntoken_file = %q\npath = %q\n", s.URL, token, repo.Top))
	if err != nil {
		t.Fatal(err)
	}
	w.Recorded = func(context.Context) ([]fleet.AgentRecord, error) {
		return []fleet.AgentRecord{{Name: "claude@wt", CWD: tree, LastSeen: w.Now()}, {Name: "a-old", CWD: tree}}, nil
	}
	put, err := probes["forge"].Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var snap fleet.Snapshot
	put(&snap)
	if i := snap.Forge.Value.Issues[0]; i.Agent != "claude@wt" {
		t.Errorf("issue %+v", i)
	}
}

// answersAreKept has the answers of a probe that looked written down, for our user
// alone, and read as who comes next reads them.
func answersAreKept(t *testing.T, w *World) {
	t.Helper()
	if _, err := w.remembered("shop"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything was kept: %v", err)
	}
	for range 2 { // the second takes the place of the first
		if err := w.KeepAnswers(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := w.Forge.Answers()
	if err != nil || all["shop"] == nil {
		t.Fatalf("answers %v, %v", all, err)
	}
	kept, err := w.remembered("shop")
	if err != nil || string(kept) != string(all["shop"]) {
		t.Errorf("kept %q, %v, want %q", kept, err, all["shop"])
	}
	info, err := os.Stat(w.answersFile("shop"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(w.Config.StateDir, "forge", ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A GitLab from custos.toml to facts: beneath a path, in a group within a group, its issues and
// merge requests counted apart, in what is looked at and in what is written.
func TestGitLab(t *testing.T) {
	s := forgetest.New(t, "gitlab")
	below := httptest.NewServer(http.StripPrefix("/gitlab", s))
	t.Cleanup(below.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(s.Account("custos-bot")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.Repo("acme/web/shop")
	r.Open(7, 3600e9, forgetest.Issue{Labels: []string{"backlog"}})
	r.Propose(7, 3600e9, forgetest.Pull{Base: "main", Branch: "fix", Head: strings.Repeat("1", 40), Conflict: true})
	probes, w, err := probesOf(t, fmt.Sprintf("[forge.shop]\nkind = \"gitlab\"\nurl = %q\nrepo = \"acme/web/shop\"\ntoken_file = %q\n", below.URL+"/gitlab/", token))
	if err != nil {
		t.Fatal(err)
	}
	put, err := probes["forge"].Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var snap fleet.Snapshot
	put(&snap)
	f := snap.Forge.Value
	if len(f.Issues) != 1 || !f.Issues[0].Ready.Or(false) || len(f.Pulls) != 1 || !f.Pulls[0].Conflict.Or(false) || f.Projects[0].URL != below.URL+"/gitlab/acme/web/shop" {
		t.Errorf("%+v", f)
	}
	o, err := w.writable()
	if err != nil || o.Projects["shop"].Pulls == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	if i, err := o.Projects["shop"].Pulls.Issue(t.Context(), 7); err != nil || !i.IsPull {
		t.Errorf("%+v, %v", i, err)
	}
	if h, ok := probes["forge"].(observe.Hearer); !ok || !h.Hear("acme/web/shop") || h.Hear("acme/shop") {
		t.Error("it does not hear of its own repository, or of another")
	}
}
