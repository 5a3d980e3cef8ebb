package forge

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// assign says who works on what: by the registry, then by the branch of a
// worktree, then by name. Who works on a pull request works on what it closes.
func (v view) assign(issues []fleet.Issue, pulls []fleet.PullRequest, ended []fleet.EndedPull, hands []Hand) {
	hands = slices.Clone(hands)
	slices.SortStableFunc(hands, func(a, b Hand) int { return cmp.Compare(a.Name, b.Name) })
	places := make([]place, len(hands))
	for i, h := range hands {
		places[i] = v.place(h)
	}
	work := worker{v: v, hands: hands, places: places}
	byIssue := map[string]string{}
	for i := range pulls {
		p := &pulls[i]
		p.Agent = work.onPull(p)
		for _, name := range p.Closes {
			if byIssue[name] == "" {
				byIssue[name] = p.Agent
			}
		}
	}
	for i, e := range ended {
		ended[i].Agent = work.onPull(&fleet.PullRequest{Number: e.Number, Branch: e.Branch})
	}
	for i := range issues {
		if x := &issues[i]; x.Open.Or(true) {
			x.Agent = cmp.Or(work.onIssue(x.Number), byIssue[x.Name])
		}
	}
}

// place is where somebody stands, seen from one project.
type place struct {
	here   bool   // in its repository, or registered for it
	branch string // there
}

func (v view) place(h Hand) place {
	p := place{here: h.Registered && h.Project == v.Name}
	if h.Registered && (p.here || v.Path != "" && h.Repo == v.Path) {
		p.here, p.branch = true, h.Branch
	}
	for _, t := range v.trees {
		if h.Dir == t.Path || strings.HasPrefix(h.Dir, strings.TrimSuffix(t.Path, "/")+"/") {
			p.here, p.branch = true, cmp.Or(t.Branch, p.branch)
		}
	}
	return p
}

type worker struct {
	v      view
	hands  []Hand
	places []place
}

// first is the first one that fits.
func (w worker) first(fits func(Hand, place) bool) string {
	for i, h := range w.hands {
		if fits(h, w.places[i]) {
			return h.Name
		}
	}
	return ""
}

func (w worker) onIssue(number int) string {
	return cmp.Or(
		w.first(func(h Hand, p place) bool {
			return h.Registered && p.here && w.names(h.Task, number, "#", issueFolders...)
		}),
		w.first(func(_ Hand, p place) bool { return p.here && issueOf(p.branch) == number }),
		w.first(func(h Hand, _ place) bool { return w.called(h.Name) == number }))
}

func (w worker) onPull(p *fleet.PullRequest) string {
	issues := w.issuesOf(p)
	return cmp.Or(
		w.first(func(h Hand, at place) bool {
			return h.Registered && at.here && w.names(h.Task, p.Number, "!", pullFolders...)
		}),
		w.first(func(_ Hand, at place) bool { return at.here && at.branch != "" && at.branch == p.Branch }),
		w.first(func(h Hand, at place) bool {
			return h.Registered && at.here && slices.ContainsFunc(issues, func(n int) bool { return w.names(h.Task, n, "#", issueFolders...) })
		}),
		w.first(func(h Hand, _ place) bool { return slices.Contains(issues, w.called(h.Name)) }))
}

// issuesOf lists the issues of the project that a pull request is about.
func (w worker) issuesOf(p *fleet.PullRequest) (out []int) {
	for _, name := range p.Closes {
		if n, ok := strings.CutPrefix(name, w.v.Name+"#"); ok {
			if number, err := strconv.Atoi(n); err == nil {
				out = append(out, number)
			}
		}
	}
	if n := issueOf(p.Branch); n > 0 {
		out = append(out, n)
	}
	return out
}

// What stands before the number in the addresses of issues and of pull requests: of a Gitea
// and GitHub, and of GitLab.
var (
	issueFolders = []string{"issues", "-/issues", "-/work_items"}
	pullFolders  = []string{"pulls", "pull", "-/merge_requests"}
)

// names says whether a task names an issue (mark "#") or a pull request ("!") of
// the project: #12, shop#12, acme/shop#12, or its address.
func (w worker) names(task string, number int, mark string, folders ...string) bool {
	n := strconv.Itoa(number)
	for word := range strings.FieldsSeq(task) {
		word = strings.TrimRight(word, ".,;:)")
		for _, want := range []string{mark + n, w.v.Name + mark + n, w.v.Repo + mark + n} {
			if word == want {
				return true
			}
		}
		rest, here := strings.CutPrefix(word, strings.TrimSuffix(w.v.URL, "/")+"/"+w.v.Repo+"/")
		if folder, ok := strings.CutSuffix(rest, "/"+n); here && ok && slices.Contains(folders, folder) {
			return true
		}
	}
	return mark == "#" && strings.TrimSpace(task) == n
}

var reBranch = regexp.MustCompile(`(?i)(?:^|[/_-])(?:issue|fix|feat|feature|task|dev|bug)[/_-]#?(?:issue[/_-]?)?(\d{1,9})(?:$|[^0-9.])`)

// issueOf is the issue that a branch is called after: fix/issue-44, issue-44-2,
// feature/44-login. 0 for none.
func issueOf(branch string) int {
	m := reBranch.FindStringSubmatch(branch)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// called is the issue that an agent is called after; 0 for none.
func (w worker) called(name string) int {
	re := w.v.Agents
	m := re.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[re.SubexpIndex("issue")])
	return n
}
