package agentrun

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/fleet"
)

// A credential is given to agents of its roles, read at the start itself, and another agent may not name its variable.
func TestCredentialsAreOfTheirRoles(t *testing.T) {
	w, _ := accounts(t)
	read, fails := 0, error(nil)
	w.o.Credentials = []Credential{{Name: "forge", Env: "FORGE_TOKEN", From: "REVIEW_TOKEN", Roles: []string{"reviewer"}, Read: func(context.Context) (string, error) { read++; return "s3cret", fails }}}
	w.o.Environ = func() []string { return []string{"HOME=/home/x", "FORGE_TOKEN=of-custos"} }
	plan := func(r fleet.Registration) (Begin, error) {
		r.Name, r.Kind, r.Where = "bob", "claude", fleet.WhereHeadless
		return w.Plan(r, "i1", t.TempDir(), How{Prompt: "x"})
	}
	token := func(env []string) (all []string) {
		for _, kv := range env {
			if strings.HasPrefix(kv, "FORGE_TOKEN=") {
				all = append(all, kv)
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		r    fleet.Registration
		want string // "refused", or what it is given
	}{
		"of the role":                                        {fleet.Registration{Role: "reviewer"}, "FORGE_TOKEN=s3cret"},
		"of the role, and asks for it":                       {fleet.Registration{Role: "reviewer", Env: []string{"FORGE_TOKEN"}}, "FORGE_TOKEN=s3cret"},
		"of another role":                                    {fleet.Registration{Role: "builder"}, ""},
		"of no role":                                         {fleet.Registration{}, ""},
		"of another role, and asks for it":                   {fleet.Registration{Role: "builder", Env: []string{"FORGE_TOKEN"}}, "refused"},
		"of the role, and names where it is":                 {fleet.Registration{Role: "reviewer", Env: []string{"REVIEW_TOKEN"}}, "refused"},
		"of the role, asked for by an agent":                 {fleet.Registration{Role: "reviewer", Parent: "lead", DesiredBy: fleet.ByAgent("lead")}, "refused"},
		"of the role, asked for by an agent, kept by Custos": {fleet.Registration{Role: "reviewer", Parent: "lead", DesiredBy: fleet.ByCustos}, "refused"},
		"of the role, asked for by an agent of no record":    {fleet.Registration{Role: "reviewer", DesiredBy: fleet.ByAgent("lead")}, "refused"},
		"of the role, below an agent":                        {fleet.Registration{Role: "reviewer", Parent: "lead", DesiredBy: "root"}, "FORGE_TOKEN=s3cret"},
		"of the role, kept by Custos":                        {fleet.Registration{Role: "reviewer", DesiredBy: fleet.ByCustos}, "FORGE_TOKEN=s3cret"},
		"of another role, asked for by an agent":             {fleet.Registration{Role: "builder", Parent: "lead", DesiredBy: fleet.ByAgent("lead")}, ""},
		"of another role, and is given another":              {fleet.Registration{Set: []string{"FORGE_TOKEN=x"}}, "refused"},
	} {
		before := read
		b, err := plan(c.r)
		if c.want == "refused" {
			if !errors.Is(err, act.ErrLasting) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || read != before || c.r.Env == nil && token(b.Launch.Env) != nil {
			t.Errorf("%s, planned: %v, read %d times, %q", name, err, read-before, token(b.Launch.Env))
		}
		if err := b.give(t.Context()); err != nil || strings.Join(token(b.Launch.Env), " ") != c.want {
			t.Errorf("%s: %v %q, want %q", name, err, token(b.Launch.Env), c.want)
		}
	}
	fails = errors.New("the vault is closed")
	b, err := plan(fleet.Registration{Role: "reviewer"})
	if err == nil {
		err = b.give(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "cannot give it FORGE_TOKEN of [credential.forge]: the vault is closed") || slices.Contains(b.Launch.Env, "FORGE_TOKEN=s3cret") {
		t.Errorf("what cannot be read: %v", err)
	}
}

func TestCheckVariable(t *testing.T) {
	for env, ok := range map[string]bool{"FORGE_TOKEN": true, "GH_TOKEN": true, "ANTHROPIC_API_KEY": true, "": false, "a-b": false, "f_token": false, "PATH": false, "LD_PRELOAD": false, "HTTPS_PROXY": false,
		"CUSTOS_RUN": false, "CUSTOS_TOKEN": false, "GIT_TOKEN": false, "BASH_ENV": false, "NODE_OPTIONS": false, "CLAUDE_CONFIG_DIR": false} {
		if err := CheckVariable(env); (err == nil) != ok {
			t.Errorf("%q: %v", env, err)
		}
	}
}
