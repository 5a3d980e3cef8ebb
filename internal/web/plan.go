package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"custos/internal/api"
)

// planData is what would be done and what is not, all of one look.
type planData struct{ api.Plan }

// Waits says how many of the actions wait for a person's word.
func (d planData) Waits() (n int) {
	for _, a := range d.Actions {
		if a.Held != nil {
			n++
		}
	}
	return n
}

func (s *site) plan(ctx context.Context, _ *http.Request) (page, error) {
	v, err := s.api.Plan(ctx)
	if err != nil {
		return page{}, err
	}
	return page{Name: "plan", Title: "Plan", At: v.At, Data: planData{v}}, nil
}

// whyData is the story of one thing; the zero one asks of what.
type whyData struct {
	Of    string
	Story *api.Story
}

// Agent is the path of the agent that it is about; "" where it is about none.
func (d whyData) Agent() string {
	if name, ok := strings.CutPrefix(d.Story.Subject, "agent/"); ok {
		return agentPath(name)
	}
	return ""
}

// IsQuiet says whether nothing at all is wrong with it, or to be done about it.
func (d whyData) IsQuiet() bool {
	s := d.Story
	return len(s.Alerts)+len(s.Planned)+len(s.Moves)+len(s.Held)+len(s.Skipped)+len(s.Doubts) == 0
}

func (s *site) why(ctx context.Context, r *http.Request) (page, error) {
	d := whyData{Of: strings.TrimSpace(r.URL.Query().Get("of"))}
	p := page{Name: "why", Title: "Why, and why not", At: s.Now(), Data: d}
	if d.Of == "" {
		return p, nil
	}
	v, err := s.api.Story(ctx, d.Of)
	if err != nil {
		return page{}, err
	}
	d.Story = seenBy(v, sessionOf(r))
	p.Title, p.At, p.Data = "Why "+v.Subject, v.At, d
	return p, nil
}

// seenBy is of a story what a session may see: a link that shows no terminal shows none of
// what stands in one.
func seenBy(v api.Story, session Session) *api.Story {
	if !session.Terminal {
		v.Shown = nil
	}
	return &v
}

func whyPath(of string) string { return "/why?of=" + url.QueryEscape(of) }
