package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// How a Gitea and a Forgejo merge was written down from their public sources:
//
//   - routers/api/v1/repo/pull.go, MergePullRequest and CancelScheduledAutoMerge (go-gitea/gitea
//     at 000762f; Forgejo at 5fa9a61 in creator-signal/fork-forgejo-forgejo): what is looked at
//     in which order, and the texts. head_commit_id goes to pull_service.Merge alone, so that
//     nobody looks at it when a merge is scheduled.
//   - services/pull/check.go (8f6cb74), CheckPullMergeable: a scheduled merge skips the protection
//     of the branch, and nothing else. services/pull/commit_status.go (a98a80a in
//     capitalrx/gitea): a required context without a status is pending; an older one
//     (go-gitea/gitea at f16f0c4) took it for success.
//   - models/pull/automerge.go (07ebb0d): one that is scheduled already. Its number is the one of
//     the data base, and not the one of the pull request.
//   - services/automerge/automerge.go: a Gitea (00efeac) looks at once whether it may merge what
//     it scheduled, a Forgejo (2865e99 in live-clones/forgejo) and an older Gitea (50e7826) wait for
//     the next status that is a success. One of 2022 scheduled nothing that was green. All of
//     them merge the head that there is then, with no head_commit_id.
//   - services/automerge/notify.go (133fd9c): only a status, an approval and a dismissed review
//     lead to another look; a push and a failed check leave what was scheduled as it is.
//   - services/pull/merge.go (eb67d3a): a Gitea forgets what was scheduled before it looks at
//     the style and at the head, without a comment; a Forgejo (3eaf11d in
//     creator-signal/fork-forgejo-forgejo) only before it does what was scheduled.
//   - models/issues/comment.go: pull_scheduled_merge, pull_cancel_scheduled_merge, merge_pull.
//     The pull request itself does not say that a merge is scheduled.

// teaForm is what a Gitea is asked with (services/forms, MergePullRequestForm).
type teaForm struct {
	Do    string
	Head  string `json:"head_commit_id"`
	When  bool   `json:"merge_when_checks_succeed"`
	Force bool   `json:"force_merge"`
}

var teaStyles = []string{"merge", "rebase", "rebase-merge", "squash", "fast-forward-only"}

const teaMissing = "The target couldn't be found."

func (r *Repo) teaMerge(req *http.Request, login string, n int) reply {
	switch p := r.Pulls[n]; req.Method {
	case http.MethodPost:
		return r.teaAsked(req, login, n)
	case http.MethodDelete:
		return r.teaCancel(login, p)
	case http.MethodGet:
		if p.Merged {
			return reply{http.StatusNoContent, nil, single}
		}
	}
	return r.s.refusal(http.StatusNotFound, teaMissing)
}

func (r *Repo) teaAsked(req *http.Request, login string, n int) reply {
	var in teaForm
	p := r.Pulls[n]
	if json.NewDecoder(req.Body).Decode(&in) != nil || in.Do == "" {
		return r.s.refusal(http.StatusUnprocessableEntity, "[Do]: Required")
	}
	force := in.Force && slices.Contains(r.Admins, login)
	if status, why := r.teaRefuses(p, login, in.When || force); status > 0 {
		return r.s.refusal(status, why)
	}
	if in.When && !(r.AtOnce && r.teaPasses(p)) {
		return r.teaSchedule(login, n, in.Do)
	}
	if r.s.Kind == "gitea" {
		p.Auto = nil
	}
	switch {
	case !slices.Contains(teaStyles, in.Do):
		return r.s.refusal(http.StatusMethodNotAllowed, in.Do+" is not allowed an allowed merge style for this repository")
	case in.Head != "" && in.Head != p.Head:
		return r.s.refusal(http.StatusConflict, "head out of date")
	}
	r.finish(n, login)
	return reply{http.StatusOK, nil, single}
}

// teaRefuses says why somebody may not merge; 0: they may.
func (r *Repo) teaRefuses(p *Pull, login string, unprotected bool) (status int, why string) {
	switch {
	case p.Merged:
		return http.StatusMethodNotAllowed, ""
	case !p.Closed.IsZero():
		return http.StatusNotFound, teaMissing
	case !r.may(login):
		return http.StatusMethodNotAllowed, "User not allowed to merge PR"
	case p.Draft:
		return http.StatusMethodNotAllowed, "Work in progress PRs cannot be merged"
	case p.Conflict || p.Undecided:
		return http.StatusMethodNotAllowed, "Please try again later"
	case unprotected || r.teaPasses(p):
	case r.s.Kind == "forgejo": // and a Gitea before the error was another one
		return http.StatusMethodNotAllowed, "not allowed to merge [reason: Not all required status checks successful]"
	default:
		return http.StatusMethodNotAllowed, "Not all required status checks successful"
	}
	if r.waits(&p.Issue) { // an error that nobody looks for
		return http.StatusInternalServerError, ""
	}
	return 0, ""
}

// teaPasses says whether the checks let it be merged: all do where the branch is not protected.
func (r *Repo) teaPasses(p *Pull) bool {
	contexts, protected := r.Required[p.Base]
	if !protected {
		return true
	}
	if len(contexts) == 0 {
		contexts = r.contexts(p)
	}
	return p.worst(contexts) == green
}

func (r *Repo) teaSchedule(login string, n int, style string) reply {
	p := r.Pulls[n]
	if p.Auto != nil {
		return r.s.refusal(http.StatusConflict, fmt.Sprintf("pull request is already scheduled to auto merge when checks succeed [pull_id: %d]", 3000+n))
	}
	r.ask(p, login, style)
	r.write(p, login, "pull_scheduled_merge", "")
	if r.s.Kind == "gitea" && !r.Lazy {
		r.settle(n)
	}
	return reply{http.StatusCreated, nil, single}
}

// teaSettle merges what was scheduled, if whoever scheduled it may.
func (r *Repo) teaSettle(n int) {
	p := r.Pulls[n]
	if status, _ := r.teaRefuses(p, p.Auto.By, false); status == 0 {
		r.finish(n, p.Auto.By)
	}
}

// teaCancel cancels what was scheduled. In a Gitea that may who scheduled it, and an
// administrator of the repository; in a Forgejo, whoever may merge.
func (r *Repo) teaCancel(login string, p *Pull) reply {
	switch {
	case p.Auto == nil:
		return r.s.refusal(http.StatusNotFound, teaMissing)
	case p.Auto.By == login, slices.Contains(r.Admins, login), r.s.Kind == "forgejo" && r.may(login):
		p.Auto = nil
		r.write(p, login, "pull_cancel_scheduled_merge", "")
		return reply{http.StatusNoContent, nil, single}
	}
	return r.s.refusal(http.StatusForbidden, "user has no permission to cancel the scheduled auto merge")
}
