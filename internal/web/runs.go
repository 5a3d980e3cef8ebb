package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
)

// runsData is the runs of formulas, those that wait for a person first, and what starts them.
type runsData struct {
	Runs      list[api.Run]
	All       bool // those that ended, too
	More      bool // the daemon lists no older ones
	Schedules list[api.ScheduleRow]
}

// mostRuns is how many runs the daemon lists at most.
const mostRuns = 200

func runStates() []string {
	return []string{"unknown", "needs a person", "running", "failed", "cancelled", "skipped", "done"}
}

// scheduleStates are of schedules: one whose condition cannot be told does not read as well.
func scheduleStates() []string { return []string{"unknown", "waits", "not now", "off"} }

// scheduleState says whether a schedule only waits for its time; when not, its reason says why.
func scheduleState(s api.ScheduleRow) string {
	switch {
	case s.WhyNot == "" && len(s.NextAt) > 0:
		return "waits"
	case s.WhyNot == "" || s.Enabled && s.Holds == nil && strings.HasPrefix(s.When, "when "):
		return "unknown"
	case !s.Enabled:
		return "off"
	}
	return "not now"
}

func (s *site) runs(ctx context.Context, r *http.Request) (page, error) {
	asked := r.URL.Query()
	d := runsData{All: asked.Get("all") != ""}
	at := address("/runs", asked, "all", "from", "schedules")
	runs, err := s.api.Runs(ctx, d.All)
	d.More = len(runs.Runs) >= mostRuns
	slices.Reverse(runs.Runs)
	slices.SortStableFunc(runs.Runs, func(a, b api.Run) int { return cmp.Compare(rank(a), rank(b)) })
	d.Runs = listed(runs.Runs, err, at, "from", runStates(), func(r api.Run) string { return r.State })
	schedules, err := s.api.Schedules(ctx)
	d.Schedules = listed(schedules.Schedules, err, at, "schedules", scheduleStates(), scheduleState)
	return page{Name: "runs", Title: "Runs and schedules", At: oldest(runs.At, schedules.At), Data: d}, nil
}

// rank is where a run stands in the list: what waits for a person, what is not over, the rest.
func rank(r api.Run) int {
	switch {
	case r.State == "needs a person":
		return 0
	case !r.Over:
		return 1
	}
	return 2
}

// runData is one run, and what a person may say of it.
type runData struct {
	api.Run
	Seen  string // digest of what a person answers for
	Done  string
	Now   time.Time
	Forms []stepForm
}

// stepForm is a step that a person answers for.
type stepForm struct {
	api.RunStep
	Reported bool // a step of prose that a person does: it is reported, not resumed
}

// Path is where the forms of the run go.
func (d runData) Path() string { return runPath(d.ID) }

// Asks says whether its agent has asked, and waits for a reply.
func (d runData) Asks() bool {
	return d.Agent != "" && slices.ContainsFunc(d.Steps, func(s api.RunStep) bool { return s.State == "needs a person" && s.Do == "prose" })
}

// Failed says whether what failed can be tried again.
func (d runData) Failed() bool { return d.State == "failed" }

func (s *site) run(ctx context.Context, r *http.Request) (page, error) {
	v, err := s.api.Run(ctx, r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	d := runData{Run: v, Seen: answeredFor(v), Now: s.Now(), Done: whatWasSaidOfRun(r.URL.Query().Get("done"))}
	for _, step := range v.Steps {
		if step.State == "needs a person" {
			d.Forms = append(d.Forms, stepForm{step, step.Do == "prose" && v.Agent == ""})
		}
	}
	return page{Name: "run", Title: "Run " + v.ID, At: d.Now, Data: d}, nil
}

// answeredFor is the digest of what a person answers for: the steps that wait for one, or
// failed. What others do meanwhile changes nothing of it.
func answeredFor(r api.Run) string {
	type asked struct {
		ID, State, Why string
		Since          *time.Time
		Attempt        int
	}
	list := []asked{}
	for _, s := range r.Steps {
		if s.State == "needs a person" || s.State == "failed" {
			list = append(list, asked{s.ID, s.State, s.Why, s.Since, s.Attempt})
		}
	}
	return digest(struct {
		ID, State string
		Steps     []asked
	}{r.ID, r.State, list})
}

// whatWasSaidOfRun are the words for what the forms do: nothing else of an address is shown.
func whatWasSaidOfRun(done string) string {
	return map[string]string{
		"reply":  "The reply is written down: the next session of its agent is sent it.",
		"done":   "The step is taken as done.",
		"fail":   "The step is taken as failed.",
		"again":  "It is tried again.",
		"cancel": "It is ended: what runs is stopped, and what was not begun is skipped.",
	}[done]
}

// changeRun says of a run what a form says, where it is still as it was shown.
func (s *site) changeRun(ctx context.Context, r *http.Request) (string, error) {
	id, f := r.PathValue("id"), r.PostForm
	change, done, err := runChange(f)
	if err != nil {
		return "", err
	}
	now, err := s.api.Run(ctx, id)
	if err != nil {
		return "", err
	}
	if err := asShown(f, answeredFor(now)); err != nil {
		return "", err
	}
	_, err = s.api.ChangeRun(ctx, id, change)
	return runPath(id) + "?done=" + done + "#outcome", err
}

// runChange is what a form of a run asks for, and what the page calls that.
func runChange(f url.Values) (api.RunChange, string, error) {
	step, note := f.Get("step"), typed(f, "note")
	switch do := f.Get("do"); {
	case do == "reply" && strings.TrimSpace(f.Get("reply")) != "":
		return api.RunChange{Do: "resume", Reply: typed(f, "reply")}, do, nil
	case (do == "done" || do == "fail") && step != "" && f.Get("reported") != "":
		return api.RunChange{Do: do, Step: step, Note: note}, do, nil
	case (do == "done" || do == "again") && step != "":
		return api.RunChange{Do: "resume", Step: step, As: do}, do, nil
	case do == "again":
		return api.RunChange{Do: "resume", As: do}, do, nil
	case do == "cancel":
		return api.RunChange{Do: do}, do, nil
	}
	return api.RunChange{}, "", badForm()
}

func runPath(id string) string { return "/runs/" + url.PathEscape(id) }
