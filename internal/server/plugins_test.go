package server

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// pluginsOf is the plugins of a world: backup, of which there is a run.
type pluginsOf struct{ runsOf }

func (p pluginsOf) Plugins(context.Context) ([]api.PluginRow, error) {
	return []api.PluginRow{{Name: "backup", Gate: "manual", How: "script"}}, nil
}

func (p pluginsOf) Code(context.Context) ([]fleet.CodeFacts, error) {
	return []fleet.CodeFacts{{Dir: "/p/.custos", Digest: "d", Changes: fleet.Known("+ a.toml")}, {Dir: "/q", Changes: fleet.Unknown[string]("git hangs")}}, nil
}

func (p pluginsOf) Trust(_ context.Context, dir, digest, by string) error {
	if by == "" || digest != "d" {
		return fmt.Errorf("%w: it is not what was shown", ledger.ErrIllegal)
	}
	return nil
}

func (p pluginsOf) Plugin(_ context.Context, name string) (api.Plugin, error) {
	if name != "backup" && name != "recording" {
		return api.Plugin{}, fs.ErrNotExist
	}
	return api.Plugin{PluginRow: api.PluginRow{Name: name}, Problems: []api.PluginProblem{}}, nil
}

func (p pluginsOf) Lint(_ context.Context, q api.PluginQuery) (api.Plugin, error) {
	return api.Plugin{PluginRow: api.PluginRow{Name: "here", Source: q.File}, Problems: []api.PluginProblem{}}, nil
}

func (p pluginsOf) StartPlugin(_ context.Context, name string, _ api.PluginRunRequest, by string) (fleet.Run, error) {
	if name != "backup" && name != "recording" {
		return fleet.Run{}, fmt.Errorf("no: %w", fs.ErrNotExist)
	}
	return fleet.Run{ID: "r", Formula: "plugin:" + name, By: by}, nil
}

func (p pluginsOf) History(_ context.Context, name string, _ int) ([]fleet.Run, error) {
	if name != "backup" && name != "recording" {
		return nil, fs.ErrNotExist
	}
	return p.w.runs, nil
}

// TestPluginsThatAreNot: an unknown plugin is the caller's mistake, and what is meant
// is guessed.
func TestPluginsThatAreNot(t *testing.T) {
	c := client(newWorld())
	_, err := c.Plugin(t.Context(), "bakcup")
	wantError(t, err, api.NotFound, `did you mean "backup"?`)
	_, err = c.RunPlugin(t.Context(), "bakcup", api.PluginRunRequest{})
	wantError(t, err, api.NotFound, "bakcup")
	_, err = c.PluginRuns(t.Context(), "bakcup", 3)
	wantError(t, err, api.NotFound, "bakcup")
	_, err = c.LintPlugin(t.Context(), api.PluginQuery{File: "plugin.md"})
	wantError(t, err, api.BadInput, "absolute")
}

// TestPluginsAreRunByPeople: a plugin is a program of the fleet's owner.
func TestPluginsAreRunByPeople(t *testing.T) {
	for _, r := range routes() {
		if r.method == http.MethodPost && r.pattern == "/v1/plugins/{name}/run" && r.access != person {
			t.Error("an agent may run a plugin")
		}
	}
	w := newWorld()
	w.agent = "builder"
	_, err := client(w).RunPlugin(t.Context(), "backup", api.PluginRunRequest{})
	wantError(t, err, api.Forbidden, "it takes a person")
}

// Who trusts names what was shown, and is a person.
func TestTrust(t *testing.T) {
	w := newWorld()
	c := client(w)
	list, err := c.Trust(t.Context(), api.TrustRequest{Dir: "/p/.custos", Digest: "d"})
	if err != nil || len(list.Code) != 2 || list.Code[0].Changes != "+ a.toml" || list.Code[1].Unknown != "git hangs" || len(list.Next) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	_, err = c.Trust(t.Context(), api.TrustRequest{Dir: "/p/.custos", Digest: "e"})
	wantError(t, err, api.BadInput, "it is not what was shown")
	_, err = c.Trust(t.Context(), api.TrustRequest{Dir: "/p/.custos"})
	wantError(t, err, api.BadInput, "the digest of what was shown")
	w.agent = "builder"
	_, err = c.Trust(t.Context(), api.TrustRequest{Dir: "/p/.custos", Digest: "d"})
	wantError(t, err, api.Forbidden, "")
}
