package mail

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// bring does what custos.toml says that mail of this type brings about. What is
// not lawful is told to who wrote it.
func (p *post) bring(m *fleet.Mail) {
	do, mapped := p.policy.Mails[m.Type]
	if !mapped || m.Type == fleet.MailFree || m.From == fleet.ByCustos {
		return
	}
	if do.Trigger != "" {
		p.out.Records.Triggers = append(p.out.Records.Triggers, fleet.Trigger{Head: fleet.Head{Key: "mail/" + m.ID}, Name: do.Trigger, Text: m.Subject, By: m.From, At: p.at})
	}
	if do.Work == "" {
		return
	}
	if err := p.work(do.Work, m); err != nil {
		p.out.Tell(ledger.News("mail-work/"+m.ID, []string{ledger.WriterOf(m.From)}, fleet.Mail{Type: fleet.MailNews, About: m.About, Answers: m.ID, Thread: threadOf(*m),
			Subject: fmt.Sprintf("%s did not %s work: %v", m.ID, do.Work, err)}, p.at))
	}
}

// work adds the work that a mail tells of, or changes the one that it is about. An
// agent changes only what it works on itself.
func (p *post) work(do string, m *fleet.Mail) error {
	why := fmt.Sprintf("mail %s: %s", m.ID, m.Subject)
	if do == "add" {
		w, err := ledger.AddWork(fleet.WorkItem{Head: fleet.Head{Key: "mail/" + m.ID}, Title: m.Subject, Body: m.Body, Project: m.Project, Priority: m.Priority}, m.From, p.at)
		if err == nil {
			p.out.Records.Work = append(p.out.Records.Work, w)
		}
		return err
	}
	now := p.workNow(fleet.Ref(m.About))
	if now == nil {
		return ledger.Unfit(do+" work", "%q is no work of this ledger: say which with --about w12", fleet.Line(m.About, 80))
	}
	if self, isAgent := fleet.AgentOf(m.From); isAgent && now.Agent != self && do != "reopen" {
		return ledger.Unfit(do+" work", "%s does not work on %s", fleet.Line(self, 60), now.ID)
	}
	changed, err := changedWork(do, *now, why, m.From, p.at)
	if err == nil && changed.State != now.State {
		p.putWork(changed)
	}
	return err
}

func changedWork(do string, w fleet.WorkItem, why, by string, at fleet.Instant) (fleet.WorkItem, error) {
	switch do {
	case "close":
		return ledger.CloseWork(w, "", why, by, at)
	case "release":
		return ledger.ReleaseWork(w, why, by, at)
	case "reopen":
		return ledger.ReopenWork(w, why, by, at)
	}
	return w, ledger.Unfit("change work", "nothing is called %q", fleet.Line(do, 40))
}

// workNow is a piece of work as this very pass leaves it.
func (p *post) workNow(r fleet.Ref) *fleet.WorkItem {
	for _, changed := range [][]fleet.WorkItem{p.out.Records.Work, p.before} {
		if i := slices.IndexFunc(changed, func(w fleet.WorkItem) bool { return w.ID != "" && w.Ref() == r }); i >= 0 {
			return &changed[i]
		}
	}
	return ledger.Work(p.past.Records, r)
}

// putWork has it written once, however often one pass changes it.
func (p *post) putWork(w fleet.WorkItem) {
	changed := p.out.Records.Work
	if i := slices.IndexFunc(changed, func(o fleet.WorkItem) bool { return o.ID == w.ID }); i >= 0 {
		changed[i] = w
		return
	}
	p.out.Records.Work = append(changed, w)
}
