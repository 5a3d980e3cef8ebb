package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) mailCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "mail",
		Short: "Mail between agents, and between them and people",
		Long: `mail writes to agents and to people, and reads what they wrote. An address is
the name of an agent; role/ROLE, one agent of a role; @all, @project/NAME or
@role/NAME, all of a group; parent, the agent above the one that writes; or
overseer, the people. An agent has its own inbox and sees no other; people have
the one of the overseer, and may look at any.`,
		Example: "  custos mail send builder 'The port is 8080 now'\n  custos mail inbox\n  custos mail reply m7 'Take the second one'",
	}
	c.AddCommand(a.mailSend(), a.mailInbox(), a.mailRead(), a.mailReply(), a.mailArchive(), a.mailWatch())
	return c
}

func (a *app) mailSend() *cobra.Command {
	var r api.MailRequest
	c := &cobra.Command{
		Use: "send ADDRESS SUBJECT", Short: "Write to an agent, a role, a group or the overseer", Args: cobra.MinimumNArgs(2),
		Long: `send writes a mail. Its readers are notified when they next can be: by a hook of
their CLI, or typed into an empty input line once they are idle. With --body - the
text is read from standard input. Several addresses are joined by commas.

Types: HELP is sorted by its words and escalated when it stays unanswered;
WITNESS_PING is answered from the record of activity, and wakes no agent; LIFECYCLE,
worker_done, merge_ready, merge_result, escalation, question and answer say what
a mail is for, and custos.toml may say what one brings about: [mail.worker_done].`,
		Example: "  custos mail send builder 'The port is 8080 now'\n  custos mail send parent 'I am blocked: the tests need a key' --type HELP\n  custos mail send @project/shop 'Freeze at noon' --priority P2 --body - < notes.md\n  custos mail send role/reviewer 'w12 is done' --type worker_done --about w12",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := r
			var err error
			if r.Body, err = a.textOf(r.Body); err != nil {
				return err
			}
			r.To, r.Subject = strings.Split(args[0], ","), strings.Join(args[1:], " ")
			return a.sent(cmd.Context(), r)
		},
	}
	c.Flags().StringVar(&r.Body, "body", "", "the `TEXT`; - reads standard input")
	c.Flags().StringVar(&r.Type, "type", "", "what it is for: `TYPE`")
	c.Flags().StringVar(&r.Priority, "priority", "P3", "how urgent, as a `PRIORITY`: P0 to P4; P4 is delivered by a hook only")
	c.Flags().StringVar(&r.About, "about", "", "`REF` of the work that it is about, or another name")
	c.Flags().StringVar(&r.Project, "project", "", "its `PROJECT`")
	c.Flags().StringVar(&r.Answers, "reply", "", "`ID` of the mail that it answers: it goes to who wrote that")
	c.Flags().StringVar(&r.Key, "key", "", "a `KEY` of yours: the same one again is the same mail")
	return c
}

func (a *app) sent(ctx context.Context, r api.MailRequest) error {
	r.Key = keyOr(r.Key)
	return say(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Mail, error) { return c.SendMail(ctx, r) },
		func(p *page, m api.Mail) {
			p.line("%s to %s: %s", flat(m.ID), flat(strings.Join(m.To, ", ")), flat(m.Subject))
		})
}

func (a *app) mailReply() *cobra.Command {
	var r api.MailRequest
	c := &cobra.Command{
		Use: "reply ID TEXT", Short: "Answer a mail", Args: cobra.MinimumNArgs(2),
		Long:    "reply answers a mail: the answer goes to who wrote it, and the mail counts as read. The text - reads standard input.",
		Example: "  custos mail reply m7 'Take the second one'\n  custos mail reply m7 - < answer.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := r
			var err error
			if r.Body, err = a.textOf(strings.Join(args[1:], " ")); err != nil {
				return err
			}
			r.Answers = args[0]
			return a.sent(cmd.Context(), r)
		},
	}
	c.Flags().StringVar(&r.Subject, "subject", "", "another `SUBJECT` (default: Re: that of the mail)")
	c.Flags().StringVar(&r.Type, "type", "", "what it is for: `TYPE`")
	c.Flags().StringVar(&r.Priority, "priority", "", "how urgent, as a `PRIORITY`: P0 to P4 (default: as the mail)")
	return c
}

func (a *app) mailInbox() *cobra.Command {
	var whose string
	var all bool
	c := &cobra.Command{
		Use: "inbox", Short: "Mail that waits to be read",
		Long:    "inbox lists mail that waits to be read; with --all also what was read and written within a day. Nothing is acknowledged by it.",
		Example: "  custos mail inbox\n  custos mail inbox --for builder --all",
		RunE: asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.MailList, error) {
			return c.Mails(ctx, whose, all)
		}, writeInbox),
	}
	c.Flags().StringVar(&whose, "for", "", "look into the inbox of `NAME`; a person may, and it stays unread")
	c.Flags().BoolVar(&all, "all", false, "what was read and written within a day, too")
	return c
}

func writeInbox(p *page, v api.MailList) {
	list(p, "No mail for "+v.For+".", v.Mail, []column{{head: "ID"}, {head: "PRIO"}, {head: "STATE"}, {head: "AT"}, {head: "TYPE"}, {head: "FROM", shorten: middle}, {head: "SUBJECT", shorten: cut}},
		func(m api.Mail) []string {
			return []string{flat(m.ID), p.priority(m.Priority), flat(m.State), m.At.UTC().Format("2006-01-02 15:04"), flat(m.Type), flat(m.Writer()), flat(m.Subject)}
		}, v.Next)
}

func (a *app) mailRead() *cobra.Command {
	return &cobra.Command{
		Use: "read ID", Short: "Read a mail, which acknowledges it",
		Long:    "read shows one mail, and acknowledges it: its reader is not notified again. A person who reads what is not the overseer's looks only; it stays unread.",
		Example: "  custos mail read m7",
		RunE:    a.changeMail("read", writeMail),
	}
}

func (a *app) mailArchive() *cobra.Command {
	return &cobra.Command{
		Use: "archive ID", Short: "Put a mail away",
		Long:    "archive puts a mail away, read or not: its reader is not notified again.",
		Example: "  custos mail archive m7",
		RunE:    a.changeMail("archive", func(p *page, m api.Mail) { p.line("%s is put away: %s", flat(m.ID), flat(m.Subject)) }),
	}
}

func (a *app) changeMail(do string, write func(*page, api.Mail)) func(*cobra.Command, []string) error {
	return asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Mail, error) {
		return c.ChangeMail(ctx, args[0], api.MailChange{Do: do})
	}, write)
}

func writeMail(p *page, m api.Mail) {
	p.head(flat(m.ID)+": "+flat(m.Subject), flat(strings.TrimSpace(m.Priority+" "+m.Type)))
	p.line("  From %s to %s, %s", flat(m.Writer()), flat(strings.Join(m.To, ", ")), m.At.UTC().Format("2006-01-02 15:04:05 UTC"))
	p.known([][2]string{{"Answers", m.Answers}, {"About", m.About}, {"Project", m.Project}, {"Graded", strings.TrimSuffix(m.Grade+": "+m.Why, ": ")}, {"Answered by", m.Answered}})
	for _, c := range m.Copies {
		p.line("  %s: %s", flat(c.To), flat(c.Says()))
	}
	if m.Body != "" {
		p.line("")
		p.text(2, m.Body)
	}
}

func (a *app) mailWatch() *cobra.Command {
	var whose string
	c := &cobra.Command{
		Use: "watch", Short: "Show mail as it comes, until Ctrl-C",
		Long:    "watch shows each mail of an inbox once: what waits now, and what comes. With --json each is one line. Nothing is acknowledged by it.",
		Example: "  custos mail watch\n  custos mail watch --for builder --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.watchMail(cmd.Context(), whose) },
	}
	c.Flags().StringVar(&whose, "for", "", "the inbox of `NAME`; a person may, and it stays unread")
	return c
}

// watchMail shows each mail once, until ctx ends.
func (a *app) watchMail(ctx context.Context, whose string) error {
	told := map[string]bool{}
	return follow(ctx, a, func(ctx context.Context, c *api.Client) (api.MailList, error) { return c.Mails(ctx, whose, false) }, func(p *page, v api.MailList) (more bool, err error) {
		for _, m := range v.Mail {
			if !told[m.ID] {
				told[m.ID] = true
				err = errors.Join(err, a.oneLine(p, m, func() {
					p.line("%s  %s  %s from %s: %s", m.At.UTC().Format("2006-01-02 15:04:05"), flat(m.ID), flat(strings.TrimSpace(m.Priority+" "+m.Type)), flat(m.Writer()), flat(m.Subject))
				}))
			}
		}
		return false, err
	})
}
