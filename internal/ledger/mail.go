package ledger

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// What a mail may hold at most.
const (
	longestMail   = 64 << 10 // bytes
	mostAddresses = 50
)

// FindMail finds a mail; nil when there is none.
func FindMail(all fleet.Records, id string) *fleet.Mail {
	return fleet.Find(all.Mails, func(m *fleet.Mail) bool { return m.ID == id })
}

// SendMail returns a mail as it is first written down, with a copy for each of its
// readers: the store gives it its ID, and the next pass has them told. c is whom can be
// written to.
func SendMail(all fleet.Records, c Addresses, m fleet.Mail, by string, at fleet.Instant) (fleet.Mail, error) {
	if len(m.Body) > longestMail {
		return m, Unfit("write mail", "its text has %d bytes, %d are the most: put the rest into a file, and write where it is", len(m.Body), longestMail)
	}
	m.Subject, m.Body = fleet.Line(fleet.Redact(m.Subject), LongestSubject), fleet.Redact(fleet.Text(m.Body))
	m.About, m.Project = fleet.Line(m.About, 200), fleet.Line(m.Project, 200)
	m.Priority, m.Type = cmp.Or(m.Priority, fleet.P3), spelt(m.Type)
	if err := checkMail(m, by); err != nil {
		return m, err
	}
	m.From, m.At, m.Sorted, m.Copies = by, at, false, nil
	for _, to := range m.To {
		if isCustos(to) && m.Type == fleet.MailWitnessPing {
			m.Copies = withReader(m.Copies, reader{name: fleet.ByCustos}, at)
			continue
		}
		found, err := c.readers(to, WriterOf(by))
		if err != nil {
			return m, err
		}
		for _, r := range found {
			m.Copies = withReader(m.Copies, r, at)
		}
	}
	return m, mayWrite(all, m)
}

// checkMail says what is wrong with a mail by itself.
func checkMail(m fleet.Mail, by string) error {
	const what = "write mail"
	switch {
	case strings.TrimSpace(m.Subject) == "":
		return Unfit(what, "it has no subject")
	case !utf8.ValidString(m.Body):
		return Unfit(what, "its text is no text")
	case m.Type != fleet.MailFree && !slices.Contains(fleet.MailTypes(), m.Type) && by != fleet.ByCustos:
		return Unfit(what, "there is no type %q%s", fleet.Line(string(m.Type), 40), nearest.Hint(string(m.Type), typeNames()))
	case len(m.To) == 0 || len(m.To) > mostAddresses:
		return Unfit(what, "it has %d addresses: 1 to %d", len(m.To), mostAddresses)
	case by == "" || by == fleet.ByAgent("") || by == fleet.ByAgent("?"):
		return Unfit(what, "it cannot be told who writes it")
	}
	if _, err := fleet.ParsePriority(string(m.Priority)); err != nil {
		return Unfit(what, "%v", err)
	}
	return nil
}

// spelt is a type as it is written, however somebody spelt its letters.
func spelt(t fleet.MailType) fleet.MailType {
	for _, is := range fleet.MailTypes() {
		if strings.EqualFold(string(is), string(t)) {
			return is
		}
	}
	return t
}

func typeNames() (out []string) {
	for _, t := range fleet.MailTypes() {
		out = append(out, string(t))
	}
	return out
}

// ReplyMail returns a mail that answers another one, and that one as it is then:
// read by who answers it. An agent answers what it has got, a person anything.
func ReplyMail(all fleet.Records, c Addresses, id string, m fleet.Mail, by string, at fleet.Instant) (reply, was fleet.Mail, err error) {
	const what = "answer mail"
	found := FindMail(all, id)
	switch {
	case found == nil || !fleet.IsPerson(by) && !Concerns(*found, WriterOf(by)):
		return m, fleet.Mail{}, noMail(what, id)
	case found.From == fleet.ByCustos:
		return m, fleet.Mail{}, Unfit(what, "Custos wrote %s, and reads none", id)
	case found.From == by:
		return m, fleet.Mail{}, Unfit(what, "%s is by who would answer it", id)
	}
	was = readBy(*found, WriterOf(by), fleet.CopyRead, at)
	was.AnsweredBy = cmp.Or(was.AnsweredBy, by)
	m.To, m.Answers, m.Thread, m.About = []string{WriterOf(was.From)}, id, cmp.Or(was.Thread, id), cmp.Or(m.About, was.About)
	m.Subject = cmp.Or(m.Subject, "Re: "+strings.TrimPrefix(was.Subject, "Re: "))
	m.Priority = cmp.Or(m.Priority, was.Priority)
	if m.Type == fleet.MailFree && (was.Type == fleet.MailQuestion || was.Type == fleet.MailHelp) {
		m.Type = fleet.MailAnswer
	}
	reply, err = SendMail(all, c, m, by, at)
	return reply, was, err
}

// ReadMail returns a mail as it is once reader has acknowledged it.
func ReadMail(all fleet.Records, id, reader string, at fleet.Instant) (fleet.Mail, error) {
	return acknowledge(all, id, reader, fleet.CopyRead, at)
}

// ArchiveMail returns a mail as it is once reader has put it away. A call for help
// that people put away is dealt with.
func ArchiveMail(all fleet.Records, id, reader string, at fleet.Instant) (fleet.Mail, error) {
	m, err := acknowledge(all, id, reader, fleet.CopyArchived, at)
	if err == nil && m.Type == fleet.MailHelp && reader == fleet.Overseer {
		m.AnsweredBy = cmp.Or(m.AnsweredBy, reader)
	}
	return m, err
}

func acknowledge(all fleet.Records, id, reader string, to fleet.CopyState, at fleet.Instant) (fleet.Mail, error) {
	m := FindMail(all, id)
	if m == nil || !Concerns(*m, reader) || to == fleet.CopyArchived && CopyOf(m, reader) == nil {
		return fleet.Mail{}, noMail("read mail", id)
	}
	return readBy(*m, reader, to, at), nil
}

// Concerns says whether somebody is a reader of a mail, or wrote it.
func Concerns(m fleet.Mail, name string) bool {
	return name != "" && (WriterOf(m.From) == name || slices.ContainsFunc(m.Copies, func(c fleet.MailCopy) bool { return c.To == name }))
}

// readBy moves one copy on. What was read stays read, unless it is put away.
func readBy(m fleet.Mail, reader string, to fleet.CopyState, at fleet.Instant) fleet.Mail {
	m.Copies = slices.Clone(m.Copies)
	for i := range m.Copies {
		c := &m.Copies[i]
		if c.To == reader && c.State != to && c.State != fleet.CopyArchived && c.State != fleet.CopyBounced {
			c.State, c.Since, c.Order, c.Why = to, at, "", ""
		}
	}
	return m
}

func noMail(what, id string) error {
	return Unfit(what, "there is no mail %s for who asks, or it was over a day ago", fleet.Line(id, 40))
}

// Unread says whether a mail waits for somebody to read it.
func Unread(m fleet.Mail, name string) bool {
	c := CopyOf(&m, name)
	return c != nil && (c.State == fleet.CopyNew || c.State == fleet.CopyTold || c.State == fleet.CopyUnread)
}

// MailKind is what a mail tells of, in a word: of news, which news.
func MailKind(m fleet.Mail) fleet.MessageKind {
	kind, _, found := strings.Cut(m.Key, "/")
	if m.Type == fleet.MailNews && found {
		return fleet.MessageKind(kind)
	}
	return fleet.MessageKind(cmp.Or(string(m.Type), "mail"))
}
