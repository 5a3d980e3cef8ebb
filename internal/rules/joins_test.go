package rules

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// joinWorld has two projects. Ann works on an issue of the shop; bob is registered
// for the bank and has a pull request in the shop; cid is of no known project.
func joinWorld() *fleet.Snapshot {
	ok := fleet.Sight{Status: fleet.StatusOK}
	return &fleet.Snapshot{
		Agents: fleet.Part[[]fleet.Agent]{Sight: ok, Value: []fleet.Agent{
			{Name: "ann", State: fleet.StateWorking, Worktree: "/w/ann"}, {Name: "bob", State: fleet.StateIdle, Project: "bank"}, {Name: "cid", State: fleet.StateUnknown}}},
		Repos: fleet.Part[fleet.Repos]{Sight: ok, Value: fleet.Repos{Worktrees: []fleet.Worktree{{Path: "/w/ann"}, {Path: "/w"}}}},
		Forge: fleet.Part[fleet.Forge]{Sight: ok, Value: fleet.Forge{
			Projects: []fleet.Project{{Name: "shop"}, {Name: "bank"}, {Name: "void"}},
			Issues:   []fleet.Issue{{Name: "shop#1", Project: "shop", Agent: "ann"}, {Name: "shop#2", Project: "shop"}, {Name: "bank#1", Project: "bank", Agent: "bob"}},
			Pulls: []fleet.PullRequest{{Name: "shop!5", Project: "shop", Agent: "bob", Closes: []string{"shop#2"}}, {Name: "shop!6", Project: "shop", Agent: "ann", Closes: []string{"shop#1"}},
				{Name: "bank!7", Project: "bank", Agent: "gone"}}}},
	}
}

func TestJoins(t *testing.T) {
	s := joinWorld()
	names := func(list string) string {
		key := "name"
		if list == "tree" {
			key = "path"
		}
		return fmt.Sprintf("list_text(%s.map(x, x.%s))", list, key)
	}
	for _, c := range []struct {
		over fleet.Kind
		of   any
		list string
		want string
	}{
		{fleet.KindIssue, &s.Forge.Value.Issues[0], "its_agents", "ann"},
		{fleet.KindIssue, &s.Forge.Value.Issues[1], "its_agents", ""},
		{fleet.KindPull, &s.Forge.Value.Pulls[0], "its_agents", "bob"},
		{fleet.KindPull, &s.Forge.Value.Pulls[2], "its_agents", ""},
		{fleet.KindProject, &s.Forge.Value.Projects[0], "its_agents", "ann, bob, cid"},
		{fleet.KindProject, &s.Forge.Value.Projects[1], "its_agents", "bob, cid"},
		{fleet.KindProject, &s.Forge.Value.Projects[2], "its_agents", "cid"},
		{fleet.KindIssue, &s.Forge.Value.Issues[0], "fixes", "shop!6"},
		{fleet.KindIssue, &s.Forge.Value.Issues[1], "fixes", "shop!5"},
		{fleet.KindIssue, &s.Forge.Value.Issues[2], "fixes", ""},
		{fleet.KindAgent, &s.Agents.Value[0], "tree", "/w/ann"},
		{fleet.KindAgent, &s.Agents.Value[1], "tree", ""},
	} {
		set, err := (Checker{}).Parse("test", []byte(fmt.Sprintf("[rule.x]\npriority='P3'\nover=%q\nexpr='true'\nsummary=%q", c.over, names(c.list))))
		if err != nil {
			t.Fatal(err)
		}
		v := NewView(s, false)
		v.Subject(c.over, c.of)
		if got, broken := set.Rule("x").Summarize(v); got != c.want || broken != "" {
			t.Errorf("%s of %s: %q, want %q (%s)", c.list, c.over, got, c.want, broken)
		}
	}
}

// Who is at work cannot be told while one of them cannot be; and nobody is known
// to be while the agents cannot be seen, or were seen too long ago to act.
func TestJoinsThatCannotBeTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fleet.Snapshot)
		fresh  bool
		want   Truth
	}{
		"one cannot be told": {func(*fleet.Snapshot) {}, false, Unknown},
		"all can":            {func(s *fleet.Snapshot) { s.Agents.Value[2].State = fleet.StateIdle }, false, False},
		"one is known to be": {func(s *fleet.Snapshot) { s.Agents.Value[0].State = fleet.StateStuck }, false, True},
		"agents not seen":    {func(s *fleet.Snapshot) { s.Agents.Status = fleet.StatusUnknown }, false, Unknown},
		"agents are stale": {func(s *fleet.Snapshot) {
			s.Agents.Value[0].State = fleet.StateStuck
			s.Agents.Status = fleet.StatusStale
		}, true, Unknown},
		"stale is still seen": {func(s *fleet.Snapshot) {
			s.Agents.Value[0].State = fleet.StateStuck
			s.Agents.Status = fleet.StatusStale
		}, false, True},
	} {
		s := joinWorld()
		c.change(s)
		set, err := (Checker{}).Parse("test", []byte("[rule.x]\npriority='P3'\nover='project'\nexpr=\"its_agents.exists(a, a.state == 'stuck')\""))
		if err != nil {
			t.Fatal(err)
		}
		v := NewView(s, c.fresh)
		v.Subject(fleet.KindProject, &s.Forge.Value.Projects[0])
		if got, why := set.Rule("x").Test(v); got != c.want {
			t.Errorf("%s: %d (%s), want %d", name, got, why, c.want)
		}
		if parts := set.Rule("x").Parts(); len(parts) != 2 || parts[0] != fleet.PartAgents {
			t.Errorf("it rests on %v", parts)
		}
	}
}

// Who works in a project is not known where agents may be that are not seen; who works on an
// issue is, as far as it names one that is.
func TestJoinsWhereAgentsAreElsewhere(t *testing.T) {
	s := joinWorld()
	s.From.AgentsElsewhere = true
	set, err := (Checker{}).Parse("test", []byte("[rule.x]\npriority='P3'\nover='project'\nexpr=\"its_agents.exists(a, a.state == 'working')\"\n[rule.y]\npriority='P3'\nover='issue'\nexpr=\"its_agents.exists(a, a.state == 'working')\""))
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(s, false)
	v.Subject(fleet.KindProject, &s.Forge.Value.Projects[0])
	if got, why := set.Rule("x").Test(v); got != Unknown || !strings.Contains(why, "[agents] foreign_namespace = false") {
		t.Errorf("of the project it is %d (%s)", got, why)
	}
	v.Subject(fleet.KindIssue, &s.Forge.Value.Issues[0])
	if got, why := set.Rule("y").Test(v); got != True {
		t.Errorf("of the issue it is %d (%s)", got, why)
	}
}

// An action on each issue, in a rule over projects, joins with the issue.
func TestJoinsOfATarget(t *testing.T) {
	s := joinWorld()
	set, err := (Checker{}).Parse("test", []byte("[rule.x]\npriority='P3'\nover='project'\nexpr='true'\nactions=[{ do = 'label', targets = 'issue', where = 'its_agents.size() == 1 && fixes.size() == 1', text = '+x' }]"))
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(s, false)
	v.Subject(fleet.KindProject, &s.Forge.Value.Projects[0])
	for i, want := range []Truth{True, False, False} {
		v.Target(fleet.KindIssue, &s.Forge.Value.Issues[i])
		if got, why := set.Rule("x").Actions[0].Wants(v); got != want {
			t.Errorf("%s: %d (%s), want %d", s.Forge.Value.Issues[i].Name, got, why, want)
		}
	}
}

// Other rules have no such word.
func TestJoinsAreOfIssuesAndProjects(t *testing.T) {
	for _, expr := range []string{"its_agents.size() > 0", "fixes.size() > 0"} {
		for _, over := range []string{"host", "agent", "pipeline"} {
			if _, err := (Checker{}).Parse("test", []byte(fmt.Sprintf("[rule.x]\npriority='P3'\nover=%q\nexpr=%q", over, expr))); err == nil {
				t.Errorf("a rule over %s may say %s", over, expr)
			}
		}
	}
}

// A rule of a person's, or of a recording, that has the former word means the same.
func TestFormerWordOfAJoin(t *testing.T) {
	s := joinWorld()
	s.Agents.Value[0].State = fleet.StateStuck
	var found [2]string
	for i, word := range []string{"its_agents", "crew"} {
		set, err := (Checker{}).Parse("test", []byte("[rule.x]\npriority='P3'\nover='project'\nexpr=\""+word+".exists(a, a.state == 'stuck')\""))
		if err != nil {
			t.Fatal(err)
		}
		v := NewView(s, false)
		v.Subject(fleet.KindProject, &s.Forge.Value.Projects[0])
		got, _ := set.Rule("x").Test(v)
		found[i] = fmt.Sprint(got == True, set.Rule("x").Parts())
	}
	if found[0] != found[1] || found[0] != fmt.Sprint(true, []fleet.PartName{fleet.PartAgents, fleet.PartForge}) {
		t.Errorf("by crew it is %s, by its_agents %s", found[1], found[0])
	}
	if _, err := (Checker{}).Parse("test", []byte("[rule.x]\npriority='P3'\nover='host'\nexpr='crew.size() > 0'")); err == nil {
		t.Error("a rule over host may say crew")
	}
}
