package forge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/forgetest"
)

// A list that is suddenly empty is believed only when what was on it is closed: until
// then what it would say is unknown, and ends nothing.
func TestASuddenlyEmptyListIsDoubted(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		for name, path := range map[string]string{"issues": "/issues?", "pull requests": map[bool]string{false: "/pulls?", true: "/merge_requests?"}[kind == "gitlab"]} {
			t.Run(name, func(t *testing.T) {
				w, repos := newWorld(t, kind, "shop")
				for n := range 3 {
					repos["shop"].Open(n+1, time.Hour, forgetest.Issue{Title: "one"})
				}
				repos["shop"].Propose(7, time.Hour, forgetest.Pull{Branch: "fix", Base: "main", Head: commit(1)})
				if f := w.must(t); len(f.Issues) != 3 || len(f.Pulls) != 1 {
					t.Fatalf("%+v", f)
				}
				mend := w.Break(forgetest.Fault{Path: path, Status: 200, Body: "[]"})
				for range 3 {
					f, err := w.look(t)
					if err == nil || !strings.Contains(err.Error(), "its list is empty, but #") {
						t.Fatalf("it is believed: %v", err)
					}
					if len(f.Issues) != 3 || len(f.Pulls) != 1 || f.Issues[0].Open.IsKnown() || f.Projects[0].Ready.IsKnown() {
						t.Fatalf("what was seen is forgotten, or still told: %+v", f)
					}
				}
				mend()
				if f := w.must(t); len(f.Issues) != 3 || !f.Issues[0].Open.Or(false) || len(f.Pulls) != 1 {
					t.Errorf("when it is mended: %+v", f)
				}
			})
		}
	})
}

// What is closed in truth is believed at once, however much it is.
func TestAnEmptyListThatIsTrueIsBelieved(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop")
		repos["shop"].Open(1, time.Hour, forgetest.Issue{Title: "one"})
		repos["shop"].Propose(7, time.Hour, forgetest.Pull{Branch: "fix", Base: "main", Head: commit(1)})
		w.must(t)
		repos["shop"].Close(1, 0)
		repos["shop"].Merge(7, 0)
		if f := w.must(t); len(f.Pulls) != 0 || f.Issues[0].Open.Or(true) {
			t.Errorf("%+v", f)
		}
	})
}

// What is not there any more (an issue that was deleted) is doubted once.
func TestAVanishedIssueIsDoubtedOnce(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop")
		repos["shop"].Open(1, time.Hour, forgetest.Issue{Title: "one"})
		w.must(t)
		w.Change(func() { delete(repos["shop"].Issues, 1) })
		var said []string
		for range 3 {
			_, err := w.look(t)
			said = append(said, fmt.Sprint(err != nil))
		}
		if got := strings.Join(said, " "); got != "true false false" {
			t.Errorf("looks that failed: %s", got)
		}
	})
}
