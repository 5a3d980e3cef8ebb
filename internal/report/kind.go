package report

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Kind is one type of notifier: a folder beneath this package offers it, and
// internal/catalog lists it. Make it with KindOf.
type Kind struct {
	Name string // as type = "…" of a section [notifier.NAME] has it
	What string // it is, in a few words
	Note string // what is good to know, for docs/notifications.md
	Keys any    // the zero value of the struct that its section is read into

	make func(s Setup, read func(into any) error) (Receiver, error)
}

// KindOf returns the kind whose section is read into an O: a struct whose fields have the
// tags toml, the key, and is, what the key takes (see config). A key that several kinds
// have is the same in each. make says what is wrong as "key: want …".
func KindOf[O any](name, what, note string, make func(Setup, O) (Receiver, error)) Kind {
	var none O
	return Kind{Name: name, What: what, Note: note, Keys: none, make: func(s Setup, read func(any) error) (Receiver, error) {
		var o O
		if err := read(&o); err != nil {
			return Receiver{}, err
		}
		return make(s, o)
	}}
}

// Make makes what a section asks for; read reads the section.
func (k Kind) Make(s Setup, read func(into any) error) (Receiver, error) { return k.make(s, read) }

// Setup is what a kind is given besides the keys of its section.
type Setup struct {
	Name   string // of the section: what routes call it
	Host   string // on which Custos runs
	Getenv func(string) string
	// Secret says how a token is read, each time that it is needed; an error when it is
	// not said in just one way where it is.
	Secret func(Token) (func(context.Context) (string, error), error)
	// HTTP is the client for servers that somebody vouches for; nil where nobody is named,
	// which is one for whom the machine believes.
	HTTP func(Authority) (*http.Client, error)
}

// Token are the keys that say where a secret is. A kind that needs one embeds it.
type Token struct {
	TokenFile    string   `toml:"token_file" is:"path"`
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`
}

// Authority is the key that says who vouches for a server. A kind that asks one embeds it.
type Authority struct {
	CAFile string `toml:"ca_file" is:"path"`
}

// Said tells whether any of the keys is there.
func (t Token) Said() bool { return t.TokenFile != "" || len(t.TokenCommand) > 0 || t.TokenEnv != "" }

// Receiver is what one section makes. What it has not is nil.
type Receiver struct {
	Notifier Notifier // tells people; routes name it
	Mirror   Mirror   // is shown what fires; no route leads to it
	Pulse    Pulse    // is told that Custos lives
	Inbox    Inbox    // reads what people answer
	Chat     *Chat    // is asked who Custos is there
	// Bot is what only one Inbox may listen by, in any words; "" when others may too.
	Bot string
}

// Chat is a place of people that can be asked who Custos is there, which sends
// nothing to anyone.
type Chat struct {
	Name string
	Me   func(context.Context) (string, error)
	// MaySpeak asks whether something could be said there, and says nothing.
	MaySpeak func(context.Context) error
}

// CheckServer says what is wrong with the address of a server; optional allows none.
func CheckServer(text, like string, optional bool) error {
	u, err := url.Parse(text)
	if text == "" && optional {
		return nil
	}
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return errors.New(`server: want a URL, like "` + like + `", without a password in it`)
	}
	return nil
}
