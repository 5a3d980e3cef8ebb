package citest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// actions is the Actions API of GitHub, Gitea 1.26 or Forgejo 16.
//
// Gitea's is from go-gitea/gitea, services/convert/convert.go (00ca8c6): a run that was
// never repeated may have run_attempt 0 (all have before there were attempts); head_branch
// is left out of a run of a pull request, and only the end of path, FILE@REF, tells
// which it is; what has not begun or ended did so in 1970; each step has the state of
// its job. Forgejo's times that are not are in 1970, too (modules/timeutil, AsTime).
// Jobs and runners come in pages. GitHub (docs.github.com/en/rest/actions) refuses to
// repeat what still runs with 403, Gitea (routers/api/v1/repo/action.go) with 400, and
// GitHub's logs that are gone answer 410.
func (s *Server) actions(mux *http.ServeMux) {
	base := "/api/v1"
	if s.kind == "github-actions" {
		base = "/api/v3"
	}
	repo := base + "/repos/" + s.project
	mux.HandleFunc("GET "+repo, func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, map[string]any{"id": 1, "full_name": s.project, "default_branch": "main"})
	})
	mux.HandleFunc("GET "+repo+"/actions/runs", func(w http.ResponseWriter, r *http.Request) {
		out := []any{}
		for _, run := range s.page(r, s.size(), s.most()) {
			out = append(out, s.acRun(run))
		}
		s.answer(w, r, map[string]any{"total_count": 12345, "workflow_runs": out})
	})
	mux.HandleFunc("GET "+repo+"/actions/runs/{id}", s.byID(func(w http.ResponseWriter, r *http.Request, run *Run) {
		s.answer(w, r, s.acRun(run))
	}))
	mux.HandleFunc("GET "+repo+"/actions/runs/{id}/jobs", s.byID(s.acJobs))
	mux.HandleFunc("GET "+repo+"/actions/jobs/{job}/logs", s.acLog)
	mux.HandleFunc("GET /blob/{job}", s.blob)
	mux.HandleFunc("GET "+repo+"/actions/runners", s.runners)
	again := "rerun-failed-jobs"
	if s.kind == "forgejo-actions" {
		again = "rerun"
	}
	mux.HandleFunc("POST "+repo+"/actions/runs/{id}/"+again, s.byID(func(w http.ResponseWriter, _ *http.Request, run *Run) {
		if s.lasts(run) {
			s.refuse(w, s.tooSoon(), "This workflow is already running")
			return
		}
		s.again(run.Number)
		w.WriteHeader(http.StatusCreated)
	}))
	mux.HandleFunc("POST "+repo+"/actions/runs/{id}/cancel", s.byID(func(w http.ResponseWriter, _ *http.Request, run *Run) {
		if _, open := s.cancel(run.Number); !open {
			s.refuse(w, http.StatusConflict, "Cannot cancel a workflow run that is completed.")
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("{}"))
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.refuse(w, http.StatusNotFound, "Not Found") })
}

// lasts says whether a run has not ended.
func (s *Server) lasts(r *Run) bool {
	return r.Word == "" && (r.State == "pending" || r.State == "running" || r.State == "blocked")
}

// tooSoon is how a server refuses to repeat what has not ended.
func (s *Server) tooSoon() int {
	if s.kind == "github-actions" {
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

func (s *Server) size() string {
	if s.kind == "github-actions" {
		return "per_page"
	}
	return "limit"
}

func (s *Server) most() int {
	if s.kind == "github-actions" {
		return 100
	}
	return 50
}

func (s *Server) byID(next func(http.ResponseWriter, *http.Request, *Run)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if run, ok := s.Run(id - s.ID(0)); ok {
			next(w, r, &run)
			return
		}
		s.refuse(w, http.StatusNotFound, "Not Found")
	}
}

// acRun is a run in the words of the server.
func (s *Server) acRun(r *Run) map[string]any {
	if s.kind == "forgejo-actions" {
		return s.forgejoRun(r)
	}
	status, conclusion := s.acState(r.State)
	if r.Word != "" {
		status, conclusion = r.Word, ""
	}
	out := map[string]any{"id": s.ID(r.Number), "run_number": r.Number, "run_attempt": r.Attempt, "event": r.Event, "display_title": r.Title,
		"path": ".github/workflows/" + r.Workflow, "head_branch": r.Branch, "head_sha": r.Head, "status": status, "conclusion": nil,
		"html_url": s.URL + "/" + s.project + "/actions/runs/" + strconv.FormatInt(s.ID(r.Number), 10)}
	if conclusion != "" {
		out["conclusion"] = conclusion
	}
	if s.kind == "gitea-actions" {
		out["path"], out["started_at"], out["completed_at"] = r.Workflow+"@refs/heads/"+r.Branch, s.acTime(r.Started), s.acTime(r.Ended)
		if out["run_attempt"] = r.Attempt; r.Attempt == 1 {
			out["run_attempt"] = 0
		}
		if conclusion == "" {
			delete(out, "conclusion") // omitempty
		}
		if r.Pull > 0 {
			out["path"] = r.Workflow + "@refs/pull/" + strconv.Itoa(r.Pull) + "/head"
			delete(out, "head_branch")
		}
		return out
	}
	out["workflow_id"], out["name"], out["pull_requests"] = 77, "CI", []any{}
	out["created_at"], out["run_started_at"], out["updated_at"] = s.acTime(r.Created), s.acTime(r.Created), s.acTime(s.changed(r))
	if r.Pull > 0 {
		out["pull_requests"] = []any{map[string]any{"number": r.Pull}}
	}
	return out
}

func (s *Server) changed(r *Run) time.Time {
	if r.Ended.IsZero() {
		return s.Now()
	}
	return r.Ended
}

// forgejoRun has words of its own, a number beside the ID, and of a pull request
// only its number where the branch should be.
func (s *Server) forgejoRun(r *Run) map[string]any {
	status := r.State
	switch {
	case r.Word != "":
		status = r.Word
	case r.State == "pending":
		status = "waiting"
	}
	out := map[string]any{"id": s.ID(r.Number), "index_in_repo": r.Number, "title": r.Title, "workflow_id": r.Workflow, "prettyref": r.Branch,
		"commit_sha": r.Head, "event": r.Event, "status": status, "need_approval": r.State == "blocked", "event_payload": "{}",
		"created": s.acTime(r.Created), "started": s.acTime(r.Started), "stopped": s.acTime(r.Ended), "updated": s.acTime(r.Ended),
		"html_url": s.URL + "/" + s.project + "/actions/runs/" + strconv.FormatInt(r.Number, 10), "repository": map[string]any{"full_name": s.project}}
	if r.Pull > 0 {
		out["prettyref"] = "#" + strconv.Itoa(r.Pull)
		out["event_payload"] = fmt.Sprintf(`{"pull_request":{"number":%d,"head":{"ref":%q}}}`, r.Pull, r.Branch)
	}
	return out
}

// acState is a state as a status and a conclusion.
func (s *Server) acState(state string) (status, conclusion string) {
	switch state {
	case "pending":
		return "queued", ""
	case "running":
		return "in_progress", ""
	case "blocked":
		return "waiting", ""
	}
	return "completed", state
}

func (s *Server) acTime(t time.Time) any {
	switch {
	case t.IsZero() && s.kind == "github-actions":
		return nil
	case t.IsZero():
		return "1970-01-01T00:00:00Z"
	}
	return t.UTC().Format(time.RFC3339)
}

func (s *Server) acJobs(w http.ResponseWriter, r *http.Request, run *Run) {
	out := []any{}
	jobs := jobsOf(run)
	if len(jobs) == 0 {
		jobs = []*job{{id: run.Number*100 + 1, name: "build", state: run.State}}
	}
	for _, j := range jobs {
		status, conclusion := s.acState(j.state)
		if run.State == "running" && j.state != "success" {
			status, conclusion = "in_progress", ""
		}
		steps := []any{}
		for _, st := range j.steps {
			status, conclusion := s.acState(st.State)
			if s.kind == "gitea-actions" {
				status, conclusion = s.acState(j.state)
			}
			steps = append(steps, map[string]any{"name": st.Name, "status": status, "conclusion": conclusion})
		}
		row := map[string]any{"id": j.id, "name": j.name, "status": status, "conclusion": conclusion, "created_at": s.acTime(run.Created),
			"started_at": s.acTime(run.Started), "steps": steps}
		if s.kind == "forgejo-actions" {
			row = map[string]any{"id": j.id, "name": j.name, "status": j.state, "task_id": j.id + 1}
		}
		out = append(out, row)
	}
	if s.kind == "forgejo-actions" {
		s.answer(w, r, out)
		return
	}
	s.answer(w, r, map[string]any{"total_count": len(out), "jobs": s.cut(r, out)})
}

// cut is one page of a list, of 30 where nobody says how many.
func (s *Server) cut(r *http.Request, all []any) []any {
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get(s.size()))
	if n = max(n, 1); size < 1 {
		size = 30
	}
	size = min(size, s.most())
	return append([]any{}, all[min(len(all), (n-1)*size):min(len(all), n*size)]...)
}

// acLog sends a log, or, as GitHub, to where it lies.
func (s *Server) acLog(w http.ResponseWriter, r *http.Request) {
	if s.kind == "github-actions" {
		w.Header().Set("Location", s.URL+"/blob/"+r.PathValue("job")+"?sig=signed-secret")
		w.WriteHeader(http.StatusFound)
		return
	}
	s.blob(w, r)
}

// blob is a store that wants no token, and is none of the server's.
func (s *Server) blob(w http.ResponseWriter, r *http.Request) {
	if s.kind == "github-actions" && r.Header.Get("Authorization") != "" {
		s.refuse(w, http.StatusBadRequest, "two ways to say who you are")
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("job"), 10, 64)
	run, _ := s.Run(id / 100)
	for _, j := range jobsOf(&run) {
		if j.id != id {
			continue
		}
		for _, st := range j.steps {
			if st.NoLog {
				s.refuse(w, s.gone(), "Not Found")
				return
			}
			_, _ = w.Write([]byte(st.Log + "\n"))
			if st.Exit > 0 {
				_, _ = fmt.Fprintf(w, "##[error]Process completed with exit code %d.\n", st.Exit)
			}
		}
		return
	}
	s.refuse(w, http.StatusNotFound, "Not Found")
}

// gone is how a server says that it has no log any more.
func (s *Server) gone() int {
	if s.kind == "github-actions" {
		return http.StatusGone
	}
	return http.StatusNotFound
}

func (s *Server) runners(w http.ResponseWriter, r *http.Request) {
	out := []any{}
	s.set(func() {
		for i, a := range s.workers {
			status := map[bool]string{true: "offline", false: "online"}[a.Offline]
			out = append(out, map[string]any{"id": i + 1, "name": a.Name, "status": status, "busy": false, "disabled": a.Paused})
		}
	})
	s.answer(w, r, map[string]any{"total_count": len(out), "runners": s.cut(r, out)})
}
