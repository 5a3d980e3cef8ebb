package cli_test

import (
	"context"
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// oneQueue is one merge queue, in whose repository each branch but "gone" is at a commit of its own.
type oneQueue struct{}

func (oneQueue) Queues() []fleet.MergeQueue {
	return []fleet.MergeQueue{{Name: "shop", Repo: "/src/shop", Target: "main", Remote: "origin", Project: "shop", Batch: 8, Gates: []fleet.MergeGate{{Name: "check"}}}}
}

func (oneQueue) OfMail(fleet.MailType) fleet.MailAction { return fleet.MailAction{} }

func (oneQueue) Place(dir string) (repo, branch string) {
	if dir == "/src/shop" {
		return "/src/shop/.git", ""
	}
	return "", ""
}

func (oneQueue) Tip(_ context.Context, q fleet.MergeQueue, branch string) (commit, title string, err error) {
	if branch == "gone" {
		return "", "", fmt.Errorf("there is no branch gone in %s", q.Repo)
	}
	return strings.Repeat("1", 40), "What " + branch + " does", nil
}

func (oneQueue) Diff(_ context.Context, _ fleet.MergeQueue, i fleet.MergeItem) (string, error) {
	return "--- a/up.go\n+++ b/up.go\n@@ -1 +1 @@\n-old\n+new of " + i.Source + "\n", nil
}
