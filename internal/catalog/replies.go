package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"custos/internal/config"
	"custos/internal/report/matrix"
	"custos/internal/report/spool"
	"custos/internal/report/telegram"
	matrixclient "custos/internal/sys/matrix"
	telegramclient "custos/internal/sys/telegram"
)

var (
	matrixUser   = regexp.MustCompile(`^@[^:\s]+:[^\s]+$`)
	telegramID   = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
	telegramChat = regexp.MustCompile(`^-?[1-9][0-9]{0,18}$`)
	spoolName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// checkReplies says whether those who may answer are named by what no one else can
// come to have.
func (s notifierSection) checkReplies() error {
	for _, id := range s.RepliesFrom {
		switch {
		case s.Type != "matrix" && s.Type != "telegram":
			return errors.New("replies_from: replies are heard by matrix and telegram only")
		case s.Type == "matrix" && !matrixUser.MatchString(id):
			return fmt.Errorf(`replies_from: %q is no user of Matrix, like "@ann:example.org"`, id)
		case s.Type == "telegram" && !telegramID.MatchString(id):
			return fmt.Errorf(`replies_from: %q is no ID of a user of Telegram, like "12345678" (a name may come to mean another)`, id)
		case s.Type == "telegram" && !telegramChat.MatchString(s.Chat):
			return errors.New(`chat: want its ID, like "-1001234": replies are not heard in a channel that is named`)
		}
	}
	return nil
}

// oneListenerABot refuses notifiers that would listen by the same bot: the Bot API gives
// what is said to one who asks, and sends the other away (409).
func oneListenerABot(c config.Config, sections map[string]notifierSection) error {
	listens := map[string]string{}
	for _, name := range sortedNames(sections) {
		s := sections[name]
		if s.Type != "telegram" || len(s.RepliesFrom) == 0 {
			continue
		}
		bot := fmt.Sprintf("%q %q %q %q", s.Server, s.TokenFile, s.TokenCommand, s.TokenEnv)
		if other, taken := listens[bot]; taken {
			return c.Misread("notifier."+name+".replies_from", fmt.Errorf("[notifier.%s] listens by the same bot: give it another one", other))
		}
		listens[bot] = name
	}
	return nil
}

func (p *People) hearMatrix(name string, s notifierSection, with *matrixclient.Client) {
	if len(s.RepliesFrom) > 0 {
		p.Ears = append(p.Ears, &matrix.Ear{Called: name, Room: s.Room, People: s.RepliesFrom, With: with})
	}
}

func (p *People) hearTelegram(name string, s notifierSection, with *telegramclient.Client) {
	if len(s.RepliesFrom) > 0 {
		p.Ears = append(p.Ears, &telegram.Ear{Called: name, Chat: s.Chat, Topic: s.Topic, People: s.RepliesFrom, With: with})
	}
}

// repliesSection is the section [replies].
type repliesSection struct {
	Spool string `toml:"spool" is:"path"` // the folder; "": none
	Name  string `toml:"name" is:"name"`  // of the files in it; "supervisor"
	Judge bool   `toml:"judge"`           // asks the judge of [triage] what somebody may have meant
}

// spool listens to a folder, where one is configured.
func (p *People) spool(w *World) error {
	s := repliesSection{Name: "supervisor"}
	if err := w.Config.Section("replies", &s); err != nil || s.Spool == "" {
		return err
	}
	dir, err := w.Config.Expand(s.Spool)
	if err != nil {
		return w.Config.Misread("replies.spool", err)
	}
	if !spoolName.MatchString(s.Name) {
		return w.Config.Misread("replies.name", fmt.Errorf("%q is no name of a file", s.Name))
	}
	p.Ears = append(p.Ears, spool.Ear{Dir: dir, Name: s.Name, Now: time.Now})
	return nil
}
