package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// mail may be written by anyone in their own name; whose is read says inboxOf.
func mail() Noun {
	return Noun{"mail", []Verb{
		{Name: "list", Access: Author, Do: asks((*Control).mails)},
		{Name: "add", Access: Author, Large: true, Do: given((*Control).sendMail)},
		{Name: "change", Access: Author, Do: given((*Control).changeMail)},
	}}
}

// mails lists an inbox. An agent sees its own; a person the people's, or anyone'c.
func (c *Control) mails(ctx context.Context, call Call) (api.MailList, error) {
	whose, err := inboxOf(call.By, call.Ask("for"))
	if err != nil {
		return api.MailList{}, err
	}
	all, _, err := c.records(ctx)
	out := api.MailList{At: c.Now().Wall.UTC(), For: whose, Mail: []api.Mail{}, Next: []api.Hint{}}
	for _, m := range all.Mails {
		if ledger.Unread(m, whose) || call.Ask("all") != "" && ledger.Concerns(m, whose) {
			out.Mail = append(out.Mail, mailView(m, whose))
		}
	}
	if i := slices.IndexFunc(all.Mails, func(m fleet.Mail) bool { return ledger.Unread(m, whose) }); i >= 0 && whose == ledger.WriterOf(call.By) {
		out.Next = append(out.Next, api.Hint{Command: "custos mail read " + all.Mails[i].ID, What: "read it, which acknowledges it"})
	}
	return out, err
}

// inboxOf is whose inbox a caller looks at: its own, unless a person says whose.
func inboxOf(by, whose string) (string, error) {
	self, isAgent := fleet.AgentOf(by)
	whose = ledger.InboxAt(whose)
	switch {
	case !isAgent && whose == "":
		return fleet.Overseer, nil
	case !isAgent:
		return whose, nil
	case self == Unnamed:
		return "", &api.Error{Kind: api.Forbidden, Message: "cannot look at mail: it is not known who asks"}
	case whose != "" && whose != ledger.AddressOf(self):
		return "", &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot look at the mail of %s: agent %s sees its own only", fleet.Line(whose, 80), fleet.Line(self, 80))}
	}
	return ledger.AddressOf(self), nil
}

// mailView is a mail as its reader sees it. A reader that is empty has none.
func mailView(m fleet.Mail, reader string) api.Mail {
	v := api.Mail{ID: m.ID, Thread: m.Thread, Answers: m.Answers, From: author(m.From), FromKind: kindOf(m.From), To: m.To, Type: string(m.Type), Priority: string(m.Priority), Subject: m.Subject,
		Body: m.Body, Project: m.Project, About: m.About, At: m.At.Wall.UTC(), Grade: string(m.Grade), Why: m.Why}
	if m.AnsweredBy != "" {
		v.Answered = ledger.ShownWriter(m.AnsweredBy)
	}
	if !m.Raised.IsZero() {
		v.Raised = m.Raised.Wall.UTC()
	}
	for _, c := range m.Copies {
		view := api.MailCopy{To: c.To, State: string(c.State), Told: c.Told, Why: c.Why}
		if !c.ToldAt.IsZero() {
			view.ToldAt = c.ToldAt.Wall.UTC()
		}
		v.Copies = append(v.Copies, view)
		if c.To == reader {
			v.State = string(c.State)
		}
	}
	return v
}

// author is who wrote something, by the name that one writes back to.
func author(by string) string {
	if name, isAgent := fleet.AgentOf(by); isAgent {
		return name
	}
	return strings.TrimPrefix(by, "@")
}

// kindOf says what an author is: a name alone does not, for an agent may be called as a person.
func kindOf(by string) string {
	if _, isAgent := fleet.AgentOf(by); isAgent {
		return "agent"
	}
	if fleet.IsPerson(by) {
		return "person"
	}
	return author(by)
}

// sendMail writes a mail down, or an answer to one.
func (c *Control) sendMail(ctx context.Context, call Call, r api.MailRequest) (api.Mail, error) {
	registered, err := c.Registry(ctx)
	if err != nil {
		return api.Mail{}, err
	}
	if self, isAgent := fleet.AgentOf(call.By); isAgent {
		if reg := ledger.Registration(registered, self); reg != nil {
			if err := ledger.RoleMaySend(c.role(reg.Role), fleet.MailType(r.Type)); err != nil {
				return api.Mail{}, Illegal(err)
			}
		}
	}
	ready := c.readyMail(ctx, registered, &r, call.By)
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		out, err := c.mailEdit(all, ledger.AddressesOf(registered).Watched(c.Watchers), r, call.By)
		if err == nil && ready != nil && out.Mails[0].From != "" { // else it is known already
			out = out.And(ready.records(all, out.Mails[0], c.Now()))
		}
		return out, err
	})
	if err != nil {
		return api.Mail{}, err
	}
	return mailView(made.Mails[0], ""), nil
}

// mailEdit is a new mail, and of an answer the mail that it answers.
func (c *Control) mailEdit(all fleet.Records, to ledger.Addresses, r api.MailRequest, by string) (fleet.Records, error) {
	m := fleet.Mail{Type: fleet.MailType(r.Type), To: r.To, Priority: fleet.Priority(r.Priority), Subject: r.Subject, Body: r.Body, Project: r.Project, About: r.About}
	if r.Key != "" {
		m.Key = "by " + by + ": " + fleet.Line(r.Key, 200) // none takes another's key, nor Custos' own
		if i := slices.IndexFunc(all.Mails, func(o fleet.Mail) bool { return o.Key == m.Key }); i >= 0 {
			return fleet.Records{Mails: []fleet.Mail{{Head: fleet.Head{Key: m.Key}}}}, nil
		}
	}
	if r.Answers == "" {
		m, err := ledger.SendMail(all, to, m, by, c.Now())
		return fleet.Records{Mails: []fleet.Mail{m}}, err
	}
	m, was, err := ledger.ReplyMail(all, to, r.Answers, m, by, c.Now())
	return fleet.Records{Mails: []fleet.Mail{m, was}}, err
}

// changeMail reads a mail, or puts it away. What is not one's own a person may look
// at, and it stays unread.
func (c *Control) changeMail(ctx context.Context, call Call, r api.MailChange) (api.Mail, error) {
	reader, err := inboxOf(call.By, "")
	if err != nil {
		return api.Mail{}, err
	}
	id := call.ID
	if r.Do == "read" && fleet.IsPerson(call.By) {
		if m, others, err := c.othersMail(ctx, id); others || err != nil {
			return m, err
		}
	}
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		m, err := c.mailChanged(all, id, reader, r.Do)
		return fleet.Records{Mails: []fleet.Mail{m}}, err
	})
	if err != nil {
		return api.Mail{}, err
	}
	return mailView(made.Mails[0], reader), nil
}

// othersMail is a mail between others; false for one of the people's own, and for none.
func (c *Control) othersMail(ctx context.Context, id string) (api.Mail, bool, error) {
	all, _, err := c.records(ctx)
	if m := ledger.FindMail(all, id); err == nil && m != nil && !ledger.Concerns(*m, fleet.Overseer) {
		return mailView(*m, ""), true, nil
	}
	return api.Mail{}, false, err
}

func (c *Control) mailChanged(all fleet.Records, id, reader, do string) (fleet.Mail, error) {
	switch do {
	case "read":
		return ledger.ReadMail(all, id, reader, c.Now())
	case "archive":
		return ledger.ArchiveMail(all, id, reader, c.Now())
	}
	return fleet.Mail{}, api.AsBadInput(fmt.Errorf("cannot change mail: nothing is called %q", fleet.Line(do, 40)))
}
