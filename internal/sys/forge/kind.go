package forge

import (
	"context"
	"strings"
)

// Kind is one sort of forge: its own folder beneath this package offers it, or for those
// that share a client this package itself, and internal/catalog lists it.
type Kind struct {
	Name   string // as kind = "…" of a section [forge.NAME] has it
	Title  string // as its makers write it
	Site   string // its URL where the section names none; "": the section must
	Scheme string // what stands before the token: a word of the Authorization header, or with a colon a header of its own
	Lazy   bool   // its lists of pull requests do not say whether they merge: each is asked after
	Nested bool   // an owner may be a group within groups
	Apart  bool   // issues and pull requests are counted apart: Options.Pulls says which numbers are meant
	// At is the address that the API is at, of a forge that people open at site; nil: the
	// same. Its host is the one that the HTTP client must reach.
	At func(site string) string
	// Open returns the client of the repository OWNER/NAME. It asks nothing yet.
	Open func(o Options, owner, name string) (Repository, error)
}

// API is the address that the API of a forge of this kind is at.
func (k Kind) API(site string) string {
	site = strings.TrimSuffix(site, "/")
	if k.At == nil {
		return site
	}
	return k.At(site)
}

// Repository is what a kind can do in a repository: look, and change something.
type Repository interface {
	Reader
	Changer
}

// Changer changes something. The caller has looked first, so that what is there
// already is not asked for again.
type Changer interface {
	// Comments lists all comments under an issue.
	Comments(ctx context.Context, number int) ([]Comment, error)
	Say(ctx context.Context, number int, text string) error
	// SetLabel refuses a label that the repository does not know.
	SetLabel(ctx context.Context, number int, label string, on bool) error
	SetAssignee(ctx context.Context, i Issue, user string, on bool) error
	SetOpen(ctx context.Context, number int, open bool) error
	// Merge merges an open pull request while its head is the one that is named, and nothing that the repository asks for
	// is wanting; where its target has a queue of the forge's own, it waits in that.
	Merge(ctx context.Context, number int, head string) (Merged, error)
	// LeaveQueue takes a pull request out of the forge's own queue, where it is in that.
	LeaveQueue(ctx context.Context, number int) error
}

// Comment is what was written under an issue.
type Comment struct{ Author, Text string }

// Merged is what a forge answers that was asked to merge a pull request.
type Merged struct {
	Commit string // of the target, with it; "": it waits in the forge's own queue
}
