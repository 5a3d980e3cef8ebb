package forgetest_test

import (
	"testing"
	"time"

	"custos/internal/sys/forgetest"
)

const (
	labPull  = "/api/v4/projects/acme%2Fshop/merge_requests/7"
	labMerge = labPull + "/merge"
	labWhen  = `{"sha":"` + first + `","auto_merge":true}`
	labNow   = `{"sha":"` + first + `"}`
	labNotes = labPull + "/notes?sort=asc"
	labTrain = "/api/v4/projects/acme%2Fshop/merge_trains/merge_requests/7"
	labMoved = "SHA does not match HEAD of source branch: " + first
)

func lab(t *testing.T) (*asker, *forgetest.Pull) {
	t.Helper()
	a, p := forge(t, "gitlab")
	a.repo.MustPass = true
	return a, p
}

func TestLabMergesLater(t *testing.T) {
	a, p := lab(t)
	a.want("GET", labPull, "", 200, "merge_when_pipeline_succeeds", false, "detailed_merge_status", "ci_still_running")
	a.want("PUT", labMerge, labWhen, 200, "state", "opened", "merge_when_pipeline_succeeds", true, "merge_user.username", "ann", "merged_at", nil, "merge_commit_sha", nil)
	a.want("PUT", labMerge, labWhen, 200, "merge_when_pipeline_succeeds", true) // taken again
	a.want("GET", labNotes, "", 200, "1.body", "enabled an automatic merge when all merge checks for "+first+" pass", "1.system", true, "2", nil)
	a.repo.Report(7, "failure")
	a.want("GET", labPull, "", 200, "state", "opened", "merge_when_pipeline_succeeds", true, "detailed_merge_status", "ci_must_pass")
	a.repo.Report(7, "success")
	a.want("GET", labPull, "", 200, "state", "merged", "detailed_merge_status", "not_open", "merge_commit_sha", p.MergeCommit(), "sha", first, "merge_when_pipeline_succeeds", true)
	a.want("PUT", labMerge, labWhen, 422, "message", "Branch cannot be merged")
	a.want("PUT", labMerge, labNow, 405, "message", "405 Method Not Allowed")
}

// The old name of auto_merge still works, and parameters may stand in the address.
func TestLabTakesTheOldName(t *testing.T) {
	a, _ := lab(t)
	a.want("PUT", labMerge+"?merge_when_pipeline_succeeds=true&sha="+first, "", 200, "merge_when_pipeline_succeeds", true)
}

// A push ends it: only the head that was asked for is merged.
func TestLabPushEndsIt(t *testing.T) {
	a, _ := lab(t)
	a.want("PUT", labMerge, labWhen, 200)
	if err := a.repo.Push(7, "eve", second); err != nil {
		t.Fatal(err)
	}
	a.is(false, false)
	a.want("GET", labNotes, "", 200, "2.body", "aborted the automatic merge because the source branch was updated.")
	a.repo.Report(7, "success")
	a.want("GET", labPull, "", 200, "state", "opened", "merge_when_pipeline_succeeds", false, "merge_user", nil)
}

// And should it not have: the head is looked at once more.
func TestLabLooksAtTheHeadAgain(t *testing.T) {
	a, p := lab(t)
	a.want("PUT", labMerge, labWhen, 200)
	a.s.Change(func() { p.Head = second })
	a.repo.Report(7, "success")
	a.want("GET", labPull, "", 200, "state", "opened", "merge_error", "Branch has been updated since the merge was requested. Please review the changes.")
}

func TestLabMergesNow(t *testing.T) {
	a, p := lab(t)
	a.want("PUT", labMerge, labNow, 405, "message", "405 Method Not Allowed")
	a.repo.Report(7, "success")
	a.want("PUT", labMerge, `{"sha":"`+second+`"}`, 409, "message", labMoved)
	a.want("PUT", labMerge, `{"sha":"1111111"}`, 409, "message", labMoved)
	a.want("PUT", labMerge, labWhen, 200, "state", "merged", "merge_commit_sha", p.MergeCommit(), "merged_by.username", "ann", "merge_when_pipeline_succeeds", false)
}

func TestLabRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*asker, *forgetest.Pull)
		now, when int
	}{
		"no right":               {func(a *asker, _ *forgetest.Pull) { a.repo.Mergers = []string{"bob"} }, 401, 401},
		"draft":                  {func(_ *asker, p *forgetest.Pull) { p.Draft = true }, 405, 200}, // it may be asked for
		"closed":                 {func(_ *asker, p *forgetest.Pull) { p.Closed = p.Created }, 405, 405},
		"conflict":               {func(a *asker, p *forgetest.Pull) { p.Conflict, a.repo.MustPass = true, false }, 422, 405},
		"conflict, checks run":   {func(_ *asker, p *forgetest.Pull) { p.Conflict = true }, 405, 405},
		"need not pass":          {func(a *asker, _ *forgetest.Pull) { a.repo.MustPass = false }, 200, 200},
		"no pipeline, need not":  {func(a *asker, p *forgetest.Pull) { p.Checks, a.repo.MustPass = nil, false }, 200, 405},
		"no pipeline, but needs": {func(_ *asker, p *forgetest.Pull) { p.Checks = nil }, 405, 200},
		"failed, but needs":      {func(_ *asker, p *forgetest.Pull) { p.Checks[0].State = "failure" }, 405, 200},
		"not there":              {func(a *asker, _ *forgetest.Pull) { delete(a.repo.Pulls, 7) }, 404, 404},
	} {
		t.Run(name, func(t *testing.T) {
			for body, status := range map[string]int{labNow: c.now, labWhen: c.when} {
				a, p := lab(t)
				a.s.Change(func() { c.change(a, p) })
				a.want("PUT", labMerge, body, status)
			}
		})
	}
}

func TestLabCancels(t *testing.T) {
	a, p := lab(t)
	cancel := labPull + "/cancel_merge_when_pipeline_succeeds"
	a.want("POST", cancel, "", 201, "status", "error", "http_status", 406, "message", "Can't cancel the automatic merge")
	a.want("PUT", labMerge, labWhen, 200)
	a.s.Change(func() { a.repo.Mergers = []string{"bob"} })
	a.want("POST", cancel, "", 401)
	a.s.Change(func() { p.Author = "ann" })
	a.want("POST", cancel, "", 201, "status", "success")
	a.is(false, false)
	a.want("GET", labNotes, "", 200, "2.body", "canceled the automatic merge")
}

func TestLabTrainsThatThereAreNot(t *testing.T) {
	a, _ := lab(t)
	a.want("POST", labTrain, labNow, 404, "error", "404 Not Found")
	a.s.Change(func() { a.repo.Trains = forgetest.TrainsOff })
	a.want("POST", labTrain, labNow, 403, "message", "403 Forbidden")
}

func TestLabTrain(t *testing.T) {
	a, p := lab(t)
	a.s.Change(func() { a.repo.Trains = forgetest.TrainsOn })
	a.want("GET", labTrain, "", 404, "message", "404 Merge Train Merge Request Not Found")
	a.want("POST", labTrain, `{"sha":"`+second+`"}`, 409, "message", labMoved)
	a.want("POST", labTrain, labNow, 400, "message", "400 Bad request - Failed to merge") // the pipeline runs
	a.want("POST", labTrain, labWhen, 202, "0", nil)
	a.want("GET", labPull, "", 200, "merge_when_pipeline_succeeds", true)
	a.repo.Report(7, "success")
	a.want("GET", labTrain, "", 200, "merge_request.iid", 7, "target_branch", "main", "user.username", "ann", "status", "fresh")
	a.want("POST", labTrain, labWhen, 400) // it is on the train
	a.want("POST", labTrain, labNow, 201, "0.merge_request.iid", 7)
	a.want("GET", "/api/v4/projects/acme%2Fshop/merge_trains/main", "", 200, "0.merge_request.iid", 7, "1", nil)
	a.is(false, true)
	a.repo.Land(7)
	a.want("GET", labPull, "", 200, "state", "merged", "merge_commit_sha", p.MergeCommit())
}

func TestLabTrainIsLeft(t *testing.T) {
	for name, leave := range map[string]func(*asker){
		"push":   func(a *asker) { _ = a.repo.Push(7, "eve", second) },
		"failed": func(a *asker) { a.repo.Drop(7, "the pipeline did not succeed.") },
		"cancel": func(a *asker) { a.want("POST", labPull+"/cancel_merge_when_pipeline_succeeds", "", 201) },
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := lab(t)
			a.s.Change(func() { a.repo.Trains = forgetest.TrainsOn })
			a.repo.Report(7, "success")
			a.want("POST", labTrain, labNow, 201, "0.merge_request.iid", 7)
			leave(a)
			a.want("GET", labTrain, "", 404)
			a.want("GET", labPull, "", 200, "state", "opened", "merge_when_pipeline_succeeds", false)
			a.repo.Land(7)
			a.is(false, false)
		})
	}
}

// With trains on, auto_merge goes past them where the pipeline has succeeded, and is refused before.
func TestLabMergeGoesPastTrains(t *testing.T) {
	a, _ := lab(t)
	a.s.Change(func() { a.repo.Trains = forgetest.TrainsOn })
	a.want("PUT", labMerge, labWhen, 405)
	a.repo.Report(7, "success")
	a.want("PUT", labMerge, labWhen, 200, "state", "merged")
}

func TestLabSaysWhenItMerged(t *testing.T) {
	a, p := lab(t)
	a.repo.Report(7, "success")
	a.want("PUT", labMerge, labNow, 200)
	a.want("GET", labPull, "", 200, "merged_at", p.Closed.UTC().Format("2006-01-02T15:04:05.000Z"), "closed_at", nil)
	if ago := a.s.Clock().Sub(p.Closed); ago < 0 || ago > time.Minute {
		t.Errorf("merged %v ago", ago)
	}
}
