package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// How a GitLab merges was written down from public sources, those of the Enterprise Edition
// from the mirror pavankalisetti009/gitlab, the others from gitlabhq/gitlabhq:
//
//   - lib/api/merge_requests.rb (018badf, 18.x): what PUT …/merge looks at in which order; auto_merge
//     is the new name of merge_when_pipeline_succeeds, which still works. lib/api/helpers.rb:
//     the texts of 401 and 405. A merge that is immediate although it was asked for later is
//     one whose pipeline has succeeded; where nothing is waited for, and there is no pipeline,
//     it is 405.
//   - app/services/auto_merge/{base_service,merge_when_checks_pass_service}.rb (ab8eecd, 04e5f74),
//     app/models/merge_request.rb, skipped_mergeable_checks: what may be asked for while it is not
//     so, a draft among it, and a conflict not. What is asked for again is taken again.
//   - app/services/merge_requests/refresh_service.rb, abort_auto_merges?: a push with another head than the
//     one that was asked for ends it, with a note. merge_service.rb, source_matches?: the head is held
//     against it once more. post_merge_service.rb: nothing takes the wish back once it is merged.
//     These three, and merge_request.rb, are of 18.x; which commits they are of is not known.
//   - app/services/auto_merge_service.rb (0ae8428) and POST …/cancel_merge_when_pipeline_succeeds: what
//     cannot be cancelled is answered with 201 all the same, and says 406 inside.
//   - ee/lib/api/merge_trains.rb (13b5df9), ee/app/services/merge_trains/add_merge_request_service.rb and
//     ee/app/services/auto_merge/merge_train_service.rb (2d87d7e): trains. Where they are
//     not licensed or not on, 403; a Community Edition does not know the path.

// Whether a GitLab has merge trains (Repo.Trains).
const (
	TrainsOff = "off" // it could have: Premium is missing, or the project has them off
	TrainsOn  = "on"
)

func labRefusal(status int, message string) reply {
	return reply{status, map[string]any{"message": message}, single}
}

// labParams are the parameters of a request: a GitLab takes them from the address, from a form
// and from JSON.
func labParams(req *http.Request) map[string]string {
	out := map[string]string{}
	var in map[string]any
	if strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") {
		_ = json.NewDecoder(req.Body).Decode(&in)
	}
	_ = req.ParseForm()
	for name := range req.Form {
		out[name] = req.Form.Get(name)
	}
	for name, v := range in {
		out[name] = fmt.Sprint(v)
	}
	return out
}

// labPipeline is what the pipeline of the head comes to: success, failed, running, or "".
func (r *Repo) labPipeline(n int, p *Pull) string {
	head, _ := r.labHead(n, p).(map[string]any)
	if head == nil || p.Pipeline == PipelineOld {
		return ""
	}
	return head["status"].(string)
}

// labMergeable says whether a merge request may be merged but for conflicts.
func (r *Repo) labMergeable(n int, p *Pull) bool {
	return p.Closed.IsZero() && !p.Draft && (!r.MustPass || r.labPipeline(n, p) == "success")
}

// labDetailed is the first reason against a merge, and mergeable when there is none.
func (r *Repo) labDetailed(n int, p *Pull) string {
	pipeline := r.labPipeline(n, p)
	switch {
	case !p.Closed.IsZero():
		return "not_open"
	case p.Draft:
		return "draft_status"
	case p.Undecided:
		return "checking"
	case r.MustPass && pipeline == "running":
		return "ci_still_running"
	case r.MustPass && pipeline != "success":
		return "ci_must_pass"
	case p.Conflict:
		return "conflict"
	}
	return "mergeable"
}

// labLater says whether a GitLab takes a wish to merge later: there must be something to wait for.
func (r *Repo) labLater(n int, p *Pull) bool {
	now := r.labMergeable(n, p) && r.labPipeline(n, p) != "running"
	return p.Closed.IsZero() && !p.Conflict && !now
}

// labAccept is PUT …/merge. That nobody knows yet whether it conflicts ends here.
func (r *Repo) labAccept(req *http.Request, login string, n int) reply {
	in, p := labParams(req), r.Pulls[n]
	if !r.may(login) {
		return labRefusal(http.StatusUnauthorized, "401 Unauthorized")
	}
	wish := in["auto_merge"] == "true" || in["merge_when_pipeline_succeeds"] == "true"
	later, now := wish && r.Trains != TrainsOn && r.labLater(n, p), r.labMergeable(n, p)
	if wish {
		now = r.labPipeline(n, p) == "success" // with trains it goes past them
	}
	p.Undecided = false
	switch {
	case !now && !later:
		return labRefusal(http.StatusMethodNotAllowed, "405 Method Not Allowed")
	case !later && (!r.labMergeable(n, p) || p.Conflict):
		return labRefusal(http.StatusUnprocessableEntity, "Branch cannot be merged")
	case in["sha"] != "" && in["sha"] != p.Head:
		return labMoved(p)
	case now && (!r.labMergeable(n, p) || p.Conflict):
		return labRefusal(http.StatusUnprocessableEntity, "Branch cannot be merged")
	case now:
		r.finish(n, login)
	default:
		r.labWish(p, login, "enabled an automatic merge when all merge checks for "+p.Head+" pass")
	}
	return reply{200, r.labOne(n, p), single}
}

func labMoved(p *Pull) reply {
	return labRefusal(http.StatusConflict, "SHA does not match HEAD of source branch: "+p.Head)
}

// labWish writes a wish down, with a note the first time.
func (r *Repo) labWish(p *Pull, login, note string) {
	again := p.Auto != nil
	r.ask(p, login, "")
	if !again {
		r.write(p, login, "", note)
	}
}

// labCancel takes a wish back, which whoever may merge and the author may.
func (r *Repo) labCancel(login string, n int) reply {
	p := r.Pulls[n]
	switch {
	case !r.may(login) && p.Author != login:
		return labRefusal(http.StatusUnauthorized, "401 Unauthorized")
	case p.Auto == nil || !p.Closed.IsZero():
		return reply{201, map[string]any{"message": "Can't cancel the automatic merge", "status": "error", "http_status": 406}, single}
	}
	note := "canceled the automatic merge"
	if p.Auto.Queued {
		note = "removed this merge request from the merge train"
	}
	p.Auto = nil
	r.write(p, login, "", note)
	return reply{201, map[string]any{"status": "success"}, single}
}

// labPushed ends the wish for another head, and that of whatever is on a train.
func (r *Repo) labPushed(p *Pull, by string) {
	p.MergeError = ""
	switch {
	case p.Auto == nil || !p.Auto.Queued && p.Auto.Head == p.Head:
	case p.Auto.Queued:
		r.drop(p, by, "the source branch was updated.")
	default:
		p.Auto = nil
		r.write(p, by, "", "aborted the automatic merge because the source branch was updated.")
	}
}

// labSettle does what was wished for, or puts it on the train.
func (r *Repo) labSettle(n int) {
	p := r.Pulls[n]
	pipeline := r.labPipeline(n, p)
	switch {
	case pipeline != "" && pipeline != "success", !r.labMergeable(n, p), p.Conflict, p.Undecided:
	case p.Auto.Head != p.Head:
		p.MergeError = "Branch has been updated since the merge was requested. Please review the changes."
	case r.Trains == TrainsOn:
		p.Auto.Queued = true
		r.write(p, p.Auto.By, "", "started a merge train")
	default:
		r.finish(n, p.Auto.By)
	}
}

// labTrain is what there is of merge trains: who is on one, and getting on it.
func (r *Repo) labTrain(req *http.Request, login string, path []string) reply {
	switch {
	case r.Trains == "":
		return reply{http.StatusNotFound, map[string]any{"error": "404 Not Found"}, single}
	case r.Trains != TrainsOn:
		return labRefusal(http.StatusForbidden, "403 Forbidden")
	case len(path) == 1 && req.Method == http.MethodGet:
		return reply{200, r.labCars(path[0]), linked}
	case len(path) != 2 || path[0] != "merge_requests" || r.Pulls[atoi(path[1])] == nil:
		return lab404("")
	}
	n := atoi(path[1])
	switch p := r.Pulls[n]; {
	case req.Method == http.MethodPost:
		return r.labBoard(req, login, n)
	case p.Auto == nil || !p.Auto.Queued:
		return lab404("Merge Train Merge Request ")
	default:
		return reply{200, r.labCar(n, p), single}
	}
}

// labBoard puts a merge request on a train: at once, with 201, which wants a pipeline that is
// done; or, with auto_merge, when its checks have passed, with 202.
func (r *Repo) labBoard(req *http.Request, login string, n int) reply {
	in, p := labParams(req), r.Pulls[n]
	on := p.Auto != nil && p.Auto.Queued
	later := in["auto_merge"] == "true" || in["when_pipeline_succeeds"] == "true"
	pipeline := r.labPipeline(n, p)
	switch {
	case in["sha"] != "" && in["sha"] != p.Head:
		return labMoved(p)
	case !r.may(login):
		return labRefusal(http.StatusUnauthorized, "401 Unauthorized")
	case later && (on || !r.labLater(n, p)), !later && !on && (!r.labMergeable(n, p) || p.Conflict || pipeline == "" || pipeline == "running"):
		return labRefusal(http.StatusBadRequest, "400 Bad request - Failed to merge")
	case later:
		r.labWish(p, login, "enabled automatic add to merge train when all merge checks pass")
		return reply{202, r.labCars(p.Base), linked}
	case !on:
		r.labWish(p, login, "started a merge train")
		p.Auto.Queued = true
	}
	return reply{201, r.labCars(p.Base), linked}
}

// labCars are those on the train to a branch, the newest first.
func (r *Repo) labCars(branch string) []any {
	out := []any{}
	for _, n := range r.numbers(true) {
		if p := r.Pulls[n]; p != nil && p.Base == branch && p.Auto != nil && p.Auto.Queued && p.Closed.IsZero() {
			out = append(out, r.labCar(n, p))
		}
	}
	return slices.Clip(out)
}

func (r *Repo) labCar(n int, p *Pull) map[string]any {
	return map[string]any{"id": 600 + n, "merge_request": map[string]any{"id": 9000 + n, "iid": n, "project_id": r.labProject(), "title": p.Title, "state": labMergeState(p)},
		"user": r.s.labUser(p.Auto.By), "pipeline": nil, "created_at": labTime(p.Auto.At), "updated_at": labTime(p.Auto.At), "target_branch": p.Base,
		"status": "fresh", "merged_at": nil, "duration": nil}
}
