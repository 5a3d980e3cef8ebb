package forgetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/forgetest"
)

// These tests ask the fakes as the documentation of each server says, with no client between.

const (
	first  = "1111111111111111111111111111111111111111"
	second = "2222222222222222222222222222222222222222"
)

// asker asks one forge as one account.
type asker struct {
	t     *testing.T
	s     *forgetest.Server
	repo  *forgetest.Repo
	token string
}

// forge is one with an open pull request, 7, whose check has not come out.
func forge(t *testing.T, kind string) (*asker, *forgetest.Pull) {
	t.Helper()
	s := forgetest.New(t, kind)
	a := &asker{t: t, s: s, repo: s.Repo("acme/shop"), token: s.Account("ann")}
	a.repo.Required["main"] = []string{"ci"}
	return a, a.repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix", Author: "bot"}, Base: "main", Branch: "fix", Head: first,
		Checks: []forgetest.Check{{Context: "ci", State: "pending"}}})
}

func (a *asker) as(login string) *asker {
	return &asker{t: a.t, s: a.s, repo: a.repo, token: a.s.Account(login)}
}

// ask sends a request and returns the status and what the answer says.
func (a *asker) ask(method, path, body string) (int, any) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.s.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	word := map[string]string{"github": "Bearer ", "gitlab": "Bearer "}[a.s.Kind]
	if word == "" {
		word = "token "
	}
	req.Header.Set("Authorization", word+a.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	var out any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			a.t.Fatalf("%s %s: %q: %v", method, path, text, err)
		}
	}
	return resp.StatusCode, out
}

// at follows a path like data.node.state or 0.type through an answer.
func at(v any, path string) any {
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			n := -1
			if _, err := fmt.Sscan(step, &n); err != nil || n < 0 || n >= len(x) {
				return nil
			}
			v = x[n]
		default:
			return nil
		}
	}
	return v
}

// want holds an answer against what it should be: a status, and pairs of a path and what is there.
func (a *asker) want(method, path, body string, status int, pairs ...any) {
	a.t.Helper()
	got, out := a.ask(method, path, body)
	if got != status {
		a.t.Errorf("%s %s %s: %d, want %d: %v", method, path, body, got, status, out)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if x := at(out, pairs[i].(string)); fmt.Sprint(x) != fmt.Sprint(pairs[i+1]) {
			a.t.Errorf("%s %s %s: %s is %v, want %v", method, path, body, pairs[i], x, pairs[i+1])
		}
	}
}

// state is what is true of the pull request inside the fake.
func (a *asker) state() (merged, asked bool) {
	a.s.Change(func() { p := a.repo.Pulls[7]; merged, asked = p.Merged, p.Auto != nil })
	return merged, asked
}

func (a *asker) is(merged, asked bool) {
	a.t.Helper()
	if m, x := a.state(); m != merged || x != asked {
		a.t.Errorf("merged: %v, want %v; asked for: %v, want %v", m, merged, x, asked)
	}
}

const (
	teaPull  = "/api/v1/repos/acme/shop/pulls/7"
	teaMerge = teaPull + "/merge"
	teaTime  = "/api/v1/repos/acme/shop/issues/7/timeline"
	teaWhen  = `{"Do":"merge","head_commit_id":"` + first + `","merge_when_checks_succeed":true}`
	teaNow   = `{"Do":"merge","head_commit_id":"` + first + `"}`
)

func tea(t *testing.T, test func(t *testing.T, a *asker, p *forgetest.Pull)) {
	for _, kind := range []string{"gitea", "forgejo"} {
		t.Run(kind, func(t *testing.T) {
			a, p := forge(t, kind)
			test(t, a, p)
		})
	}
}

func TestTeaSchedules(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.want("POST", teaMerge, teaWhen, 201)
		a.want("POST", teaMerge, teaWhen, 409, "message", "pull request is already scheduled to auto merge when checks succeed [pull_id: 3007]")
		a.want("GET", teaTime, "", 200, "0.type", "pull_scheduled_merge", "0.user.login", "ann", "1", nil)
		a.want("GET", teaMerge, "", 404)
		a.repo.Report(7, "failure")
		a.is(false, true)
		a.repo.Report(7, "success")
		a.is(true, false)
		a.want("GET", teaMerge, "", 204)
		a.want("GET", teaPull, "", 200, "merged", true, "merge_commit_sha", p.MergeCommit(), "merged_by.login", "ann", "state", "closed")
		a.want("GET", teaTime, "", 200, "1.type", "merge_pull")
		a.want("POST", teaMerge, teaNow, 405, "message", "")
	})
}

// Nobody looks at head_commit_id when a merge is scheduled, and a push leaves it scheduled: what is
// merged is the head that there is then.
func TestTeaMergesAnotherHead(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.want("POST", teaMerge, strings.ReplaceAll(teaWhen, first, second), 201)
		if err := a.repo.Push(7, "eve", second); err != nil {
			t.Fatal(err)
		}
		a.is(false, true)
		a.want("GET", teaTime, "", 200, "0.type", "pull_scheduled_merge", "1.type", "pull_push")
		a.repo.Report(7, "success")
		a.is(true, false)
		a.want("GET", teaPull, "", 200, "head.sha", second, "merge_commit_sha", p.MergeCommit())
	})
}

func TestTeaMergesNow(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		why := map[string]string{"gitea": "Not all required status checks successful", "forgejo": "not allowed to merge [reason: Not all required status checks successful]"}[a.s.Kind]
		a.want("POST", teaMerge, teaNow, 405, "message", why)
		a.repo.Report(7, "failure")
		a.want("POST", teaMerge, teaNow, 405, "message", why)
		a.repo.Report(7, "success")
		a.want("POST", teaMerge, strings.ReplaceAll(teaNow, first, second), 409, "message", "head out of date")
		a.want("POST", teaMerge, `{"Do":"octopus"}`, 405, "message", "octopus is not allowed an allowed merge style for this repository")
		a.want("POST", teaMerge, `{}`, 422)
		a.is(false, false)
		a.want("POST", teaMerge, teaNow, 200)
		a.is(true, false)
		a.want("GET", teaPull, "", 200, "merge_commit_sha", p.MergeCommit())
	})
}

func TestTeaRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*asker, *forgetest.Pull)
		status int
		why    string
	}{
		"conflict":   {func(_ *asker, p *forgetest.Pull) { p.Conflict = true }, 405, "Please try again later"},
		"undecided":  {func(_ *asker, p *forgetest.Pull) { p.Undecided = true }, 405, "Please try again later"},
		"draft":      {func(_ *asker, p *forgetest.Pull) { p.Draft = true }, 405, "Work in progress PRs cannot be merged"},
		"no right":   {func(a *asker, _ *forgetest.Pull) { a.repo.Mergers = []string{"bob"} }, 405, "User not allowed to merge PR"},
		"closed":     {func(_ *asker, p *forgetest.Pull) { p.Closed = p.Created }, 404, "The target couldn't be found."},
		"waits":      {func(a *asker, p *forgetest.Pull) { p.DependsOn = []string{"#8"} }, 500, ""},
		"not there":  {func(a *asker, _ *forgetest.Pull) { delete(a.repo.Pulls, 7) }, 404, "pull request does not exist"},
		"not scarce": {func(*asker, *forgetest.Pull) {}, 201, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
				a.repo.Open(8, time.Hour, forgetest.Issue{Title: "first"})
				a.s.Change(func() { c.change(a, p) })
				a.want("POST", teaMerge, teaWhen, c.status, "message", c.why)
			})
		})
	}
}

func TestTeaCancels(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.want("DELETE", teaMerge, "", 404)
		a.want("POST", teaMerge, teaWhen, 201)
		bob := a.as("bob")
		if a.s.Kind == "gitea" {
			bob.want("DELETE", teaMerge, "", 403, "message", "user has no permission to cancel the scheduled auto merge")
			a.s.Change(func() { a.repo.Admins = []string{"bob"} })
		}
		bob.want("DELETE", teaMerge, "", 204)
		a.is(false, false)
		a.want("GET", teaTime, "", 200, "1.type", "pull_cancel_scheduled_merge", "1.user.login", "bob")
		a.want("POST", teaMerge, teaWhen, 201)
	})
}

// A Gitea looks at once whether it may merge what it scheduled; a Forgejo waits for another
// status, although there may be none.
func TestTeaWithGreenChecks(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.repo.Report(7, "success")
		a.want("POST", teaMerge, teaWhen, 201)
		a.is(a.s.Kind == "gitea", a.s.Kind == "forgejo")
		a.repo.Report(7, "success")
		a.is(true, false)
	})
}

func TestTeaOf2022(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.repo.Report(7, "success")
		a.s.Change(func() { a.repo.AtOnce = true })
		a.want("POST", teaMerge, strings.ReplaceAll(teaWhen, first, second), 409, "message", "head out of date")
		a.want("POST", teaMerge, teaWhen, 200)
		a.is(true, false)
	})
}

// A merge that is refused for its head takes away what was scheduled, in a Gitea.
func TestTeaForgetsWhatWasScheduled(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.s.Change(func() { a.repo.Lazy = true })
		a.want("POST", teaMerge, teaWhen, 201)
		a.repo.Report(7, "success")
		a.is(false, true)
		a.want("POST", teaMerge, strings.ReplaceAll(teaNow, first, second), 409)
		a.is(false, a.s.Kind == "forgejo")
		a.want("GET", teaTime, "", 200, "0.type", "pull_scheduled_merge", "1", nil)
	})
}

func TestTeaSettlesWithTheRightsOfWhoAsked(t *testing.T) {
	tea(t, func(t *testing.T, a *asker, p *forgetest.Pull) {
		a.want("POST", teaMerge, teaWhen, 201)
		a.s.Change(func() { a.repo.Mergers = []string{"bob"} })
		a.repo.Report(7, "success")
		a.is(false, true)
		a.s.Change(func() { a.repo.Mergers = nil })
		a.repo.Settle(7)
		a.is(true, false)
	})
}
