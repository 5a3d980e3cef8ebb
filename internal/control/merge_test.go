package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// yard is an office with merge queues, whose branches stand at commits of their own, and a forge.
type yard struct {
	*office
	queues []fleet.MergeQueue
	tips   map[string]string
	mails  map[fleet.MailType]fleet.MailAction
	snap   fleet.Snapshot
}

func newYard(t *testing.T) *yard {
	y := &yard{office: newOffice(t), tips: map[string]string{"retry": "cafe", "patch-1": "0dd"}, mails: map[fleet.MailType]fleet.MailAction{},
		queues: []fleet.MergeQueue{{Name: "shop", Project: "shop", Repo: "/src/shop", Target: "main"}, {Name: "next", Project: "shop", Repo: "/src/shop", Target: "next"}}}
	y.Records, y.Merges = y, y
	y.snap.At = y.at
	y.snap.Forge.Sight = fleet.Sight{Status: fleet.StatusOK, At: y.at}
	age := fleet.Known(fleet.Duration(time.Hour))
	y.snap.Forge.Value.Pulls = []fleet.PullRequest{{Name: "shop!7", Project: "shop", Number: 7, Title: "Retry", Branch: "retry", Head: "cafe", Base: "main", Age: age, Agent: "dev"},
		{Name: "shop!8", Project: "shop", Number: 8, Branch: "patch-1", Head: "beef", Base: "main", Age: age}, {Name: "shop!9", Project: "shop", Number: 9, Branch: "theirs", Head: "f00d", Base: "main", Age: age},
		{Name: "shop!10", Project: "shop", Number: 10, Branch: "retry", Head: "cafe", Base: "old", Age: age}}
	y.snap.Forge.Value.Ended = []fleet.EndedPull{{Name: "shop!6", Project: "shop", Number: 6, Merged: true, Ended: age}}
	y.snap.Forge.Value.Issues = []fleet.Issue{{Name: "shop#12", Project: "shop", Number: 12, Open: fleet.Known(true), Agent: "dev"}}
	return y
}

func (y *yard) Seen(ctx context.Context) (fleet.Past, fleet.Snapshot, error) {
	past, _, err := y.office.Seen(ctx)
	return past, y.snap, err
}
func (y *yard) Queues() []fleet.MergeQueue                { return y.queues }
func (y *yard) OfMail(of fleet.MailType) fleet.MailAction { return y.mails[of] }
func (y *yard) Place(dir string) (repo, branch string) {
	if branch, is := strings.CutPrefix(dir, "/trees/"); is || dir == "/src/shop" {
		return "/src/shop/.git", branch
	}
	return "", ""
}

func (y *yard) Tip(_ context.Context, _ fleet.MergeQueue, branch string) (commit, title string, err error) {
	if y.tips[branch] == "" {
		return "", "", errors.New("there is no branch " + branch)
	}
	return y.tips[branch], "", nil
}

// A pull request is added as the branch that it is of, at its head, by the title and for the author that it
// has, and is closed with it.
func TestAddPullToMergeQueue(t *testing.T) {
	y := newYard(t)
	m, err := y.addMerge(t.Context(), Call{By: "ann"}, api.MergeRequest{Branch: "shop!7", Work: []string{"shop#12"}})
	if err != nil || m.Source != "retry" || m.Commit != "cafe" || m.Title != "Retry" || m.Agent != "dev" || m.Queue != "shop" || len(m.Work) != 2 || m.Work[1] != "shop!7" {
		t.Errorf("%+v, %v", m, err)
	}
	if found, err := y.findMerge(t.Context(), "retry"); err != nil || found.ID != m.ID {
		t.Errorf("by its branch: %+v, %v", found, err)
	}
	if again, err := y.addMerge(t.Context(), Call{By: "agent/dev"}, api.MergeRequest{Branch: "shop!7"}); err != nil || again.ID != m.ID {
		t.Errorf("its author adds it: %+v, %v", again, err)
	}
	for want, c := range map[string]struct{ by, branch, queue string }{
		"it is of a fork, or was pushed to since":                     {"ann", "shop!8", ""},
		"of a fork, whose branch is not in the remote":                {"ann", "shop!9", ""},
		"shop!10 is to be merged into old":                            {"ann", "shop!10", "shop"},
		"0 merge queues are of project shop and merge into old":       {"ann", "shop!10", ""},
		"cannot add shop!6 to a merge queue: it is merged":            {"ann", "shop!6", ""},
		"cannot add shop!5 to a merge queue: it is not seen now: its": {"ann", "shop!5", ""},
		"an agent names its own work only, and shop!7 is not eve's":   {"agent/eve", "shop!7", ""},
	} {
		if _, err := y.addMerge(t.Context(), Call{By: c.by}, api.MergeRequest{Branch: c.branch, Queue: c.queue}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	if _, err := y.addMerge(t.Context(), Call{By: "agent/eve"}, api.MergeRequest{Branch: "retry", Queue: "next", Work: []string{"shop#12"}}); err == nil || !strings.Contains(err.Error(), "shop#12 is not eve's") {
		t.Errorf("another's issue: %v", err)
	}
	y.snap.Forge.Status = fleet.StatusStale
	if _, err := y.addMerge(t.Context(), Call{By: "ann"}, api.MergeRequest{Branch: "shop!7"}); err == nil || !strings.Contains(err.Error(), "not seen now") {
		t.Errorf("a forge that is not seen: %v", err)
	}
}

// post sends a mail of an agent's, and returns what is in queues, and what Custos wrote back.
func (y *yard) post(t *testing.T, r api.MailRequest) (items []fleet.MergeItem, answers []fleet.Mail) {
	t.Helper()
	r.To = []string{"overseer"}
	if _, err := y.sendMail(t.Context(), Call{By: "agent/dev"}, r); err != nil {
		t.Fatal(err)
	}
	past, _, err := y.office.Seen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range past.Records.Mails {
		if m.From == fleet.ByCustos {
			answers = append(answers, m)
		}
	}
	return past.Records.Merges, answers
}

// A mail that says that a branch is ready adds it to the one queue of its writer, at the commit at which it
// stands then; the same mail once more is the same.
func TestMergeReadyMail(t *testing.T) {
	for name, r := range map[string]api.MailRequest{
		"by its type":    {Key: "k", Type: "merge_ready", Subject: "merge_ready: retry", Body: "Verified. Branch: retry."},
		"by its subject": {Key: "k", Subject: "MERGE_READY dev", Body: "Branch: retry\nIssue: gt-abc\n"},
		"where it works": {Key: "k", Type: "MERGE_READY", Subject: "It is done"},
	} {
		y := newYard(t)
		y.queues = y.queues[:1]
		y.regs = []fleet.Registration{{Name: "dev", Project: "shop", Dir: "/trees/retry"}}
		for range 2 {
			items, answers := y.post(t, r)
			if len(items) != 1 || items[0].Source != "retry" || items[0].Commit != "cafe" || items[0].Agent != "dev" || items[0].By != "agent/dev" || len(answers) != 0 {
				t.Errorf("%s: %+v, %+v", name, items, answers)
			}
		}
		past, _, _ := y.office.Seen(t.Context())
		if m := past.Records.Mails; len(m) != 1 || m[0].Type != fleet.MailMergeReady {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// What cannot be added is said to who wrote, and the mail is written all the same.
func TestMergeReadyMailThatIsRefused(t *testing.T) {
	for want, r := range map[string]api.MailRequest{
		"there is no branch gone":   {Type: "merge_ready", Subject: "x", Body: "Branch: gone"},
		"it is no name of a branch": {Type: "merge_ready", Subject: "x", Body: "Branch: --upload-pack=x"},
		"shop#99 is not seen now":   {Type: "merge_ready", Subject: "x", Body: "Branch: retry", About: "shop#99"},
		"there is no work w99":      {Type: "merge_ready", Subject: "x", Body: "Branch: retry", About: "w99"},
		"it is what is merged into": {Type: "merge_ready", Subject: "x", Body: "Branch: main"},
	} {
		y := newYard(t)
		y.queues = y.queues[:1]
		y.regs = []fleet.Registration{{Name: "dev", Project: "shop"}}
		items, answers := y.post(t, r)
		if len(items) != 0 || len(answers) != 1 || !strings.Contains(answers[0].Body, want) || answers[0].To[0] != "dev" {
			t.Errorf("%s: %+v, %+v", want, items, answers)
		}
	}
}

// Where it is not one queue, and custos.toml names none, nothing is added and nothing is said; and it may say which, or
// none.
func TestWhichQueueMailAddsTo(t *testing.T) {
	ready := api.MailRequest{Type: "merge_ready", Subject: "x", Body: "Branch: retry"}
	for name, c := range map[string]struct {
		reg  fleet.Registration
		do   map[fleet.MailType]fleet.MailAction
		mail api.MailRequest
		want string
	}{
		"two fit":      {fleet.Registration{Name: "dev", Project: "shop"}, nil, ready, ""},
		"none fits":    {fleet.Registration{Name: "dev", Project: "bank"}, nil, ready, ""},
		"named":        {fleet.Registration{Name: "dev", Project: "bank"}, map[fleet.MailType]fleet.MailAction{"merge_ready": {Merge: "next"}}, ready, "next"},
		"another type": {fleet.Registration{Name: "dev"}, map[fleet.MailType]fleet.MailAction{"worker_done": {Merge: "shop"}}, api.MailRequest{Type: "worker_done", Subject: "x", Body: "Branch: retry"}, "shop"},
		"unmapped":     {fleet.Registration{Name: "dev", Project: "shop"}, nil, api.MailRequest{Type: "worker_done", Subject: "x", Body: "Branch: retry"}, ""},
	} {
		y := newYard(t)
		y.regs, y.mails = []fleet.Registration{c.reg}, c.do
		items, answers := y.post(t, c.mail)
		got := ""
		if len(items) > 0 {
			got = items[0].Queue
		}
		if got != c.want || len(answers) != 0 {
			t.Errorf("%s: %q, %+v", name, got, answers)
		}
	}
	y := newYard(t)
	y.queues, y.regs, y.mails = y.queues[:1], []fleet.Registration{{Name: "dev", Project: "shop"}}, map[fleet.MailType]fleet.MailAction{"merge_ready": {NoMerge: true}}
	if items, _ := y.post(t, ready); len(items) != 0 {
		t.Errorf("%+v", items)
	}
}

// Items of a queue that is not configured any more are listed as such, and withdrawn by a person.
func TestListOfAQueueThatIsGone(t *testing.T) {
	y := newYard(t)
	m, err := y.addMerge(t.Context(), Call{By: "ann"}, api.MergeRequest{Branch: "retry", Queue: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	y.queues = nil
	for _, only := range []string{"", "shop"} {
		l, err := y.mergeList(t.Context(), Call{Ask: func(key string) string { return map[string]string{"queue": only}[key] }})
		if err != nil || len(l.Queues) != 1 || !l.Queues[0].Gone || l.Queues[0].Waiting != 1 || len(l.Merges) != 1 || len(l.Next) != 1 || l.Next[0].Command != "custos merge withdraw "+m.ID {
			t.Errorf("%q: %+v, %v", only, l, err)
		}
	}
	if _, err := y.changeMerge(t.Context(), Call{By: "ann", ID: m.ID}, api.MergeChange{Do: "withdraw"}); err != nil {
		t.Error(err)
	}
	if l, err := y.mergeList(t.Context(), Call{Ask: func(string) string { return "" }}); err != nil || len(l.Queues) != 0 || len(l.Merges) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func (y *yard) Diff(context.Context, fleet.MergeQueue, fleet.MergeItem) (string, error) {
	return "", nil
}

// An agent does not hand in the branch of another one: it would count as its author.
func TestBranchOfAnother(t *testing.T) {
	all := []fleet.Registration{{Name: "b1", Branch: "agent/b1"}, {Name: "gone", Branch: "agent/gone", Desired: fleet.DesiredRetired}}
	for by, may := range map[string]bool{"agent/b1": true, "agent/b2": false, "ann": true} {
		if err := branchOfAnother(all, "agent/b1", by); (err == nil) != may {
			t.Errorf("by %s: %v", by, err)
		}
	}
	if err := branchOfAnother(all, "agent/gone", "agent/b2"); err != nil {
		t.Error(err)
	}
}

// An agent sends only what its role says, where that says so; a person sends anything.
func TestAnAgentSendsWhatItsRoleSays(t *testing.T) {
	y := newYard(t)
	y.Roles = []fleet.Role{{Name: "builder", Mails: []string{"worker_done"}}}
	y.regs = []fleet.Registration{{Name: "dev", Role: "builder", Desired: fleet.DesiredRunning}}
	ask := api.MailRequest{To: []string{"overseer"}, Subject: "may I?", Type: "question"}
	if _, err := y.sendMail(t.Context(), Call{By: "agent/dev"}, ask); err == nil || !strings.Contains(err.Error(), "an agent of role builder may send worker_done") {
		t.Errorf("%v", err)
	}
	ask.To = []string{"dev"}
	if _, err := y.sendMail(t.Context(), Call{By: "ann"}, ask); err != nil {
		t.Error(err)
	}
}
