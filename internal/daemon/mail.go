package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
	"custos/internal/server"
	"custos/internal/store"
)

// mailSection is one table [mail.TYPE] of custos.toml: what a mail of that type
// brings about.
type mailSection struct {
	Work    string  `toml:"work" is:"|add|close|reopen|release"` // add, close, reopen or release
	Trigger string  `toml:"trigger"`                             // name of a trigger
	Merge   *string `toml:"merge"`                               // name of a merge queue; "": none
}

// mailActions reads the section.
func mailActions(cfg config.Config) (map[fleet.MailType]fleet.MailAction, error) {
	sections := map[string]mailSection{}
	if err := cfg.Section("mail", &sections); err != nil {
		return nil, err
	}
	out := map[fleet.MailType]fleet.MailAction{}
	queues, _ := catalog.Merges(cfg, nil) // what is wrong with those is said elsewhere
	for name, s := range sections {
		if err := checkMailSection(name, s, queues); err != nil {
			return nil, fmt.Errorf("cannot read %s:%d: [mail.%s]: %w", cfg.File, cfg.LineOf("mail."+name, err), name, err)
		}
		do := fleet.MailAction{Work: s.Work, Trigger: s.Trigger}
		if s.Merge != nil {
			do.Merge, do.NoMerge = *s.Merge, *s.Merge == ""
		}
		out[fleet.MailType(name)] = do
	}
	return out, nil
}

func checkMailSection(name string, s mailSection, queues []fleet.MergeQueue) error {
	var types []string
	for _, t := range fleet.MailTypes() {
		types = append(types, string(t))
	}
	var merges []string
	for _, q := range queues {
		merges = append(merges, q.Name)
	}
	verbs := []string{"add", "close", "reopen", "release"}
	switch {
	case !slices.Contains(types, name):
		return fmt.Errorf("there is no type of mail %q%s", name, nearest.Hint(name, types))
	case s.Work != "" && !slices.Contains(verbs, s.Work):
		return fmt.Errorf("work: %q is none of %s%s", s.Work, strings.Join(verbs, ", "), nearest.Hint(s.Work, verbs))
	case s.Work == "" && s.Trigger == "" && s.Merge == nil:
		return fmt.Errorf("it says neither work, trigger nor merge")
	case s.Merge != nil && *s.Merge != "" && !slices.Contains(merges, *s.Merge):
		return fmt.Errorf("merge: there is no [merge.%s]%s", fleet.Line(*s.Merge, 40), nearest.Hint(*s.Merge, merges))
	case fleet.Line(s.Trigger, 100) != s.Trigger || strings.ContainsAny(s.Trigger, " :"):
		return fmt.Errorf("trigger: %q is no name of a trigger", fleet.Line(s.Trigger, 100))
	}
	return nil
}

// tellSoon is how old a hook may be whose answer its agent still reads: custos-hook
// waits 50 ms. What comes from the spool answers nobody.
const tellSoon = 2 * time.Second

// mailFor is what an agent is told of its mail by a hook, "" for nothing; that it was
// told is written down first. Only the agent's own hook is answered.
func (s *system) mailFor(ctx context.Context, event fleet.HookEvent) string {
	if event.Agent == "" || s.world.Now().Since(event.At) > tellSoon {
		return ""
	}
	now := s.world.Now()
	known, err := s.mails(ctx, now)
	if err != nil || len(ledger.MailFor(known, ledger.AddressOf(event.Agent), now)) == 0 || !s.isOwn(ctx, event) {
		return ""
	}
	server.HookWaits(ctx) // what is written down as told is to be heard, however long that takes on a busy machine
	st, err := s.ledger.writer(ctx)
	if err != nil {
		return ""
	}
	text := ""
	if _, err = st.EditRecords(ctx, now, func(all fleet.Records) (fleet.Records, error) {
		due := ledger.MailFor(all.Mails, ledger.AddressOf(event.Agent), now)
		if text = ""; len(due) > 0 {
			text = ledger.MailText(due, event.Agent)
		}
		return fleet.Records{Mails: ledger.ToldMail(due, ledger.AddressOf(event.Agent), now)}, nil
	}); err != nil {
		s.o.Log.Warn("Cannot tell an agent of its mail", "agent", event.Agent, "err", err)
		return ""
	}
	return text
}

// isOwn says whether a hook is of the newest instance of the agent that it names.
func (s *system) isOwn(ctx context.Context, event fleet.HookEvent) bool {
	all, err := s.registered(ctx)
	return err == nil && event.Instance != "" && slices.ContainsFunc(all, func(r fleet.Registration) bool {
		return r.Name == event.Agent && r.Instance == event.Instance
	})
}

// mails are those that count.
func (s *system) mails(ctx context.Context, now fleet.Instant) ([]fleet.Mail, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Mail, error) {
		all, err := st.Records(ctx, now)
		return all.Mails, err
	})
}

// MessagesFor lists the mail that an agent has not read yet, oldest first.
func (c orderPort) MessagesFor(ctx context.Context, name string, limit int) (out []fleet.Message, err error) {
	all, err := c.s.mails(ctx, c.s.world.Now())
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if ledger.Unread(m, ledger.AddressOf(name)) {
			out = append(out, fleet.Message{ID: m.ID, Kind: ledger.MailKind(m), To: name, About: m.About, At: m.At, Priority: m.Priority, Subject: m.Subject, Body: m.Body})
		}
	}
	return out[max(0, len(out)-limit):], nil
}
