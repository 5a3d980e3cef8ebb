package web

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/api"
)

// Each part of the world is a row with its source, counted by how it is seen; what cannot
// be seen has no count of things.
func TestTheHostPageSaysHowEachPartIsSeen(t *testing.T) {
	yes, no := true, false
	w := newWorld(t)
	w.answers["GET /v1/look"] = api.FirstLook{Seen: []api.PartSeen{{Part: "host", Status: "ok", What: "2 file systems", Source: "/proc", Took: "2ms"}, {Part: "repos", Status: "unknown", What: "0 worktrees", Why: "git hangs"}, {Part: "ci", Status: "absent"}},
		Worktrees: []api.Worktree{{Path: "/w/a", Merged: &no, Removable: &yes}, {Path: "/w/b", WhyNot: []string{"2 changed"}}}}
	w.answers["GET /v1/preflight"] = api.Preflight{Sections: []api.Section{{Name: "system-resources", Status: "ok", Lines: []string{"Disk /: 40 % used"}}, {Name: "stale-worktrees", Status: "unknown", Why: "git hangs"}}}
	doc := parsed(t, w.get(t, "/host"))
	parts := byID(t, doc, "parts")
	if got, want := figures(parts), (map[string]int{"unknown": 1, "ok": 1, "absent": 1}); fmt.Sprint(got) != fmt.Sprint(want) || has(parts, "data-part") != 3 || text(byID(t, doc, "parts-title")) != "3 parts of the world" {
		t.Errorf("counted %v under %q", got, text(byID(t, doc, "parts-title")))
	}
	if got := text(parts); !strings.Contains(got, "host ok 2 file systems /proc 2ms") || !strings.Contains(got, "repos unknown: git hangs unknown") || strings.Contains(got, "0 worktrees") {
		t.Errorf("the parts: %q", got)
	}
	trees := byID(t, doc, "worktrees")
	if got := text(trees); has(trees, "data-worktree") != 2 || !strings.Contains(got, "2 stale worktrees") || !strings.Contains(got, "unknown no yes") || !strings.Contains(got, "unknown unknown unknown: 2 changed") || !strings.Contains(got, "Not seen as it is now (unknown): git hangs") {
		t.Errorf("the worktrees: %q", got)
	}
	if got := text(byID(t, doc, "host")); !strings.Contains(got, "Memory freeunknown") || !strings.Contains(got, "Loadunknown") || !strings.Contains(got, "Disk /: 40 % used") {
		t.Errorf("the machine: %q", got)
	}
	w.answers["GET /v1/look"] = api.FirstLook{}
	w.answers["GET /v1/preflight"] = api.Preflight{}
	doc = parsed(t, w.get(t, "/host"))
	if got := text(byID(t, doc, "worktrees")); !strings.Contains(got, "they are not seen as they are now") || strings.Contains(got, "There are none") {
		t.Errorf("what is not told of reads as well: %q", got)
	}
}
