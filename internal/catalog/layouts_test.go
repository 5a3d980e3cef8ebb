package catalog

import (
	"strings"
	"testing"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/rules"
)

// TestLayoutExamples: what a layout shows in comments is good when it is uncommented.
func TestLayoutExamples(t *testing.T) {
	text, err := config.Layout("disinto")
	if err != nil {
		t.Fatal(err)
	}
	w, err := world(t, examples(string(text), "[forge.", "[ci.", "[vault."))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := newVaults(w); err != nil || p == nil {
		t.Errorf("vaults: %v", err)
	}
	forges, err := w.forges()
	if err != nil || len(forges) != 1 {
		t.Fatalf("%d forges, %v", len(forges), err)
	}
	watched, key, err := w.watched("product", forges["product"])
	if err != nil || watched.Switch == "" || watched.Path == "" {
		t.Errorf("%s: %v, %+v", key, err, watched)
	}
	cis, err := w.cis()
	if at := cis["product"]; err != nil || at.system.Project != watched.Name || at.system.Workers["agent-1"] != "disinto-woodpecker-agent" {
		t.Errorf("%+v, %v", at.system, err)
	}
}

// examples are the sections in comments that begin like one of these.
func examples(text string, begins ...string) string {
	var out strings.Builder
	on := false
	for line := range strings.Lines(text) {
		code, comment := strings.CutPrefix(line, "# ")
		for _, b := range begins {
			on = on || strings.HasPrefix(code, b)
		}
		if on = on && comment; on {
			out.WriteString(code)
		}
	}
	return out.String()
}

// What the seed's supervisor mends without asking is mended in its layout without
// asking, once the fleet's mode is auto; its projects are held to their primary branch.
func TestLayoutDisintoMends(t *testing.T) {
	text, err := config.Layout("disinto")
	if err != nil {
		t.Fatal(err)
	}
	check := rules.Checker{Actions: ActionNames()}
	set, err := check.Parse("rules.toml", rules.Builtin(), rules.Source{Name: "custos.toml", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, name := range []string{"memory-crisis", "disk-pressure", "log-large", "docker-disk", "lock-dead", "lock-dead-idle", "rebase-stale", "repo-wrong-branch",
		"phase-escalate-closed", "worktree-stale", "agent-oneshot-stale", "pr-stale"} {
		want[name] = true
	}
	for _, r := range set.Rules() {
		if want[r.Name] && r.Mode != fleet.ModeAuto {
			t.Errorf("%s is in mode %s", r.Name, r.Mode)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no rules %v", want)
	}
	w, err := world(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := w.git(); err != nil || len(o.Pinned) != 1 {
		t.Errorf("pinned: %+v, %v", o.Pinned, err)
	}
}
