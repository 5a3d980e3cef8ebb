package agents

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// Where an agent works tells what it is, where configuration says so.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("app-12.phase", "PHASE:awaiting_ci\n")
	write("app-13.phase", "PHASE:done\nReason: x\n")
	write("app-12.context", "the parser is done")
	p := newWorld().probe(t, func(o *Options) {
		o.Places = []Place{
			{Path: "/gt/{rig}/polecats/{name}", System: "gastown", Role: "polecat", Name: "{rig}/polecats/{name}", Project: "{rig}", Parent: "{rig}/witness"},
			{Path: "/tmp/{project}-worktree-{issue}", Role: "dev", Project: "{project}", Task: "{project}#{issue}", Phase: dir + "/{project}-{issue}.phase", Notes: dir + "/{project}-{issue}.context"},
			{Path: "/tmp/disinto-{role}-{project}", Role: "{role}", Project: "{project}"},
		}
		o.Roles = map[string]Role{"polecat": {Start: []string{"claude"}, Set: []string{"ROLE={role}/{name}"}, Restart: "always"}, "*": {Parent: "overseer"}}
	})
	for dir, want := range map[string]fleet.Origin{
		"/gt/shop/polecats/nux":        {Name: "shop/polecats/nux", Role: "polecat", Project: "shop", Parent: "shop/witness", Restart: "always"},
		"/gt/shop/polecats/nux/shop":   {Name: "shop/polecats/nux", Role: "polecat", Project: "shop", Parent: "shop/witness", Restart: "always"},
		"/tmp/app-worktree-12":         {Name: "s", Role: "dev", Project: "app", Task: "app#12", Parent: "overseer"},
		"/tmp/app-worktree-13":         {Name: "s", Role: "dev", Project: "app", Task: "app#13", Parent: "overseer", Over: "its phase is done"},
		"/tmp/disinto-gardener-my-app": {Name: "s", Role: "gardener", Project: "my-app", Parent: "overseer"},
	} {
		o := p.origin(fleet.Agent{CWD: fleet.Known(dir), Pane: &fleet.Pane{Session: "s"}})
		if o == nil || o.Name != want.Name || o.Role != want.Role || o.Project != want.Project || o.Task != want.Task || o.Parent != want.Parent || o.Over != want.Over || o.Restart != want.Restart {
			t.Errorf("%s: %+v", dir, o)
		}
		if want.Task == "app#12" && (o.Checkpoint == nil || o.Checkpoint.Summary != "the parser is done") {
			t.Errorf("%s: %+v", dir, o.Checkpoint)
		}
		if want.Role == "polecat" && (len(o.Set) != 1 || o.Set[0] != "ROLE=polecat/shop/polecats/nux") {
			t.Errorf("%s: %v", dir, o.Set)
		}
	}
	for _, dir := range []string{"", "/gt/shop/crew/ann", "/tmp/x"} {
		if o := p.origin(fleet.Agent{CWD: fleet.Known(dir)}); o != nil {
			t.Errorf("%q: %+v", dir, o)
		}
	}
}

func TestBadPlaces(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"relative":       func(o *Options) { o.Places = []Place{{Path: "x", Role: "r"}} },
		"no role":        func(o *Options) { o.Places = []Place{{Path: "/x"}} },
		"a word of none": func(o *Options) { o.Places = []Place{{Path: "/x/{a}", Role: "{b}"}} },
		"a word twice":   func(o *Options) { o.Places = []Place{{Path: "/x/{a}/{a}", Role: "r"}} },
		"a strange wish": func(o *Options) { o.Roles = map[string]Role{"r": {Restart: "soon"}} },
		"a nameless set": func(o *Options) { o.Roles = map[string]Role{"r": {Set: []string{"=x"}}} },
	} {
		o := newWorld().probe(t, nil).o
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestARoleWithAnUnknownAccount(t *testing.T) {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	for account, ok := range map[string]bool{"": true, "own": true, "onw": false} {
		_, err := New(Options{Kinds: kinds, Now: func() fleet.Instant { return fleet.Instant{} }, Procs: func(context.Context) ([]fleet.Process, error) { return nil, nil },
			Accounts: fleet.Accounts{{Name: "own", Kind: "claude"}}, Roles: map[string]Role{"builder": {Account: account}}})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "there are own") {
			t.Errorf("%q: %v", account, err)
		}
	}
}
