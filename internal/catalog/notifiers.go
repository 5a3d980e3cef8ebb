package catalog

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"custos/internal/config"
	"custos/internal/report"
	"custos/internal/report/alertmanager"
	"custos/internal/report/command"
	"custos/internal/report/desktop"
	"custos/internal/report/matrix"
	"custos/internal/report/ping"
	"custos/internal/report/shout"
	"custos/internal/report/telegram"
	"custos/internal/report/terminal"
	"custos/internal/sys/httpjson"
)

// notifierMakers lists the built-in types of notifier. Adding one is its folder and one
// line here.
func notifierMakers() []report.Kind {
	return []report.Kind{
		matrix.Kind(),
		telegram.Kind(),
		command.Kind(),
		shout.Kind(),
		ping.Kind(),
		desktop.Kind(),
		alertmanager.Kind(),
	}
}

// peopleSections are the sections of custos.toml that say who is told what.
func peopleSections() []string {
	return []string{"notifier", "route", "maintenance", "metrics", "publish", "webhook", "web", "journal", "replies"}
}

// People are those who are told, and what leads to whom.
type People struct {
	Notifiers []report.Notifier
	Routes    []report.Route
	Pulses    []report.Pulse
	Ears      []report.Inbox // where people answer
	Chats     []Chat         // that can be asked who Custos is there
	Mirrors   []report.Mirror
	Windows   []report.Window
}

// Chat is a place of people that can be asked who Custos is there.
type Chat = report.Chat

// NewPeople makes every notifier. out is the terminal Custos runs in.
func NewPeople(w *World, out io.Writer) (People, error) {
	p := People{Notifiers: []report.Notifier{terminal.Notifier{Out: out}}}
	if err := p.notifiers(w); err != nil {
		return People{}, err
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

// notifiers makes what each [notifier.NAME] asks for.
func (p *People) notifiers(w *World) error {
	kinds := notifierMakers()
	sections := reflect.New(reflect.MapOf(reflect.TypeFor[string](), anyNotifier(kinds)))
	if err := w.Config.Section("notifier", sections.Interface()); err != nil {
		return err
	}
	bots := map[string]string{} // who listens by which
	for _, name := range sectionNames(sections.Elem()) {
		section := sections.Elem().MapIndex(reflect.ValueOf(name))
		r, err := w.notifier(kinds, name, section)
		if err != nil {
			return w.Config.Misread("notifier."+name, err)
		}
		if err := oneListenerABot(w.Config, bots, name, r.Bot); err != nil {
			return err
		}
		p.add(r)
	}
	return nil
}

// notifier makes what one section asks for.
func (w *World) notifier(kinds []report.Kind, name string, section reflect.Value) (r report.Receiver, err error) {
	if name == (terminal.Notifier{}).Name() {
		return r, errors.New("is the name of the terminal Custos runs in: choose another")
	}
	kind, err := named(kinds, func(k report.Kind) string { return k.Name }, section.Field(0).String())
	if err != nil {
		return r, fmt.Errorf("type: %w", err)
	}
	if err := onlyItsOwn(kinds, kind, section); err != nil {
		return r, err
	}
	return kind.Make(report.Setup{Name: name, Host: w.From.Host, Getenv: w.Getenv, Secret: w.secret, HTTP: w.client},
		func(into any) error { copyKeys(reflect.ValueOf(into).Elem(), section); return nil })
}

func (p *People) add(r report.Receiver) {
	if r.Notifier != nil {
		p.Notifiers = append(p.Notifiers, r.Notifier)
	}
	if r.Mirror != nil {
		p.Mirrors = append(p.Mirrors, r.Mirror)
	}
	if r.Pulse != nil {
		p.Pulses = append(p.Pulses, r.Pulse)
	}
	if r.Inbox != nil {
		p.Ears = append(p.Ears, r.Inbox)
	}
	if r.Chat != nil {
		p.Chats = append(p.Chats, *r.Chat)
	}
}

// secret is where a section says that its token is, checked, and read when it is needed.
func (w *World) secret(t report.Token) (func(context.Context) (string, error), error) {
	read, key, err := w.token(t.TokenFile, t.TokenCommand, t.TokenEnv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return read, nil
}

// client is the one for servers that a section says somebody vouches for.
func (w *World) client(a report.Authority) (*http.Client, error) {
	roots, err := w.roots(a.CAFile, httpjson.Roots)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	return httpjson.Client(roots), nil
}

// roots reads a ca_file by one of httpjson's ways; "" is nobody.
func (w *World) roots(file string, by func(string) (*x509.CertPool, error)) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	path, err := w.Config.Expand(file)
	if err != nil {
		return nil, err
	}
	return by(path)
}

// oneListenerABot refuses notifiers that would listen by the same bot: the Bot API gives
// what is said to one who asks, and sends the other away (409).
func oneListenerABot(c config.Config, taken map[string]string, name, bot string) error {
	if bot == "" {
		return nil
	}
	if other := taken[bot]; other != "" {
		return c.Misread("notifier."+name+".replies_from", fmt.Errorf("[notifier.%s] listens by the same bot: give it another one", other))
	}
	taken[bot] = name
	return nil
}

func sortedNames[V any](m map[string]V) (names []string) { return sectionNames(reflect.ValueOf(m)) }

// sectionNames lists the keys of a map, sorted.
func sectionNames(m reflect.Value) (names []string) {
	for _, k := range m.MapKeys() {
		names = append(names, k.String())
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
