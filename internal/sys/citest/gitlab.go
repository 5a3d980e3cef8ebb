package citest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// gitlab is the API of GitLab CI, version 4, written down from the public documentation and source
// (gitlabhq/gitlabhq, the mirror of gitlab-org/gitlab-foss) before there was a client for it:
//
//   - doc/api/pipelines.md (017a6c1, 18.x): the list, newest first, without what a single one has
//     (started_at, finished_at, tag); a retry that has nothing to retry is well, and so is a cancel of
//     what is over; statuses; name, where .gitlab-ci.yml gives one. A merge request's pipeline has
//     refs/merge-requests/N/head for its ref.
//   - app/models/ci/pipeline.rb (000f9d0): started_at stays when what failed is begun again, and
//     each change of the status is a change of the row (updated_at).
//   - doc/api/jobs.md (04d4cf8), lib/api/ci/jobs.rb (9f2347f): jobs of a pipeline by scope[],
//     failure_reason of one that failed, bridges to other pipelines, and the trace as plain text, empty where there is none.
//     app/models/concerns/enums/ci/commit_status.rb: the reasons.
//   - lib/api/entities/ci/runner.rb (fc0d8fd): runners, those of the instance among them.
func (s *Server) gitlab(mux *http.ServeMux) {
	project := "/api/v4/projects/{project}"
	ours := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("project") != s.project {
				s.refuse(w, http.StatusNotFound, "404 Project Not Found")
				return
			}
			next(w, r)
		}
	}
	one := func(next func(http.ResponseWriter, *http.Request, *Run)) http.HandlerFunc {
		return ours(s.byID(next))
	}
	mux.HandleFunc("GET "+project, ours(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, map[string]any{"id": 3, "path_with_namespace": s.project, "default_branch": "main"})
	}))
	mux.HandleFunc("GET "+project+"/pipelines", ours(func(w http.ResponseWriter, r *http.Request) {
		out := []any{}
		for _, run := range s.page(r, "per_page", 100) {
			out = append(out, s.labRun(run, false))
		}
		s.answer(w, r, out)
	}))
	mux.HandleFunc("GET "+project+"/pipelines/{id}", one(func(w http.ResponseWriter, r *http.Request, run *Run) {
		s.answer(w, r, s.labRun(run, true))
	}))
	mux.HandleFunc("GET "+project+"/pipelines/{id}/jobs", one(s.labJobs))
	mux.HandleFunc("GET "+project+"/pipelines/{id}/bridges", one(func(w http.ResponseWriter, r *http.Request, run *Run) {
		out := []any{}
		if run.Child != "" {
			out = append(out, map[string]any{"id": run.Number*100 + 99, "name": run.Child, "stage": "test", "status": "failed", "allow_failure": false, "downstream_pipeline": map[string]any{"id": 5, "status": "failed"}})
		}
		s.answer(w, r, out)
	}))
	mux.HandleFunc("GET "+project+"/jobs/{job}/trace", ours(s.labTrace))
	mux.HandleFunc("GET "+project+"/runners", ours(s.labRunners))
	mux.HandleFunc("POST "+project+"/pipelines/{id}/retry", one(func(w http.ResponseWriter, r *http.Request, run *Run) {
		if run.State == "failure" || run.State == "cancelled" {
			run = s.again(run.Number)
		}
		w.WriteHeader(http.StatusCreated)
		s.answer(w, r, s.labRun(run, true))
	}))
	mux.HandleFunc("POST "+project+"/pipelines/{id}/cancel", one(func(w http.ResponseWriter, r *http.Request, run *Run) {
		s.cancel(run.Number)
		s.answer(w, r, s.labRun(run, true))
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.refuse(w, http.StatusNotFound, "404 Not Found") })
}

// labWords are GitLab's for what differs.
var labWords = map[string]string{"failure": "failed", "cancelled": "canceled", "blocked": "manual"}

var labSources = map[string]string{"pull_request": "merge_request_event", "cron": "schedule", "manual": "web"}

func (s *Server) labRun(r *Run, whole bool) map[string]any {
	out := map[string]any{"id": s.ID(r.Number), "iid": r.Number, "project_id": 3, "status": cmp.Or(r.Word, labWords[r.State], r.State), "source": cmp.Or(labSources[r.Event], r.Event),
		"ref": r.Branch, "sha": r.Head, "name": nil, "web_url": fmt.Sprintf("%s/%s/-/pipelines/%d", s.URL, s.project, s.ID(r.Number)),
		"created_at": labTime(r.Created), "updated_at": labTime(changed(r))}
	if r.Title != "" {
		out["name"] = r.Title
	}
	if r.Pull > 0 {
		out["ref"], out["source"] = fmt.Sprintf("refs/merge-requests/%d/head", r.Pull), "merge_request_event"
	}
	if whole {
		out["tag"], out["yaml_errors"], out["started_at"], out["finished_at"] = false, nil, labTime(r.Started), labTime(r.Ended)
		if r.Misconfigured != "" {
			out["yaml_errors"] = r.Misconfigured
		}
	}
	return out
}

// changed is when the status of a pipeline was last another.
func changed(r *Run) time.Time {
	at := r.Created
	for _, t := range []time.Time{r.Started, r.Ended} {
		if !t.IsZero() {
			at = t
		}
	}
	if r.Changed.After(at) {
		return r.Changed
	}
	return at
}

func labTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// labJobs lists the jobs of a pipeline, the newest first; of one that failed, with the reason.
func (s *Server) labJobs(w http.ResponseWriter, r *http.Request, run *Run) {
	out := []any{}
	jobs := jobsOf(run)
	if len(jobs) == 0 && run.Misconfigured == "" {
		jobs = []*job{{id: run.Number*100 + 1, name: "build", state: run.State, steps: []numbered{{Step: Step{Error: run.Error}}}}}
	}
	scope := r.URL.Query()["scope[]"]
	for i := range jobs {
		j := jobs[len(jobs)-1-i]
		status := cmp.Or(labWords[j.state], j.state)
		if len(scope) > 0 && scope[0] != status {
			continue
		}
		row := map[string]any{"id": j.id, "name": j.name, "stage": "test", "status": status, "allow_failure": len(j.steps) > 0 && j.steps[0].Optional, "created_at": labTime(run.Created), "started_at": labTime(run.Started)}
		if status == "failed" {
			row["failure_reason"] = "script_failure"
			for _, st := range j.steps {
				row["failure_reason"] = cmp.Or(st.Error, row["failure_reason"].(string))
			}
		}
		out = append(out, row)
	}
	s.answer(w, r, s.labCut(w, r, out))
}

// labCut is one page of a list, of 20 where nobody says how many.
func (s *Server) labCut(w http.ResponseWriter, r *http.Request, all []any) []any {
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	if n = max(n, 1); size < 1 {
		size = 20
	}
	size = min(size, 100)
	if n*size < len(all) {
		q := url.Values{}
		for k, v := range r.URL.Query() {
			q[k] = v
		}
		q.Set("page", strconv.Itoa(n+1))
		w.Header().Set("X-Next-Page", strconv.Itoa(n+1))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, s.URL, r.URL.EscapedPath(), q.Encode()))
	}
	return append([]any{}, all[min(len(all), (n-1)*size):min(len(all), n*size)]...)
}

// labTrace is a log as a runner ends it.
func (s *Server) labTrace(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("job"), 10, 64)
	run, _ := s.Run(id / 100)
	w.Header().Set("Content-Type", "text/plain")
	for _, j := range jobsOf(&run) {
		if j.id != id {
			continue
		}
		for _, st := range j.steps {
			if st.NoLog {
				return
			}
			_, _ = w.Write([]byte(st.Log + "\n"))
			if st.Exit > 0 {
				_, _ = fmt.Fprintf(w, "\x1b[31;1mERROR: Job failed: exit code %d\n\x1b[0;m", st.Exit)
			}
		}
	}
}

// labRunners lists runners; the name of one is what somebody described it as.
func (s *Server) labRunners(w http.ResponseWriter, r *http.Request) {
	out := []any{}
	s.set(func() {
		for i, a := range s.workers {
			status := map[bool]string{true: "offline", false: "online"}[a.Offline]
			kind := map[bool]string{true: "instance_type", false: "project_type"}[a.Shared]
			out = append(out, map[string]any{"id": i + 1, "description": a.Name, "name": "gitlab-runner", "ip_address": nil, "active": !a.Paused, "paused": a.Paused, "is_shared": a.Shared,
				"runner_type": kind, "online": !a.Offline, "status": status})
		}
	})
	s.answer(w, r, s.labCut(w, r, out))
}
