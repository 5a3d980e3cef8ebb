package web

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"custos/internal/api"
)

// hostData is the machine, its worktrees, and how each part of the world was seen, all of
// one look.
type hostData struct {
	Look      api.FirstLook
	Host      api.Section // what the checklist says of the machine
	Worktrees api.Section // and of all worktrees, the stale and the others
	Parts     []partCount // of Look.Seen
}

// partCount is how many of the parts are seen so.
type partCount struct {
	Status string
	Count  int
}

// partStatuses are how a part may be seen, the worst first; unknown is one of its own.
func partStatuses() []string { return []string{"unknown", "pending", "stale", "ok", "absent"} }

func (s *site) host(ctx context.Context, _ *http.Request) (page, error) {
	look, err := s.api.FirstLook(ctx)
	if err != nil {
		return page{}, err
	}
	list, err := s.api.Preflight(ctx)
	if err != nil {
		return page{}, err
	}
	d := hostData{Look: look, Parts: countParts(look.Seen), Host: sectionOf(list, "system-resources"), Worktrees: sectionOf(list, "stale-worktrees")}
	return page{Name: "host", Title: "The machine " + look.From.Host, At: look.At, Data: d}, nil
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
