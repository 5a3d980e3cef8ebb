package matrix

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/matrix"
)

// Keys are those of its section.
type Keys struct {
	report.Token
	report.Authority
	Server string `toml:"server" is:"name"`           // the homeserver
	Room   string `toml:"room" is:"name"`             // its ID, !…:server
	Sound  string `toml:"sound" is:"|P0|P1|P2|P3|P4"` // from which priority on there is a sound; P2
	// RepliesFrom are the immutable IDs of those who may answer there. None: no replies are read.
	RepliesFrom []string `toml:"replies_from" is:"name"`
}

// Kind is the type "matrix".
func Kind() report.Kind {
	return report.KindOf("matrix", "a room, by the client-server API",
		"**no end-to-end encryption**: the homeserver reads along, use a room without it; `m.text`, which makes a sound, from P2 on (`sound`) and for what asks for an approval; else `m.notice`; from P1 on `m.mentions` for the room", newRoom)
}

var user = regexp.MustCompile(`^@[^:\s]+:[^\s]+$`)

func newRoom(s report.Setup, k Keys) (r report.Receiver, err error) {
	for _, id := range k.RepliesFrom {
		if !user.MatchString(id) {
			return r, fmt.Errorf(`replies_from: %q is no user of Matrix, like "@ann:example.org"`, id)
		}
	}
	token, err := s.Secret(k.Token)
	if err != nil {
		return r, err
	}
	if err := report.CheckServer(k.Server, "https://matrix.example.org", false); err != nil {
		return r, err
	}
	if !strings.HasPrefix(k.Room, "!") {
		return r, errors.New(`room: want the ID of a room, like "!abc:example.org" (its name, with #, may come to mean another)`)
	}
	web, err := s.HTTP(k.Authority)
	if err != nil {
		return r, err
	}
	to := &matrix.Client{Server: k.Server, Token: token, HTTP: web}
	r.Notifier = Notifier{Called: s.Name, Room: k.Room, Sound: fleet.Priority(k.Sound), To: to}
	r.Chat = &report.Chat{Name: s.Name, Me: to.WhoAmI, MaySpeak: func(ctx context.Context) error { return to.MaySpeak(ctx, k.Room) }}
	if len(k.RepliesFrom) > 0 {
		r.Inbox = &Inbox{Called: s.Name, Room: k.Room, People: k.RepliesFrom, With: to}
	}
	return r, nil
}
