package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"custos/internal/api"
)

// mailData is the inbox of the people: what waits to be read first.
type mailData struct {
	Mail list[api.Mail]
	For  string
	All  bool // what was read and written within a day, too
	Done string
}

// mailStates are what a mail is to its reader. One without is the reader's own, written to others.
func mailStates() []string {
	return []string{"unknown", "new", "told", "unread", "bounced", "read", "archived", "written"}
}

func mailState(m api.Mail) string {
	if m.State == "" {
		return "written"
	}
	return m.State
}

// isUnread says whether a mail waits for its reader.
func isUnread(m api.Mail) bool { return slices.Contains([]string{"new", "told", "unread"}, m.State) }

func (s *site) mails(ctx context.Context, r *http.Request) (page, error) {
	asked := r.URL.Query()
	d := mailData{All: asked.Get("all") != "", Done: whatWasDoneWithMail(asked.Get("done"))}
	v, err := s.api.Mails(ctx, "", d.All)
	slices.SortStableFunc(v.Mail, func(a, b api.Mail) int { // those unread as they came, the others the newest first
		switch {
		case isUnread(a) && isUnread(b):
			return a.At.Compare(b.At)
		case isUnread(a):
			return -1
		case isUnread(b):
			return 1
		}
		return b.At.Compare(a.At)
	})
	d.For, d.Mail = v.For, listed(v.Mail, err, address("/mail", asked, "all", "from"), "from", mailStates(), mailState)
	return page{Name: "mails", Title: "Mail", At: v.At, Data: d}, nil
}

// mailItem is one mail, as it lies in the inbox of the people. Looking does not acknowledge it.
type mailItem struct {
	api.Mail
	ID   string // of the next answer: the same form sent twice is one mail
	Done string
}

// Path is where the forms of the mail go.
func (d mailItem) Path() string { return mailPath(d.Mail.ID) }

// Unread says whether it waits to be read.
func (d mailItem) Unread() bool { return isUnread(d.Mail) }

// CanPutAway says whether it lies in the inbox.
func (d mailItem) CanPutAway() bool { return d.State != "" && d.State != "archived" }

// AboutAgent is the path of the agent that it is about; "" where it is about none.
func (d mailItem) AboutAgent() string {
	if name, ok := strings.CutPrefix(d.About, "agent/"); ok {
		return agentPath(name)
	}
	return ""
}

func (s *site) mail(ctx context.Context, r *http.Request) (page, error) {
	v, err := s.api.Mails(ctx, "", true)
	if err != nil {
		return page{}, err
	}
	id := r.PathValue("id")
	i := slices.IndexFunc(v.Mail, func(m api.Mail) bool { return m.ID == id })
	if i < 0 {
		return page{}, &api.Error{Kind: api.NotFound, Message: "cannot show that mail: it is not in the inbox of the people, or was put away long ago", Hint: "custos mail inbox --all"}
	}
	return page{Name: "mail", Title: "Mail " + id, At: v.At, Data: mailItem{Mail: v.Mail[i], ID: s.shared.mark, Done: whatWasDoneWithMail(r.URL.Query().Get("done"))}}, nil
}

// whatWasDoneWithMail are the words for what the forms do: nothing else of an address is shown.
func whatWasDoneWithMail(done string) string {
	return map[string]string{
		"read":    "It is read: nobody is told of it again.",
		"archive": "It is put away.",
		"reply":   "It is answered, and counts as read.",
	}[done]
}

func (s *site) readMail(ctx context.Context, r *http.Request) (string, error) {
	m, err := s.api.ChangeMail(ctx, r.PathValue("id"), api.MailChange{Do: "read"})
	return mailPath(m.ID) + "?done=read#outcome", err
}

func (s *site) archiveMail(ctx context.Context, r *http.Request) (string, error) {
	_, err := s.api.ChangeMail(ctx, r.PathValue("id"), api.MailChange{Do: "archive"})
	return "/mail?done=archive", err
}

// reply answers a mail. What is answered counts as read.
func (s *site) reply(ctx context.Context, r *http.Request) (string, error) {
	id, err := formID(r)
	if err != nil {
		return "", err
	}
	text := typed(r.PostForm, "text")
	if strings.TrimSpace(text) == "" {
		return "", api.AsBadInput(fmt.Errorf("cannot send an empty answer"))
	}
	mail := r.PathValue("id")
	_, err = s.api.SendMail(ctx, api.MailRequest{Key: id, Answers: mail, Body: text})
	return mailPath(mail) + "?done=reply#outcome", err
}

func mailPath(id string) string { return "/mail/" + url.PathEscape(id) }
