package forge

import (
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

func TestWhoWorksOnWhat(t *testing.T) {
	v := view{Project: Project{Name: "shop", Repo: "acme/shop", URL: "https://git.example", Path: "/src/shop", Agents: agentPattern("shop")},
		trees: []Tree{{"/src/shop", "main"}, {"/wt/a", "fix/issue-44"}, {"/wt/b", "topic"}}}
	ours := func(h Hand) Hand { h.Registered = true; return h }
	for name, c := range map[string]struct {
		hands       []Hand
		issue, pull string // who works on issue 44, and on the pull request of branch topic that closes 44
	}{
		"nobody":                   {nil, "", ""},
		"by task":                  {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "Mend #44, please"})}, "a", "a"},
		"by number":                {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "44"})}, "a", "a"},
		"by address":               {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "https://git.example/acme/shop/issues/44"})}, "a", "a"},
		"by GitLab's address":      {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "do https://git.example/acme/shop/-/work_items/44."})}, "a", "a"},
		"an address of all":        {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "https://git.example/acme/shop/issues"})}, "", ""},
		"another kind of address":  {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "https://git.example/acme/shop/-/merge_requests/44"})}, "", ""},
		"the pull request's":       {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "review shop!7"})}, "a", "a"},
		"another project's task":   {[]Hand{ours(Hand{Name: "a", Project: "blog", Task: "#44"})}, "", ""},
		"another number":           {[]Hand{ours(Hand{Name: "a", Project: "shop", Task: "#440"})}, "", ""},
		"by branch of worktree":    {[]Hand{{Name: "x", Dir: "/wt/a/sub"}}, "x", ""},
		"by the branch itself":     {[]Hand{{Name: "x", Dir: "/wt/b"}}, "x", "x"},
		"beside the worktree":      {[]Hand{{Name: "x", Dir: "/wt/ab"}}, "", ""},
		"by name":                  {[]Hand{{Name: "dev-qwen-shop-44"}}, "dev-qwen-shop-44", "dev-qwen-shop-44"},
		"another project's name":   {[]Hand{{Name: "dev-blog-44"}, {Name: "dev-shop-4"}}, "", ""},
		"registry before the name": {[]Hand{{Name: "dev-shop-44"}, ours(Hand{Name: "z", Project: "shop", Task: "#44"})}, "z", "z"},
		"branch before the name":   {[]Hand{{Name: "dev-shop-44"}, {Name: "z", Dir: "/wt/b"}}, "dev-shop-44", "z"},
	} {
		issues := []fleet.Issue{{Name: "shop#44", Number: 44, Open: fleet.Known(true)}, {Name: "shop#45", Number: 45, Open: fleet.Known(true)}}
		pulls := []fleet.PullRequest{{Name: "shop!7", Number: 7, Branch: "topic", Closes: []string{"shop#44"}}}
		ended := []fleet.EndedPull{{Name: "shop!7", Number: 7, Branch: "topic"}}
		v.assign(issues, pulls, ended, c.hands)
		if byBranchOrTask := map[string]string{"the pull request's": "a", "by the branch itself": "x", "branch before the name": "z"}; ended[0].Agent != byBranchOrTask[name] {
			t.Errorf("%s: the one that ended: %q", name, ended[0].Agent)
		}
		if issues[0].Agent != c.issue || pulls[0].Agent != c.pull || issues[1].Agent != "" {
			t.Errorf("%s: issue %q, pull request %q, other %q; want %q, %q", name, issues[0].Agent, pulls[0].Agent, issues[1].Agent, c.issue, c.pull)
		}
	}
}

func TestIssueOf(t *testing.T) {
	for branch, want := range map[string]int{"fix/issue-44": 44, "fix/issue-44-2": 44, "issue-7": 7, "feature/12-login": 12, "main": 0, "release/1.2": 0,
		"fix/v2": 0, "bug_9": 9, "user/issue/3": 3, "fix/issue-99999999999": 0, "v1.4-issue-5": 5, "fix-1.2.3": 0} {
		if got := issueOf(branch); got != want {
			t.Errorf("%q: %d, want %d", branch, got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for want, list := range map[string][]forge.Review{
		"none":              nil,
		"approved":          {{Author: "a", State: "changes requested"}, {Author: "A", State: "approved"}, {Author: "b", State: "commented"}},
		"changes requested": {{Author: "a", State: "changes requested"}, {Author: "b", State: "approved"}},
		"commented":         {{Author: "a", State: "commented"}, {Author: "b", State: "dismissed"}},
		"requested":         {{Author: "a", State: "requested"}},
	} {
		if got := verdict(list, false); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
	}
}
