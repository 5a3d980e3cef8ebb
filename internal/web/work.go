package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"custos/internal/api"
)

// workData is work, and what holds it: gates and convoys.
type workData struct {
	Which   string // ready, blocked, all; "" for what is not closed
	Choices []choice
	Work    list[api.Work]
	Gates   list[api.Gate]
	Convoys list[api.Convoy]
}

// choice is a link that shows another part of a list.
type choice struct {
	Name, Path string
	Current    bool
}

// Each list of states begins with what is not known.
func workStates() []string {
	return []string{"unknown", "ready", "in progress", "waits", "in a circle", "open", "closed"}
}
func gateStates() []string {
	return []string{"not seen", "overdue", "due", "waits", "failed", "cancelled", "passed"}
}
func convoyStates() []string { return []string{"unknown", "overdue", "open", "done", "closed"} }

func (s *site) work(ctx context.Context, r *http.Request) (page, error) {
	asked := r.URL.Query()
	d := workData{Which: asked.Get("which")}
	if !slices.Contains([]string{"", "ready", "blocked", "all"}, d.Which) {
		return page{}, api.AsBadInput(fmt.Errorf("cannot show that part of the work: want which=ready, blocked or all"))
	}
	d.Choices = workChoices(d.Which)
	at := address("/work", asked, "which", "from", "gates", "convoys")
	work, err := s.api.Work(ctx, api.WorkQuery{Which: d.Which})
	d.Work = listed(work.Work, err, at, "from", workStates(), api.Work.StateWord)
	gates, err := s.api.Gates(ctx, d.Which == "all")
	d.Gates = listed(gates.Gates, err, at, "gates", gateStates(), api.Gate.StateWord)
	convoys, err := s.api.Convoys(ctx, d.Which == "all")
	d.Convoys = listed(convoys.Convoys, err, at, "convoys", convoyStates(), api.Convoy.StateWord)
	return page{Name: "work", Title: "Work", At: oldest(work.At, gates.At, convoys.At), Data: d}, nil
}

func workChoices(which string) (out []choice) {
	for _, c := range []struct{ name, which string }{{"Not closed", ""}, {"Ready", "ready"}, {"Waiting", "blocked"}, {"Closed too", "all"}} {
		path := "/work"
		if c.which != "" {
			path += "?which=" + c.which
		}
		out = append(out, choice{c.name, path, c.which == which})
	}
	return out
}

func (s *site) workItem(ctx context.Context, r *http.Request) (page, error) {
	w, err := s.api.WorkItem(ctx, r.PathValue("ref"))
	if err != nil {
		return page{}, err
	}
	return page{Name: "workitem", Title: w.Ref, At: s.Now(), Data: w}, nil
}

func (s *site) convoy(ctx context.Context, r *http.Request) (page, error) {
	v, err := s.api.Convoy(ctx, r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	return page{Name: "convoy", Title: v.ID, At: s.Now(), Data: v}, nil
}

// gateData is one gate, and what was done with it just now.
type gateData struct {
	api.Gate
	Done bool // it was closed by the page just now
}

// Path is where the forms of the gate go.
func (d gateData) Path() string { return gatePath(d.ID) }

// IsOpen says whether it can be closed.
func (d gateData) IsOpen() bool { return d.State == "open" }

// Command is what it runs to see whether it may close.
func (d gateData) Command() string {
	if len(d.Check) == 0 {
		return ""
	}
	return commandText(api.Command{Argv: d.Check})
}

func (s *site) gate(ctx context.Context, r *http.Request) (page, error) {
	g, err := s.api.Gate(ctx, r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	return page{Name: "gate", Title: g.ID, At: s.Now(), Data: gateData{g, g.State != "open" && r.URL.Query().Get("done") != ""}}, nil
}

// closeGate closes a gate as a person says, with why.
func (s *site) closeGate(ctx context.Context, r *http.Request) (string, error) {
	as := r.PostForm.Get("as")
	if as == "" {
		return "", badForm()
	}
	g, err := s.api.CloseGate(ctx, r.PathValue("id"), api.GateClosing{As: as, Why: strings.TrimSpace(typed(r.PostForm, "why"))})
	if err != nil {
		return "", err
	}
	return gatePath(g.ID) + "?done=1#outcome", nil
}

func workPath(ref string) string  { return "/work/items/" + url.PathEscape(ref) }
func gatePath(id string) string   { return "/work/gates/" + url.PathEscape(id) }
func convoyPath(id string) string { return "/work/convoys/" + url.PathEscape(id) }
