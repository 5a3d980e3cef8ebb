package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"custos/internal/api"
)

// alertsData is a page of the list of alerts; what it counts is what it shows.
type alertsData struct {
	Rows       []api.Alert
	Priorities []priorityCount // of Rows
	First      int             // number of the first one shown, from 1
	Of         int             // how many there are
	All        bool            // those that are over, too
	Trouble    string
	Next, Back string // addresses of the pages beside it; "" for none
}

type priorityCount struct {
	Priority string
	Count    int
}

// alertsAPage is how many alerts are shown at once.
const alertsAPage = 200

func (s *site) alerts(ctx context.Context, r *http.Request) (page, error) {
	isAll := r.URL.Query().Get("all") != ""
	v, err := s.api.Alerts(ctx, isAll)
	if err != nil {
		return page{}, err
	}
	others, now := s.others(r, true), s.Now()
	v.Alerts = withAlerts(v.Alerts, others, now)
	from, _ := strconv.Atoi(r.URL.Query().Get("from")) // what is no number is the beginning
	from = max(0, min(from, (len(v.Alerts)-1)/alertsAPage*alertsAPage))
	d := alertsData{Rows: v.Alerts[from:min(len(v.Alerts), from+alertsAPage)], First: from + 1, Of: len(v.Alerts), All: isAll, Trouble: v.Trouble}
	for _, a := range d.Rows {
		i := slices.IndexFunc(d.Priorities, func(p priorityCount) bool { return p.Priority == a.Priority })
		if i < 0 {
			i, d.Priorities = len(d.Priorities), append(d.Priorities, priorityCount{Priority: a.Priority})
		}
		d.Priorities[i].Count++
	}
	if from+alertsAPage < len(v.Alerts) {
		d.Next = alertsAt(from+alertsAPage, isAll)
	}
	if from > 0 {
		d.Back = alertsAt(max(0, from-alertsAPage), isAll)
	}
	return page{Name: "alerts", Title: "Alerts", At: now, Banners: hostBanners(others, now), Data: d}, nil
}

func alertsAt(from int, isAll bool) string {
	path := fmt.Sprintf("/alerts?from=%d", from)
	if isAll {
		path += "&all=1"
	}
	return path
}

// alertData is one alert: why it is there, and what would be done about it.
type alertData struct {
	Alert   api.Alert
	Story   api.Story
	Offer   *api.Offer // what an approval begins; nil where that cannot be told
	NoOffer string     // why
	Done    []outcome  // what was done by the page just now
}

// Path is where the forms of the alert go.
func (d alertData) Path() string { return alertPage(d.Alert) }

// IsOver says whether nothing more can be done about it.
func (d alertData) IsOver() bool { return d.Alert.Status == "resolved" }

// Agent is the path of the agent that it is about; "" where it is about none.
func (d alertData) Agent() string {
	if name, ok := strings.CutPrefix(d.Alert.Subject, "agent/"); ok {
		return hostPath(d.Alert.Host) + agentPath(name)
	}
	return ""
}

func (s *site) alert(ctx context.Context, r *http.Request) (page, error) {
	n, err := alertNumber(r)
	if err != nil {
		return page{}, err
	}
	story, err := s.api.Story(ctx, strconv.FormatInt(n, 10))
	if err != nil {
		return page{}, err
	}
	i := slices.IndexFunc(story.Alerts, func(a api.Alert) bool { return a.Number == n })
	if i < 0 {
		return page{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show alert %d: there is no such alert any more", n), Hint: "custos alerts"}
	}
	d := alertData{Alert: story.Alerts[i], Story: *seenBy(story, sessionOf(r)), Done: whatWasDone(r.URL.Query(), story.Events)}
	d.Story.Alerts = slices.Delete(slices.Clone(story.Alerts), i, i+1)
	if !d.IsOver() {
		d.Offer, d.NoOffer = s.offer(ctx, n)
	}
	return page{Name: "alert", Title: fmt.Sprintf("Alert %d", n), At: story.At, Data: d}, nil
}

// offer is what an approval would begin, as it is to be shown.
func (s *site) offer(ctx context.Context, n int64) (*api.Offer, string) {
	o, err := s.api.Offer(ctx, n)
	if err != nil {
		return nil, api.ErrorOf(err).Message
	}
	for i := range o.Deeds {
		if d := &o.Deeds[i]; d.Rule == "order-asked" { // a person is to see exactly what it is, or does not approve of it here
			whole, err := s.api.AskedOrder(ctx, d.ID)
			if err != nil {
				return nil, api.ErrorOf(err).Message
			}
			d.Commands = nil
			for _, line := range whole.Asks {
				d.Commands = append(d.Commands, api.Command{Argv: []string{}, Note: line})
			}
		}
	}
	return &o, ""
}

// outcome is what came of something that the page has done.
type outcome struct {
	Says string
	Bad  bool
}

// whatWasDone are the words for what the forms do: nothing else of an address is shown. What
// came of an approval is what is written down of each action that it began.
func whatWasDone(asked url.Values, events []api.Event) []outcome {
	switch asked.Get("done") {
	case "ack":
		return []outcome{{Says: "It is taken up."}}
	case "silence":
		return []outcome{{Says: "Messages about it are held back."}}
	case "approve", "deny":
		word := map[string]string{"approve": "approved", "deny": "denied"}[asked.Get("done")]
		var out []outcome
		for _, id := range asked["begun"] {
			out = append(out, cameOf(word, id, events))
		}
		return out
	}
	return nil
}

// cameOf is how far an action has come that an answer began.
func cameOf(answered, id string, events []api.Event) outcome {
	text, begun, over, well := api.Came(id, events)
	switch {
	case over:
		return outcome{Says: "It was " + answered + ". " + text, Bad: !well}
	case begun:
		return outcome{Says: "It is " + answered + ", and begun. What comes of it is told here."}
	}
	return outcome{Says: "It is " + answered + ". What becomes of it is not written down yet."}
}

func alertNumber(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil || n < 1 {
		return 0, &api.Error{Kind: api.NotFound, Message: "cannot show that alert: it has no number", Hint: "custos alerts"}
	}
	return n, nil
}

func alertPath(n int64) string { return fmt.Sprintf("/alerts/%d", n) }

func (s *site) acknowledge(ctx context.Context, r *http.Request) (string, error) {
	n, err := alertNumber(r)
	if err != nil {
		return "", err
	}
	_, err = s.api.Acknowledge(ctx, n, api.AckOrder{ID: r.PostForm.Get("id")})
	return alertPath(n) + "?done=ack", err
}

// silence holds messages back, of the rule and the subject that the form has shown.
func (s *site) silence(ctx context.Context, r *http.Request) (string, error) {
	n, err := alertNumber(r)
	if err != nil {
		return "", err
	}
	f := r.PostForm
	if f.Get("rule") == "" || f.Get("subject") == "" {
		return "", api.AsBadInput(fmt.Errorf("cannot take the form: it is not as this page has sent it"))
	}
	_, err = s.api.Silence(ctx, api.SilenceOrder{Rule: f.Get("rule"), Subject: f.Get("subject"), For: f.Get("for"), Why: f.Get("why")})
	return alertPath(n) + "?done=silence", err
}

// approve has done what was shown, and nothing else: without its hash nothing is.
func (s *site) approve(ctx context.Context, r *http.Request) (string, error) {
	return answered(ctx, r, "approve", s.api.Approve)
}

// deny has done what is done instead of what was shown.
func (s *site) deny(ctx context.Context, r *http.Request) (string, error) {
	return answered(ctx, r, "deny", s.api.Deny)
}

func answered(ctx context.Context, r *http.Request, as string, do func(context.Context, int64, api.ApproveOrder) (api.Approved, error)) (string, error) {
	n, err := alertNumber(r)
	if err != nil {
		return "", err
	}
	seen := r.PostForm.Get("seen")
	if seen == "" {
		return "", api.AsBadInput(fmt.Errorf("cannot %s what was not shown: load the alert again", as))
	}
	v, err := do(ctx, n, api.ApproveOrder{Seen: seen, ID: r.PostForm.Get("id"), Digest: r.PostForm.Get("digest")})
	asked := url.Values{"done": {as}}
	for _, a := range v.Actions {
		asked.Add("begun", a.ID)
	}
	return alertPath(n) + "?" + asked.Encode(), err
}
