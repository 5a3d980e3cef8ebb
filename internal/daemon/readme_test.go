package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custos/internal/api"
)

// TestTheSampleOfTheReadme compares what README.md shows of the scratch tree with what
// is seen of it: which alerts, worktrees, deeds and hints. Sizes, ages, the host and the
// agents are one machine's.
func TestTheSampleOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, cfg := scratch(t)
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		look := wholeLook(ctx, t, c)
		got := shapeOf(look, dir)
		if diff := cmp.Diff(got, shapeOfSample(t, string(text), got["worktrees"])); diff != "" {
			t.Errorf("README.md shows something else; print it again as it says (-seen +README):\n%s", diff)
		}
	})
}

func shapeOf(look api.FirstLook, dir string) map[string][]string {
	out := map[string][]string{"alerts": {fmt.Sprintf("and %d alerts of housekeeping (P4)", look.Housekeeping)}}
	for _, n := range look.NeedsYou {
		out["alerts"] = append(out["alerts"], n.Priority+" "+tail(dir, n.Subject))
	}
	for _, w := range look.Worktrees {
		out["worktrees"] = append(out["worktrees"], fmt.Sprintf("%s merged=%v go=%v", tail(dir, w.Path), w.Merged != nil && *w.Merged, w.Removable != nil && *w.Removable))
	}
	for _, d := range look.CouldDo {
		out["deeds"] = append(out["deeds"], d.Priority+" "+d.Do)
	}
	for _, h := range look.Next {
		out["hints"] = append(out["hints"], h.Command)
	}
	return sorted(out)
}

// shapeOfSample reads the sample; names that are cut there are completed from those seen.
func shapeOfSample(t *testing.T, text string, seen []string) map[string][]string {
	t.Helper()
	_, text, ok := strings.Cut(text, "\nNEEDS YOU\n")
	if text, _, _ = strings.Cut(text, "\n```"); !ok {
		t.Fatal("README.md has no sample")
	}
	out, section := map[string][]string{}, "NEEDS YOU"
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case line[0] != ' ':
			section, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
		case section == "NEEDS YOU" && f[0] == "P2" && f[1] != "agent":
			out["alerts"] = append(out["alerts"], f[0]+" "+strings.TrimPrefix(strings.TrimSuffix(f[2], ":"), "/tmp/sc/"))
		case section == "NEEDS YOU" && f[0] == "and":
			out["alerts"] = append(out["alerts"], strings.TrimSpace(line))
		case strings.HasPrefix(section, "STALE WORKTREES") && f[0] != "SIZE":
			out["worktrees"] = append(out["worktrees"], sampleWorktree(f, seen))
		case section == "COULD DO":
			out["deeds"] = append(out["deeds"], f[0]+" "+f[1])
		case section == "NEXT":
			command, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
			out["hints"] = append(out["hints"], command)
		}
	}
	return sorted(out)
}

// sampleWorktree is a row's name, whether it is merged, and whether it may go.
func sampleWorktree(f []string, seen []string) string {
	_, name, _ := strings.Cut(f[4], "…")
	if name == "" {
		name = strings.TrimPrefix(f[4], "/tmp/sc")
	}
	may := f[len(f)-1] == "yes"
	for _, s := range seen {
		if want, _, _ := strings.Cut(s, " "); strings.HasSuffix("/"+want, name) {
			return fmt.Sprintf("%s merged=%v go=%v", want, f[3] != "no", may)
		}
	}
	return filepath.Base(name) + " is not seen"
}

func sorted(m map[string][]string) map[string][]string {
	for _, list := range m {
		slices.Sort(list)
	}
	return m
}
