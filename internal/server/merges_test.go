package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// merging has one merge queue, in whose repository each branch but "gone" is at a commit of
// its own.
type merging struct{}

func (merging) Queues() []fleet.MergeQueue {
	return []fleet.MergeQueue{{Name: "shop", Repo: "/src/shop", Target: "main", Remote: "origin", Project: "shop", Batch: 8, Gates: []fleet.MergeGate{{Name: "check"}}}}
}

func (merging) OfMail(fleet.MailType) fleet.MailAction { return fleet.MailAction{} }

func (merging) Place(dir string) (repo, branch string) {
	if dir == "/src/shop" || strings.HasPrefix(dir, "/trees/") {
		return "/src/shop/.git", strings.TrimPrefix(dir, "/trees/")
	}
	if strings.HasPrefix(dir, "/elsewhere/") {
		return "/elsewhere/.git", "x"
	}
	return "", ""
}

func (merging) Tip(_ context.Context, _ fleet.MergeQueue, branch string) (commit, title string, err error) {
	if branch == "gone" {
		return "", "", fmt.Errorf("there is no branch %s", branch)
	}
	return "commit-of-" + branch, "what " + branch + " does", nil
}

// A branch is added by its name, or as that which is checked out where it is asked from.
func TestAddMerge(t *testing.T) {
	c := client(newWorld())
	m, err := c.AddMerge(t.Context(), api.MergeRequest{Dir: "/trees/retry-2"})
	if err != nil || m.Source != "retry-2" || m.Queue != "shop" || m.Commit != "commit-of-retry-2" || m.Title != "what retry-2 does" || m.State != "waiting" || m.Why == "" {
		t.Errorf("%+v, %v", m, err)
	}
	for want, r := range map[string]api.MergeRequest{
		"there is no branch gone":           {Branch: "gone", Queue: "shop"},
		"it is what is merged into":         {Branch: "main", Queue: "shop"},
		"it is no name of a branch":         {Branch: "--upload-pack=x", Queue: "shop"},
		"say which branch":                  {Queue: "shop"},
		"none is of the repository":         {Branch: "x", Dir: "/elsewhere/is", Queue: ""},
		"cannot find merge queue \"shp\"":   {Branch: "x", Queue: "shp"},
		"there is no item mq99 to wait for": {Branch: "x", Queue: "shop", Needs: []string{"mq99"}},
		"there is no work w77":              {Branch: "x", Queue: "shop", Work: []string{"w77"}},
		`cannot read priority "PX"`:         {Branch: "x", Queue: "shop", Priority: "PX"},
	} {
		if _, err := c.AddMerge(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

// A queue is held and released as a whole, an item by itself; what is none of both is told.
func TestHoldMerge(t *testing.T) {
	c := client(newWorld())
	first, err := c.AddMerge(t.Context(), api.MergeRequest{Branch: "retry"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.ChangeMerge(t.Context(), "shop", api.MergeChange{Do: "hold", Why: "release day"})
	if err != nil || v.Queue == nil || v.Queue.Held != "release day" {
		t.Fatalf("%+v, %v", v, err)
	}
	if m, err := c.Merge(t.Context(), first.ID); err != nil || !strings.Contains(m.Why, "release day") {
		t.Errorf("%+v, %v", m, err)
	}
	if v, err = c.ChangeMerge(t.Context(), "shop", api.MergeChange{Do: "release"}); err != nil || v.Queue.Held != "" {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = c.ChangeMerge(t.Context(), first.ID, api.MergeChange{Do: "withdraw"}); err != nil || v.Merge == nil || v.Merge.State != "withdrawn" {
		t.Errorf("%+v, %v", v, err)
	}
	for _, id := range []string{"mq99", "shp"} {
		if _, err := c.ChangeMerge(t.Context(), id, api.MergeChange{Do: "hold"}); err == nil || !strings.Contains(err.Error(), "cannot find") {
			t.Errorf("%s: %v", id, err)
		}
	}
	l, err := c.Merges(t.Context(), "", true)
	if err != nil || len(l.Queues) != 1 || len(l.Merges) != 1 || l.Queues[0].Gates[0] != "check" {
		t.Errorf("%+v, %v", l, err)
	}
}

func (merging) Diff(context.Context, fleet.MergeQueue, fleet.MergeItem) (string, error) {
	return "", nil
}
