package control

import (
	"context"
	"fmt"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// readyBranch is the branch that an agent's mail says is ready to be merged: the item that it is to become,
// pinned to the commit that it stood at when the mail was handed in; or why it becomes none.
type readyBranch struct {
	item   fleet.MergeItem
	branch string
	err    error
}

// readyMail reads what a mail has merged; nil where its type, or who writes it, has nothing merged. A mail of
// no type whose subject says that a branch is ready is one of type merge_ready.
func (c *Control) readyMail(ctx context.Context, list []fleet.Registration, r *api.MailRequest, by string) *readyBranch {
	self, isAgent := fleet.AgentOf(by)
	reg := fleet.Find(list, func(x *fleet.Registration) bool { return x.Name == self })
	if !isAgent || reg == nil || c.Merges == nil {
		return nil
	}
	of := fleet.MailType(strings.ToLower(r.Type))
	if of == fleet.MailFree && ledger.IsMergeReady(r.Subject) {
		of = fleet.MailMergeReady
	}
	dir := workDir(reg)
	queue := c.queueOfMail(of, reg.Project, dir)
	if queue == "" {
		return nil
	}
	if r.Type == "" {
		r.Type = string(of)
	}
	ask := api.MergeRequest{Queue: queue, Branch: ledger.ReadyBranch(r.Subject, r.Body), Dir: dir}
	if ref := fleet.Ref(r.About); ref.Tracker() != fleet.TrackerUnknown {
		ask.Work = []string{r.About}
	}
	item, err := c.mergeItem(ctx, by, ask)
	return &readyBranch{item, ask.Branch, err}
}

// workDir is the folder that an agent works in, raw.
func workDir(reg *fleet.Registration) string {
	if tree := reg.Tree(); tree != "" {
		return fleet.RawPath(tree)
	}
	return fleet.RawPath(reg.Dir)
}

// queueOfMail is the queue that mail of a type adds to: the one that custos.toml names; where it says nothing
// of merge_ready, the one queue that is of the writer's repository, or of its project.
func (c *Control) queueOfMail(of fleet.MailType, project, dir string) string {
	do := c.Merges.OfMail(of)
	if do.Merge != "" || do.NoMerge || of != fleet.MailMergeReady {
		return do.Merge
	}
	repo := ""
	if dir != "" {
		repo, _ = c.Merges.Place(dir)
	}
	var fit []string
	for _, q := range c.Merges.Queues() {
		at, _ := c.Merges.Place(fleet.RawPath(q.Repo))
		if repo != "" && at == repo || project != "" && q.Project == project {
			fit = append(fit, q.Name)
		}
	}
	if len(fit) != 1 {
		return ""
	}
	return fit[0]
}

// records are the item that a mail becomes, else a mail to who wrote it that says why it becomes none. They are
// written with the mail, or not at all.
func (b *readyBranch) records(all fleet.Records, m fleet.Mail, at fleet.Instant) fleet.Records {
	err, item := b.err, b.item
	if err == nil {
		item, err = ledger.AddMerge(all, item, m.From, at)
	}
	if err == nil {
		return fleet.Records{Merges: []fleet.MergeItem{item}}
	}
	what := b.branch
	if what == "" {
		what = "its branch"
	}
	text := fleet.Line(err.Error(), 400) + "\n\nWhen that is mended: custos merge add BRANCH\n"
	return fleet.Records{Mails: []fleet.Mail{ledger.News("", []string{ledger.WriterOf(m.From)}, fleet.Mail{Type: fleet.MailMergeResult, About: m.About, Project: m.Project,
		Subject: fmt.Sprintf("%s was not added to the merge queue: %s", fleet.Line(what, 80), fleet.Line(m.Subject, 80)), Body: text}, at)}}
}
