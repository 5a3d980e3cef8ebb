package citest

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// woodpecker is the API of Woodpecker: seconds since 1970, a number of the
// project that is looked up, logs as lines in base64. It follows the sources of
// woodpecker-ci/woodpecker: server/model/pipeline.go (the fields of a pipeline),
// server/pipeline/restart.go (Restart: which number a repetition calls its parent, which
// states are refused) and pipeline/errors/types/errors.go (is_warning).
func (s *Server) woodpecker(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/repos/lookup/"+s.project, func(w http.ResponseWriter, r *http.Request) {
		var id int64
		s.set(func() { id = s.moved })
		s.answer(w, r, map[string]any{"id": id, "full_name": s.project, "default_branch": "main"})
	})
	mux.HandleFunc("GET /api/repos/{repo}/pipelines", s.ours(func(w http.ResponseWriter, r *http.Request, _ int64) {
		out := []any{}
		for _, run := range s.page(r, "perPage", 50) {
			out = append(out, s.wpRun(run, false))
		}
		s.answer(w, r, out)
	}))
	mux.HandleFunc("GET /api/repos/{repo}/pipelines/{n}", s.ours(func(w http.ResponseWriter, r *http.Request, n int64) {
		if run, ok := s.Run(n); ok {
			s.answer(w, r, s.wpRun(&run, true))
			return
		}
		http.Error(w, "not found", http.StatusNotFound)
	}))
	mux.HandleFunc("GET /api/repos/{repo}/logs/{n}/{step}", s.ours(s.wpLog))
	mux.HandleFunc("POST /api/repos/{repo}/pipelines/{n}", s.ours(func(w http.ResponseWriter, r *http.Request, n int64) {
		if old, ok := s.Run(n); ok && (old.State == "blocked" || old.Word == "declined") {
			http.Error(w, "cannot restart a pipeline with status "+wpWord(&old), http.StatusBadRequest)
			return
		}
		if run := s.again(n); run != nil {
			s.answer(w, r, s.wpRun(run, false))
			return
		}
		http.Error(w, "not found", http.StatusNotFound)
	}))
	mux.HandleFunc("POST /api/repos/{repo}/pipelines/{n}/cancel", s.ours(func(w http.ResponseWriter, _ *http.Request, n int64) {
		switch there, open := s.cancel(n); {
		case !there:
			http.Error(w, "not found", http.StatusNotFound)
		case !open:
			http.Error(w, "Cannot cancel a non-running or non-pending or non-blocked pipeline", http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	mux.HandleFunc("GET /api/agents", s.wpAgents)
}

// ours lets through what asks for the project by the number it has now.
func (s *Server) ours(next func(http.ResponseWriter, *http.Request, int64)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var id int64
		s.set(func() { id = s.moved })
		if r.PathValue("repo") != strconv.FormatInt(id, 10) {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
		next(w, r, n)
	}
}

var wpWords = map[string]string{"cancelled": "killed"}

func wpWord(r *Run) string {
	if r.Word != "" {
		return r.Word
	}
	return wpState(r.State)
}

func wpState(state string) string {
	if w := wpWords[state]; w != "" {
		return w
	}
	return state
}

// wpGlobal is the number of a pipeline on the whole server, which is not its
// number in the project.
func wpGlobal(n int64) int64 {
	if n == 0 {
		return 0
	}
	return 500 + n
}

// wpParent is the pipeline that one repeats, by its number in the project; before
// 2.5 by that on the whole server (Restart, and issue 3680 of the project).
func (s *Server) wpParent(r *Run) int64 {
	if s.parentsByID {
		return wpGlobal(r.Parent)
	}
	return r.Parent
}

func (s *Server) wpRun(r *Run, whole bool) map[string]any {
	out := map[string]any{"id": wpGlobal(r.Number), "number": r.Number, "parent": s.wpParent(r), "event": r.Event, "status": wpWord(r),
		"created": wpTime(r.Created), "started": wpTime(r.Started), "finished": wpTime(r.Ended), "commit": r.Head, "branch": r.Branch,
		"ref": "refs/heads/" + r.Branch, "title": r.Title, "message": r.Title + "\n\nbody", "sender": "somebody", "errors": wpErrors(r)}
	if r.Pull > 0 {
		out["ref"], out["refspec"], out["branch"] = "refs/pull/"+strconv.Itoa(r.Pull)+"/head", r.Branch+":main", "main"
	}
	if !whole {
		return out
	}
	var flows []any
	for _, job := range jobsOf(r) {
		var children []any
		for _, st := range job.steps {
			children = append(children, map[string]any{"id": st.id, "name": st.Name, "state": wpState(st.State), "exit_code": st.Exit, "error": st.Error, "type": wpType(st.Name)})
		}
		flows = append(flows, map[string]any{"id": job.id, "name": job.name, "state": wpState(job.state), "error": r.Error, "children": children})
	}
	if len(flows) == 0 && r.State == "failure" {
		flows = append(flows, map[string]any{"id": 1, "name": "build", "state": "failure", "error": r.Error})
	}
	out["workflows"] = flows
	return out
}

// wpErrors are what Woodpecker has to say of the configuration. Warnings stand in
// the same list, of pipelines that went well too.
func wpErrors(r *Run) (out []any) {
	for _, text := range r.Warnings {
		out = append(out, map[string]any{"type": "linter", "message": text, "is_warning": true, "data": map[string]any{"file": ".woodpecker.yml", "field": "steps"}})
	}
	if r.Misconfigured != "" {
		out = append(out, map[string]any{"type": "compiler", "message": r.Misconfigured, "is_warning": false, "data": nil})
	}
	return out
}

func wpType(name string) string {
	if name == "clone" {
		return "clone"
	}
	return "commands"
}

func wpTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func (s *Server) wpLog(w http.ResponseWriter, r *http.Request, n int64) {
	run, _ := s.Run(n)
	step, _ := strconv.ParseInt(r.PathValue("step"), 10, 64)
	for _, job := range jobsOf(&run) {
		for _, st := range job.steps {
			if st.id != step || st.NoLog {
				continue
			}
			out := []any{}
			for i, line := range strings.Split(strings.TrimSuffix(st.Log, "\n"), "\n") {
				out = append(out, map[string]any{"id": i, "step_id": step, "line": i, "time": i, "data": base64.StdEncoding.EncodeToString([]byte(line)), "type": 0})
			}
			s.answer(w, r, out)
			return
		}
	}
	http.Error(w, "not found", http.StatusNotFound)
}

func (s *Server) wpAgents(w http.ResponseWriter, r *http.Request) {
	out := []any{}
	s.set(func() {
		for i, a := range s.workers {
			out = append(out, map[string]any{"id": i + 1, "name": a.Name, "last_contact": s.now().Add(-a.Silent).Unix(), "no_schedule": a.Paused,
				"platform": "linux/amd64", "capacity": 2, "token": "agent-secret"})
		}
	})
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("perPage"))
	if page = max(page, 1); size < 1 || size > 50 {
		size = 50 // server/router/middleware/session/pagination.go
	}
	s.answer(w, r, out[min(len(out), (page-1)*size):min(len(out), page*size)])
}

// job is what steps with the same job are.
type job struct {
	id    int64
	name  string
	state string
	steps []numbered
}

type numbered struct {
	Step
	id int64
}

func jobsOf(r *Run) (out []*job) {
	by := map[string]*job{}
	for i, st := range r.Steps {
		j := by[st.Job]
		if j == nil {
			j = &job{id: r.Number*100 + int64(len(out)) + 1, name: st.Job, state: "success"}
			by[st.Job], out = j, append(out, j)
		}
		if st.State != "success" && j.state != "failure" {
			j.state = st.State
		}
		j.steps = append(j.steps, numbered{st, r.Number*1000 + int64(i)})
	}
	return out
}
