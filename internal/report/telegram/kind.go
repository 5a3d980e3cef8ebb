package telegram

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/telegram"
)

// Keys are those of its section.
type Keys struct {
	report.Token
	report.Authority
	Server string `toml:"server" is:"name"`               // another Bot API than Telegram's own
	Chat   string `toml:"chat" is:"name"`                 // its ID, or @name
	Topic  int64  `toml:"topic" is:"0..9007199254740992"` // ID of a topic of a forum
	Sound  string `toml:"sound" is:"|P0|P1|P2|P3|P4"`     // from which priority on there is a sound; P2
	// RepliesFrom are the immutable IDs of those who may answer there. None: no replies are read.
	RepliesFrom []string `toml:"replies_from" is:"name"`
}

// Kind is the type "telegram".
func Kind() report.Kind {
	return report.KindOf("telegram", "a chat, by the Bot API, plain text",
		"no sound below P2 (`sound`) and for an all-clear; a `topic` of a forum; 4096 characters", newChat)
}

var (
	userID = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
	chatID = regexp.MustCompile(`^-?[1-9][0-9]{0,18}$`)
)

// check says whether those who may answer are named by what no one else can come to have.
func (k Keys) check() error {
	for _, id := range k.RepliesFrom {
		switch {
		case !userID.MatchString(id):
			return fmt.Errorf(`replies_from: %q is no ID of a user of Telegram, like "12345678" (a name may come to mean another)`, id)
		case !chatID.MatchString(k.Chat):
			return errors.New(`chat: want its ID, like "-1001234": replies are not read in a channel that is named`)
		}
	}
	return nil
}

func newChat(s report.Setup, k Keys) (r report.Receiver, err error) {
	if err := k.check(); err != nil {
		return r, err
	}
	token, err := s.Secret(k.Token)
	if err != nil {
		return r, err
	}
	if k.Chat == "" {
		return r, errors.New(`chat: want the ID of a chat, like "-1001234"`)
	}
	if err := report.CheckServer(k.Server, "https://api.telegram.org", true); err != nil {
		return r, err
	}
	web, err := s.HTTP(k.Authority)
	if err != nil {
		return r, err
	}
	to := &telegram.Client{Server: k.Server, Token: token, HTTP: web}
	r.Notifier = Notifier{Called: s.Name, Chat: k.Chat, Topic: k.Topic, Sound: fleet.Priority(k.Sound), To: to}
	r.Chat = &report.Chat{Name: s.Name, Me: to.Me, MaySpeak: func(ctx context.Context) error { return to.MaySpeak(ctx, k.Chat) }}
	if len(k.RepliesFrom) > 0 {
		r.Inbox = &Inbox{Called: s.Name, Chat: k.Chat, Topic: k.Topic, People: k.RepliesFrom, With: to}
		r.Bot = fmt.Sprintf("telegram %q %q %q %q", k.Server, k.TokenFile, k.TokenCommand, k.TokenEnv)
	}
	return r, nil
}
