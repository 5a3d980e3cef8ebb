package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/report/command"
	"custos/internal/report/matrix"
	"custos/internal/report/ping"
	"custos/internal/report/shout"
	"custos/internal/report/telegram"
	"custos/internal/report/terminal"
	matrixclient "custos/internal/sys/matrix"
	"custos/internal/sys/program"
	telegramclient "custos/internal/sys/telegram"
)

// peopleSections are the sections of custos.toml that say who is told what.
func peopleSections() []string {
	return []string{"notifier", "route", "maintenance", "metrics", "webhook", "journal", "replies"}
}

// People are those who are told, and what leads to whom.
type People struct {
	Notifiers []report.Notifier
	Routes    []report.Route
	Pulses    []report.Pulse
	Ears      []report.Ear // where people answer
	Chats     []Chat       // that can be asked who Custos is there
	Mirrors   []report.Mirror
	Windows   []report.Window
}

// NewPeople makes every notifier. out is the terminal Custos runs in.
func NewPeople(w *World, out io.Writer) (People, error) {
	sections := map[string]notifierSection{}
	if err := w.Config.Section("notifier", &sections); err != nil {
		return People{}, err
	}
	if err := oneListenerABot(w.Config, sections); err != nil {
		return People{}, err
	}
	p := People{Notifiers: []report.Notifier{terminal.Notifier{Out: out}}}
	for _, name := range sortedNames(sections) {
		if err := p.add(w, name, sections[name]); err != nil {
			return People{}, w.Config.Misread("notifier."+name, err)
		}
	}
	var err error
	if p.Windows, err = windows(w.Config); err != nil {
		return p, err
	}
	if err := p.spool(w); err != nil {
		return p, err
	}
	p.Routes, err = routes(w.Config, p.Notifiers)
	return p, err
}

// notifierSection is the section [notifier.NAME].
type notifierSection struct {
	Type string `toml:"type" is:"|matrix|telegram|command|ping|shoutrrr|alertmanager|desktop"` // matrix, telegram, command, ping, shoutrrr, alertmanager or desktop

	Server string `toml:"server" is:"name"`               // of matrix; of telegram, when it is not Telegram's own
	Room   string `toml:"room" is:"name"`                 // of matrix: its ID, !…:server
	Chat   string `toml:"chat" is:"name"`                 // of telegram: its ID, or @name
	Topic  int64  `toml:"topic" is:"0..9007199254740992"` // of telegram: ID of a topic of a forum
	Sound  string `toml:"sound" is:"|P0|P1|P2|P3|P4"`     // of matrix and telegram: from which priority on there is a sound; P2

	// RepliesFrom are the immutable IDs of those who may answer there; of matrix and
	// telegram. None: nobody is heard.
	RepliesFrom []string `toml:"replies_from" is:"name"`

	TokenFile    string   `toml:"token_file" is:"path"` // where the token is; of ping and shoutrrr, the URL
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`

	Run      []string `toml:"run"`                            // of command
	PassEnv  []string `toml:"pass_env" is:"name"`             // of command
	Deadline string   `toml:"deadline" is:"duration 1ms..1h"` // of command
	Every    string   `toml:"every" is:"duration 1ms.."`      // of alertmanager
}

func notifierTypes() []string {
	return []string{"matrix", "telegram", "command", "ping", "shoutrrr", "alertmanager", "desktop"}
}

func (p *People) add(w *World, name string, s notifierSection) error {
	if name == (terminal.Notifier{}).Name() {
		return errors.New("is the name of the terminal Custos runs in: choose another")
	}
	if !slices.Contains(notifierTypes(), s.Type) {
		return fmt.Errorf("type: %q is none of %s", s.Type, strings.Join(notifierTypes(), ", "))
	}
	if err := s.checkReplies(); err != nil {
		return err
	}
	if err := s.checkChat(); err != nil {
		return err
	}
	if known, err := p.local(w, name, s); known {
		return err
	}
	token, err := s.token(w)
	if err != nil {
		return err
	}
	switch s.Type {
	case "matrix":
		return p.matrix(name, s, token)
	case "telegram":
		if s.Chat == "" {
			return errors.New(`chat: want the ID of a chat, like "-1001234"`)
		}
		if err := isURL(s.Server, true); err != nil {
			return err
		}
		to := &telegramclient.Client{Server: s.Server, Token: token}
		p.Notifiers = append(p.Notifiers, telegram.Notifier{Called: name, Chat: s.Chat, Topic: s.Topic, Sound: fleet.Priority(s.Sound), To: to})
		p.hearTelegram(name, s, to)
		p.Chats = append(p.Chats, Chat{name, to.Me, func(ctx context.Context) error { return to.MaySpeak(ctx, s.Chat) }})
	case "command":
		return p.command(w, name, s)
	case "shoutrrr":
		p.Notifiers = append(p.Notifiers, shout.Notifier{Called: name, URL: token})
	case "ping":
		p.Pulses = append(p.Pulses, ping.Ping{Called: name, URL: token})
	}
	return nil
}

// checkChat says what is wrong with what only chats know.
func (s notifierSection) checkChat() error {
	all := []string{"P0", "P1", "P2", "P3", "P4"}
	switch {
	case s.Sound != "" && s.Type != "matrix" && s.Type != "telegram":
		return fmt.Errorf("sound: a notifier of type %q has none", s.Type)
	case s.Sound != "" && !slices.Contains(all, s.Sound):
		return fmt.Errorf("sound: %q is none of %s", s.Sound, strings.Join(all, ", "))
	case s.Topic != 0 && s.Type != "telegram" || s.Topic < 0:
		return errors.New("topic: want the ID of a topic of a forum in Telegram")
	}
	return nil
}

// token is where the section says that the token is, checked, and read when it is
// needed. A command needs none.
func (s notifierSection) token(w *World) (func(context.Context) (string, error), error) {
	secret := program.Secret{File: s.TokenFile, Command: s.TokenCommand, Env: s.TokenEnv, Getenv: w.Getenv}
	if s.Type == "command" {
		return nil, nil
	}
	if s.TokenFile != "" {
		file, err := w.Config.Expand(s.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("token_file: %w", err)
		}
		secret.File = file
	}
	if err := secret.Check(); err != nil {
		return nil, fmt.Errorf("token_file, token_command, token_env: %w", err)
	}
	return secret.Read, nil
}

func (p *People) matrix(name string, s notifierSection, token func(context.Context) (string, error)) error {
	if err := isURL(s.Server, false); err != nil {
		return err
	}
	if !strings.HasPrefix(s.Room, "!") {
		return errors.New(`room: want the ID of a room, like "!abc:example.org" (its name, with #, may come to mean another)`)
	}
	to := &matrixclient.Client{Server: s.Server, Token: token}
	p.Notifiers = append(p.Notifiers, matrix.Notifier{Called: name, Room: s.Room, Sound: fleet.Priority(s.Sound), To: to})
	p.hearMatrix(name, s, to)
	p.Chats = append(p.Chats, Chat{name, to.WhoAmI, func(ctx context.Context) error { return to.MaySpeak(ctx, s.Room) }})
	return nil
}

func (p *People) command(w *World, name string, s notifierSection) error {
	o := command.Options{Name: name, Run: s.Run, PassEnv: s.PassEnv, Getenv: w.Getenv}
	if s.Deadline != "" {
		var err error
		if o.Deadline, err = config.Duration(s.Deadline); err != nil {
			return fmt.Errorf("deadline: %w", err)
		}
	}
	n, err := command.New(o)
	p.Notifiers = append(p.Notifiers, n)
	return err
}

func isURL(text string, mayLack bool) error {
	u, err := url.Parse(text)
	if text == "" && mayLack {
		return nil
	}
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return errors.New(`server: want a URL, like "https://matrix.example.org", without a password in it`)
	}
	return nil
}

func sortedNames[V any](m map[string]V) (names []string) {
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// atOnce is the route to the terminal, unless one is configured: whoever looks at
// it sees what changes as it does, once.
func atOnce() report.Route {
	name := terminal.Notifier{}.Name()
	return report.Route{Name: name, To: []string{name}, Priority: report.DefaultPriority, Repeat: []time.Duration{}}
}
