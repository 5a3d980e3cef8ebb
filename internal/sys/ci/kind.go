package ci

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"custos/internal/sys/httpjson"
)

// Kind is one sort of CI system: its own folder beneath this package offers it, or for
// those that share a client this package itself, and internal/catalog lists it.
type Kind struct {
	Name   string // as kind = "…" of a section [ci.NAME] has it
	Site   string // its URL where the section names none; "": the section must
	Scheme string // what stands before the token: a word of the Authorization header, or with a colon a header of its own
	Nested bool   // an owner may be a group within groups
	Anew   bool   // it makes a new pipeline of each attempt; attempts are counted here then
	Tells  bool   // it says when its workers last spoke
	// At is where the API of a server is that people open at site.
	At func(site string) string
	// Open returns the client of a project. It asks nothing yet.
	Open func(o Options, c *Client) System

	// For the table in docs/ci.md: what it was tried against, what it can, and what a
	// token needs.
	Tried, Can, Needs string
}

// API is where the API of a server is that people open at site.
func (k Kind) API(site string) (string, error) {
	u, err := url.Parse(site)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New(`url: want a URL, like "https://ci.example.org", without a password in it`)
	}
	return k.At(strings.TrimSuffix(site, "/")), nil
}

// Asker asks for pipelines.
type Asker interface {
	// Page is one page of pipelines, from 1, newest first, and whether there may be more.
	Page(ctx context.Context, n int) ([]Pipeline, bool, error)
	// One is one pipeline; ErrGone when there is none.
	One(ctx context.Context, id int64) (Pipeline, error)
	// Primary is the primary branch, as the server knows it.
	Primary(ctx context.Context) (string, error)
}

// Teller tells what went wrong, and with whom. ErrLacks, ErrGone and ErrForbidden say that
// it cannot.
type Teller interface {
	Failed(ctx context.Context, p Pipeline) ([]Step, error)
	Workers(ctx context.Context) ([]Worker, error)
}

// Doer changes something.
type Doer interface {
	Again(ctx context.Context, p Pipeline) error
	Cancel(ctx context.Context, p Pipeline) error
}

// System is what a kind can do in a project.
type System interface {
	Asker
	Teller
	Doer
}

// open returns the client of a project, or what is wrong with the options.
func open(o Options) (System, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	base, err := o.Kind.API(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o.Kind.Open(o, &Client{base: base, http: o.HTTP, elsewhere: o.Elsewhere, vouched: httpjson.Client(o.Roots)}), nil
}
