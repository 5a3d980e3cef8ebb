package api

import (
	"context"
	"net/url"
	"time"
)

// Mail is one message between agents, people and Custos.
type Mail struct {
	ID       string     `json:"id"`
	Thread   string     `json:"thread,omitempty"`  // ID of the mail that it began with
	Answers  string     `json:"answers,omitempty"` // ID of the mail that it answers
	From     string     `json:"from"`              // name of a person or an agent; custos
	FromKind string     `json:"from_kind"`         // which of them it is: person, agent, custos
	To       []string   `json:"to"`                // as it was addressed
	Type     string     `json:"type,omitempty"`    // HELP, question, …; empty for free text
	Priority string     `json:"priority"`
	Subject  string     `json:"subject"`
	Body     string     `json:"body,omitempty"`
	Project  string     `json:"project,omitempty"`
	About    string     `json:"about,omitempty"` // what it is about: work, a gate, a convoy, an agent
	At       time.Time  `json:"at"`
	State    string     `json:"state,omitempty"` // of the reader whose inbox it is: new, told, read, archived, bounced, unread
	Copies   []MailCopy `json:"copies,omitempty"`
	Grade    string     `json:"grade,omitempty"` // of HELP, as its words were sorted
	Why      string     `json:"why,omitempty"`
	Answered string     `json:"answered,omitempty"` // who answered it, as people read it: ann (a person), agent/lead, custos
	Raised   time.Time  `json:"raised,omitzero"`    // when it was escalated, for want of an answer
}

// MailCopy is a mail as one reader has it.
type MailCopy struct {
	To     string    `json:"to"`
	State  string    `json:"state"`
	Told   int       `json:"told,omitempty"` // how often
	ToldAt time.Time `json:"told_at,omitzero"`
	Why    string    `json:"why,omitempty"`
}

// MailList is an inbox.
type MailList struct {
	At   time.Time `json:"at"`
	For  string    `json:"for"` // whose; overseer: the people's
	Mail []Mail    `json:"mail"`
	Next []Hint    `json:"next"`
}

// MailRequest is a new mail, or an answer to one.
type MailRequest struct {
	Key      string   `json:"key,omitempty"` // the same key again is the same mail
	To       []string `json:"to,omitempty"`  // addresses; of an answer none
	Answers  string   `json:"answers,omitempty"`
	Type     string   `json:"type,omitempty"`
	Priority string   `json:"priority,omitempty"`
	Subject  string   `json:"subject,omitempty"`
	Body     string   `json:"body,omitempty"`
	Project  string   `json:"project,omitempty"`
	About    string   `json:"about,omitempty"`
}

// MailChange is what a reader does with a mail.
type MailChange struct {
	Do string `json:"do"` // read, archive
}

// Mails lists what waits in an inbox, the caller's own unless it says whose; with
// all, what was read and written within a day too.
func (c *Client) Mails(ctx context.Context, whose string, all bool) (MailList, error) {
	q := url.Values{"for": {whose}}
	if all {
		q.Set("all", "1")
	}
	return get[MailList](ctx, c, "/v1/mail?"+q.Encode())
}

// SendMail writes a mail down.
func (c *Client) SendMail(ctx context.Context, r MailRequest) (Mail, error) {
	return post[Mail](ctx, c, keyed(r.Key), "/v1/mail", r)
}

// ChangeMail reads a mail, which acknowledges it, or puts it away.
func (c *Client) ChangeMail(ctx context.Context, id string, r MailChange) (Mail, error) {
	return post[Mail](ctx, c, same, "/v1/mail/"+url.PathEscape(id), r)
}
