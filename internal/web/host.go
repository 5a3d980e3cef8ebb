package web

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"custos/internal/api"
)

// hostData is the machine, its worktrees, and how each part of the world was seen, all of
// one look.
type hostData struct {
	Look      api.FirstLook
	Host      api.Section // what the checklist says of the machine
	Worktrees api.Section // and of all worktrees, the stale and the others
	Parts     []partCount // of Look.Seen
	Plots     []plot
	NoPlots   string // why what was before is not known
	Kept      []readingRow
	Hours     string // how far back Plots go, as it was asked for
}

// partCount is how many of the parts are seen so.
type partCount struct {
	Status string
	Count  int
}

// partStatuses are how a part may be seen, the worst first; unknown is one of its own.
func partStatuses() []string { return []string{"unknown", "pending", "stale", "ok", "absent"} }

func (s *site) host(ctx context.Context, r *http.Request) (page, error) {
	look, err := s.api.FirstLook(ctx)
	if err != nil {
		return page{}, err
	}
	list, err := s.api.Preflight(ctx)
	if err != nil {
		return page{}, err
	}
	d := hostData{Look: look, Parts: countParts(look.Seen), Host: sectionOf(list, "system-resources"), Worktrees: sectionOf(list, "stale-worktrees")}
	d.before(ctx, s.api, cmp.Or(r.URL.Query().Get("since"), "6h"))
	return page{Name: "host", Title: "The machine " + look.From.Host, At: look.At, Data: d}, nil
}

// before adds what the machine was like; where that cannot be read, the rest is shown.
func (d *hostData) before(ctx context.Context, c *api.Client, since string) {
	d.Hours = since
	r, err := c.Readings(ctx, since)
	if err != nil {
		d.NoPlots = api.ErrorOf(err).Message
		return
	}
	d.Plots, d.Kept = plots(r), readingRows(r)
}

// readingRow is what the readings of some time say, for who does not see the plots.
type readingRow struct {
	From  time.Time
	Count int // of readings; 0: nothing is known of this time
	Last  api.Reading
}

// rowsOfReadings is into how many parts the time of the plots is divided in the table.
const rowsOfReadings = 12

// readingRows divides the time, the newest part first.
func readingRows(r api.Readings) []readingRow {
	out := make([]readingRow, rowsOfReadings)
	each := r.At.Sub(r.Since) / rowsOfReadings
	if each <= 0 {
		return nil
	}
	for i := range out {
		out[rowsOfReadings-1-i].From = r.Since.Add(time.Duration(i) * each)
	}
	for _, one := range r.Readings {
		i := rowsOfReadings - 1 - min(int(one.At.Sub(r.Since)/each), rowsOfReadings-1)
		if i >= 0 && i < len(out) {
			out[i].Count++
			out[i].Last = one
		}
	}
	return out
}

// sectionOf finds a section of the checklist; one that is not there is not known.
func sectionOf(list api.Preflight, name string) api.Section {
	for _, section := range list.Sections {
		if section.Name == name {
			return section
		}
	}
	return api.Section{Name: name, Status: "unknown", Why: "the daemon has not told of it"}
}

// countParts counts by status; what is not known is counted also when it is none.
func countParts(seen []api.PartSeen) (out []partCount) {
	count := map[string]int{}
	for _, part := range seen {
		count[part.Status]++
	}
	for _, status := range partStatuses() {
		if count[status] > 0 || status == "unknown" {
			out = append(out, partCount{status, count[status]})
		}
		delete(count, status)
	}
	for _, status := range slices.Sorted(maps.Keys(count)) { // of a daemon that knows more
		out = append(out, partCount{status, count[status]})
	}
	return out
}

// partClass is how a status is drawn.
func partClass(status string) string {
	switch status {
	case "ok":
		return "state-working"
	case "absent":
		return ""
	}
	return "state-unknown"
}
