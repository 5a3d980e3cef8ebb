package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
)

// journalData is what was done, and one day of the journal as it was written.
type journalData struct {
	Deeds    []journalDeed
	Results  []resultCount // of Deeds
	Day      string        // that is shown, or was asked for
	Text     string        // Markdown
	Path     string        // of its file
	NoDay    string        // why there is no Text
	Back, On string        // addresses of the days beside it; "" for none
	Cut      bool          // there were more actions than are shown
}

// journalDeed is one action: what was meant, and what became of it.
type journalDeed struct {
	ID, Do, About string
	Planned       *time.Time // nil: it was before what is shown
	Why           string
	Ended         *time.Time // nil: no end is written down
	Result        string     // done, failed, …; unknown where no end is written down
	Text          string
	Bad           bool
}

// resultCount is how many of the actions shown ended how.
type resultCount struct {
	Result string
	Count  int
}

// A day is written like this, and how much of what was done is shown.
const (
	dayForm   = "2006-01-02"
	mostDeeds = 5000 // lines of the log: an action has three
)

func (s *site) journal(ctx context.Context, r *http.Request) (page, error) {
	day := r.URL.Query().Get("day")
	d := journalData{Day: day}
	j, err := s.api.Journal(ctx, day)
	switch {
	case err == nil:
		d.Day, d.Text, d.Path = j.Day, j.Text, j.Path
	case api.ErrorOf(err).Kind == api.NotFound:
		d.NoDay = "No patrol is written down of it."
	default:
		return page{}, err
	}
	from, err := time.Parse(dayForm, d.Day)
	if err != nil {
		from = s.Now().UTC().Truncate(24 * time.Hour) // of which nothing is written yet
		d.Day = from.Format(dayForm)
	}
	if err := s.deeds(ctx, &d, from); err != nil {
		return page{}, err
	}
	d.Back = journalAt(from.AddDate(0, 0, -1))
	if next := from.AddDate(0, 0, 1); !next.After(s.Now()) {
		d.On = journalAt(next)
	}
	return page{Name: "journal", Title: "Journal of " + d.Day, At: s.Now(), Still: day != "", Data: d}, nil
}

func journalAt(day time.Time) string { return "/journal?day=" + day.Format(dayForm) }

// deeds are the actions of one day.
func (s *site) deeds(ctx context.Context, d *journalData, from time.Time) error {
	f, err := s.api.Feed(ctx, api.FeedQuery{Kind: "action", Since: from, Until: from.AddDate(0, 0, 1), Limit: mostDeeds})
	if err != nil {
		return err
	}
	d.Deeds, d.Cut = journalDeeds(f.Entries), len(f.Entries) == mostDeeds
	for _, deed := range d.Deeds {
		i := slices.IndexFunc(d.Results, func(c resultCount) bool { return c.Result == deed.Result })
		if i < 0 {
			i, d.Results = len(d.Results), append(d.Results, resultCount{Result: deed.Result})
		}
		d.Results[i].Count++
	}
	return nil
}

// journalDeeds puts what the log says of each action together, the newest first. One of
// which no end is written down has an unknown result.
func journalDeeds(entries []api.FeedEntry) (out []journalDeed) {
	for _, e := range entries {
		if e.Action == "" || e.Kind == "action.skipped" {
			continue
		}
		i := slices.IndexFunc(out, func(d journalDeed) bool { return d.ID == e.Action })
		if i < 0 {
			i, out = len(out), append(out, journalDeed{ID: e.Action, About: aboutOf(e), Result: "unknown", Text: "no end of it is written down"})
		}
		out[i].add(e)
	}
	slices.Reverse(out)
	return out
}

// add takes what one line of the log says: "rotate-log: done: 41 MB freed".
func (d *journalDeed) add(e api.FeedEntry) {
	do, rest, _ := strings.Cut(e.Text, ": ")
	switch d.Do = do; e.Kind {
	case "action.planned":
		d.Planned, d.Why = &e.At, rest
	case "action.ended":
		d.Ended, d.Bad = &e.At, e.Bad
		d.Result, d.Text, _ = strings.Cut(rest, ": ")
	}
}

// aboutOf is what an entry is about, as it is called in why.
func aboutOf(e api.FeedEntry) string {
	if e.Agent != "" {
		return "agent/" + e.Agent
	}
	return e.About
}

// morningData is the morning page.
type morningData struct {
	api.Report
	Asked string // since when, as it was asked for
	Needs []need
}

// morning is what custos report shows. It is not kept up to date by itself: it asks git
// for each worktree.
func (s *site) morning(ctx context.Context, r *http.Request) (page, error) {
	since := r.URL.Query().Get("since")
	if since == "" {
		since = "12h"
	}
	v, err := s.api.Report(ctx, since)
	if err != nil {
		return page{}, err
	}
	d := morningData{Report: v, Asked: since, Needs: needs(v.Waits)}
	return page{Name: "morning", Title: "Morning page", At: v.At, Still: true, Data: d}, nil
}
