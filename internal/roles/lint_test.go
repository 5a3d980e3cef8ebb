package roles_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/roles"
)

// Each doubt is told of the role that it is about, with its key, and of no other.
func TestRoleFindings(t *testing.T) {
	presets := []fleet.Role{{Name: "lead", Preset: "lead", MaySpawn: []string{"scout"}}}
	queue := fleet.MergeQueue{Name: "shop", Repo: "/src/shop", Review: "reader"}
	ok := fleet.Role{Name: "a", Kind: "claude", Repo: "/src/shop", Prompt: "do"}
	with := func(change func(*fleet.Role)) fleet.Role {
		r := ok
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		roles  []fleet.Role
		teams  []fleet.Team
		untold string
		gone   string
		unread string
		want   []string // of the first role
	}{
		"nothing":             {roles: []fleet.Role{ok}},
		"may start no role":   {roles: []fleet.Role{with(func(r *fleet.Role) { r.MaySpawn = []string{"scout"} })}, want: []string{"may_spawn: custos.toml has no [role.scout], and no work is handed out to one"}},
		"its preset says so":  {roles: []fleet.Role{with(func(r *fleet.Role) { r.Preset, r.MaySpawn = "lead", []string{"scout"} })}, want: []string{"note may_spawn: custos.toml has no [role.scout], and no work is handed out to one"}},
		"starts itself":       {roles: []fleet.Role{with(func(r *fleet.Role) { r.MaySpawn = []string{"a"} })}},
		"a cycle":             {roles: []fleet.Role{with(func(r *fleet.Role) { r.MaySpawn = []string{"b"} }), {Name: "b", MaySpawn: []string{"c", "b"}}, {Name: "c", MaySpawn: []string{"a"}}}, want: []string{"note may_spawn: its agents may start it again through others: a → b → c → a"}},
		"leads to a cycle":    {roles: []fleet.Role{with(func(r *fleet.Role) { r.MaySpawn = []string{"b"} }), {Name: "b", MaySpawn: []string{"c"}}, {Name: "c", MaySpawn: []string{"b"}}}},
		"untold":              {roles: []fleet.Role{ok}, untold: "no way", want: []string{"prompt: its agents are not told it: no way"}},
		"untold, of nothing":  {roles: []fleet.Role{with(func(r *fleet.Role) { r.Prompt = "" })}, untold: "no way"},
		"gone":                {roles: []fleet.Role{ok}, gone: "it is gone", want: []string{"repo: it is gone"}},
		"folder gone":         {roles: []fleet.Role{with(func(r *fleet.Role) { r.Repo, r.Dir = "", "/x" })}, gone: "it is gone", want: []string{"dir: it is gone"}},
		"unread":              {roles: []fleet.Role{ok}, unread: "it is gone", want: []string{"context: no agent of it is started: it is gone"}},
		"takes, nowhere":      {roles: []fleet.Role{{Name: "a", Takes: "ready"}}, want: []string{`repo: takes = "ready" hands work out to it, and it names no place: repo, of which each has a worktree, or dir`}},
		"takes, in a folder":  {roles: []fleet.Role{{Name: "a", Takes: "ready", Dir: "/x"}}},
		"in a team, nowhere":  {roles: []fleet.Role{{Name: "a"}}, teams: []fleet.Team{{Name: "f", Roles: []string{"a"}}}, want: []string{`repo: [team.f] hands work out to it, and it names no place: repo, of which each has a worktree, or dir`}},
		"reviews, nowhere":    {roles: []fleet.Role{{Name: "reader"}}, want: []string{`repo: [merge.shop] hands work out to it, and it names no place: repo, of which each has a worktree, or dir`}},
		"reviews in a tree":   {roles: []fleet.Role{with(func(r *fleet.Role) { r.Name = "reader" })}, want: []string{"note repo: it reviews for [merge.shop], and a reader needs a folder (dir) and no worktree"}},
		"merged":              {roles: []fleet.Role{with(func(r *fleet.Role) { r.Ends = "merged" })}},
		"merged in a folder":  {roles: []fleet.Role{{Name: "a", Dir: "/src/shop/x", Ends: "merged"}}},
		"merged nowhere":      {roles: []fleet.Role{with(func(r *fleet.Role) { r.Repo, r.Ends = "/src/shop2", "merged" })}, want: []string{"ends: work of its agents is closed by its merge alone, and no [merge.NAME] is of its repository"}},
		"merged beside a dir": {roles: []fleet.Role{{Name: "a", Dir: "/src/shop2", Ends: "merged"}}, want: []string{"ends: work of its agents is closed by its merge alone, and no [merge.NAME] is of its repository"}},
	} {
		w := roles.World{Roles: c.roles, Presets: presets, Teams: c.teams, Queues: []fleet.MergeQueue{queue}, Untold: func(fleet.Role) string { return c.untold }, Gone: func(fleet.Role) string { return c.gone }, Unread: func(fleet.Role) string { return c.unread }, Line: unsaid}
		var got []string
		for _, f := range roles.Findings(c.roles[0], w) {
			if f.Role != c.roles[0].Name {
				t.Errorf("%s: of %s: %+v", name, c.roles[0].Name, f)
			}
			got = append(got, f.Key+": "+f.What)
			if f.Note {
				got[len(got)-1] = "note " + got[len(got)-1]
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
	}
}

// A cycle is told of a role exactly where its agents can come to start it again through others.
func TestRoleCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "roles")
		all := make([]fleet.Role, n)
		for i := range all {
			all[i].Name = fmt.Sprint(i)
			for j := range n {
				if rapid.Bool().Draw(t, "may") {
					all[i].MaySpawn = append(all[i].MaySpawn, fmt.Sprint(j))
				}
			}
		}
		none := func(fleet.Role) string { return "" }
		for i := range all {
			reached, todo := map[string]bool{}, slices.Clone(all[i].MaySpawn)
			for len(todo) > 0 {
				next := todo[0]
				todo = todo[1:]
				if next == all[i].Name || reached[next] {
					continue
				}
				reached[next] = true
				todo = append(todo, all[slices.IndexFunc(all, func(r fleet.Role) bool { return r.Name == next })].MaySpawn...)
			}
			want := slices.ContainsFunc(all, func(r fleet.Role) bool { return reached[r.Name] && slices.Contains(r.MaySpawn, all[i].Name) })
			if got := roles.Findings(all[i], roles.World{Roles: all, Untold: none, Gone: none, Unread: none, Line: unsaid}); len(got) > 0 != want {
				t.Fatalf("%+v: of %d: %+v, want a cycle: %v", all, i, got, want)
			}
		}
	})
}

// unsaid is of roles that no file has.
func unsaid(string, string) string { return "" }
