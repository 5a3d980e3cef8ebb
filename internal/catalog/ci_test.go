package catalog

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
)

const ciGood = "[ci.a]\nkind = \"woodpecker\"\nurl = \"https://ci.example.org\"\nrepo = \"acme/widget\"\ntoken_env = \"T\"\n"

func TestCISections(t *testing.T) {
	w, err := world(t, ciGood+"attempts = 2\nworkers = { one = \"c1\" }\nworker_silent = \"3m\"\nworker_forget = \"1d\"\nevery = \"2m\"\nprimary = \"trunk\"\n"+
		"[[ci.a.infra]]\nname = \"mine\"\nlog = \"x\"\n"+
		"[ci.b]\nkind = \"github-actions\"\nrepo = \"acme/other\"\nproject = \"shop\"\ntoken_env = \"T\"\nwatch_only = true\nevery = \"30s\"\n")
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.cis()
	if err != nil {
		t.Fatal(err)
	}
	a, b := all["a"].system, all["b"].system
	if a.Project != "widget" || a.Primary != "trunk" || a.Workers["one"] != "c1" || a.Silent != 3*time.Minute || a.Forget != 24*time.Hour || len(a.Infra) != 1 || a.Owner != fleet.OwnerConfigured || !a.TellsWorkers {
		t.Errorf("%+v", a)
	}
	if b.Project != "shop" || b.Owner != fleet.OwnerForeign || b.TellsWorkers {
		t.Errorf("%+v", b)
	}
	p, err := newCI(w)
	if err != nil || p.Spec().Every != 30*time.Second {
		t.Errorf("%+v, %v", p, err)
	}
	if h, err := w.host("https://api.github.com"); err != nil || h != all["b"].host {
		t.Error("the host has a budget of its own")
	}
	var names []string
	if err := w.eachCI(func(name string, at ciAt, _ *ci.Reader, _ *ci.Writer) { names = append(names, name) }); err != nil || len(names) != 1 || names[0] != "a" {
		t.Errorf("may be written to: %v, %v", names, err)
	}
}

// A mistake is named with its file, its line and its key.
func TestCISectionsAreChecked(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(ciGood, old, new, 1) }
	for text, want := range map[string]string{
		change("woodpecker", "jenkins"):                         `.toml:2: [ci.a] kind: "jenkins" is none of`,
		change("https://ci", "ci"):                              ".toml:3: [ci.a] url: want",
		change("https://ci", "https://me:secret@ci"):            ".toml:3: [ci.a] url: want",
		change("acme/widget", "widget"):                         ".toml:4: [ci.a] repo: want OWNER/NAME",
		change("token_env = \"T\"\n", ""):                       "token_file, token_command, token_env: want exactly one",
		ciGood + "token_file = \"/x\"\n":                        "want exactly one",
		ciGood + "every = \"1s\"\n":                             ".toml:6: [ci.a] every: 1s is too short",
		ciGood + "worker_silent = \"soon\"\n":                   ".toml:6: [ci.a] worker_silent: ",
		ciGood + "attempts = -1\n":                              ".toml:6: [ci.a] attempts: -1",
		ciGood + "project = \"a b\"\n":                          `.toml:6: [ci.a] project: "a b" is no name`,
		ciGood + "[[ci.a.infra]]\nname = \"x\"\nlog = \"(\"\n":  `[ci.a.infra.0] log: "(" is no regular expression`,
		ciGood + "[[ci.a.infra]]\nname = \"x\"\n":               `infra "x": want at least one`,
		ciGood + "atempts = 3\n":                                `did you mean "attempts"?`,
		ciGood + "[[ci.a.infra]]\nname = \"x\"\nlogs = \"x\"\n": `did you mean "log"?`,
	} {
		w, err := world(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = newCI(w); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}

// A project in a group within a group is called by its own name, and its webhooks are heard.
func TestGitLabCI(t *testing.T) {
	s := citest.At("", "gitlab-ci", "acme/web/shop")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.Add(citest.Run{Number: 3, State: "running"})
	w, err := world(t, "[ci.a]\nkind = \"gitlab-ci\"\nurl = \""+server.URL+"\"\nrepo = \"acme/web/shop\"\ntoken_command = [\"/bin/echo\", \""+citest.Token+"\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newCI(w)
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seen fleet.Snapshot
	put(&seen)
	if got := seen.CI.Value.Pipelines; len(got) != 1 || got[0].Name != "a/shop#1003" || got[0].State.Or("") != ci.Running || !got[0].Primary {
		t.Errorf("%+v", got)
	}
	if h, ok := p.(observe.Hearer); !ok || !h.Hear("acme/web/shop") || h.Hear("acme/shop") {
		t.Error("it does not hear of its own project, or of another")
	}
}

// From custos.toml to facts, and the token goes only where it belongs.
func TestCIFromTheSection(t *testing.T) {
	s := citest.New(t, "woodpecker")
	s.Add(citest.Run{Number: 3, State: "running"})
	w, err := world(t, "[ci.a]\nkind = \"woodpecker\"\nurl = \""+s.URL+"\"\nrepo = \"acme/widget\"\ntoken_command = [\"/bin/echo\", \""+citest.Token+"\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newCI(w)
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seen fleet.Snapshot
	put(&seen)
	if got := seen.CI.Value.Pipelines; len(got) != 1 || got[0].Name != "a/widget#3" || got[0].State.Or("") != ci.Running {
		t.Errorf("%+v", got)
	}
}
