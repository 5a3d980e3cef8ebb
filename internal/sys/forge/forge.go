// Package forge speaks to the API of one repository on a forge: Forgejo and Gitea
// by Gitea's SDK, GitHub by go-github, others from folders beneath it. The Reader looks, the Writer comments,
// labels and assigns. What it returns is as the forge has it: texts are foreign
// words and neither stripped nor cut.
package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Options name a repository.
type Options struct {
	Kind Kind
	URL  string       // of the forge, as people open it
	Repo string       // OWNER/NAME
	HTTP *http.Client // adds the token, heeds limits, follows nothing
	// Pulls says, of a kind that counts them apart, that the numbers of Issue and of what a
	// Writer does are those of pull requests.
	Pulls bool
}

var (
	repoName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+$`)
	nestedName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9._-]*(?:/[A-Za-z0-9_.][A-Za-z0-9._-]*){1,20}$`)
)

func (o Options) check() (owner, name string, err error) {
	if o.Kind.Open == nil {
		return "", "", errors.New("kind: there is none")
	}
	if err := o.Kind.CheckRepo(o.Repo); err != nil {
		return "", "", fmt.Errorf("repo: %w", err)
	}
	at := strings.LastIndexByte(o.Repo, '/')
	return o.Repo[:at], o.Repo[at+1:], nil
}

// CheckRepo says what is wrong with the name of a repository; nil when nothing is.
func (k Kind) CheckRepo(repo string) error {
	form, want := repoName, `want OWNER/NAME, like "acme/shop"`
	if k.Nested {
		form, want = nestedName, `want GROUP/NAME, like "acme/shop" or "acme/web/shop"`
	}
	if !form.MatchString(repo) || slices.ContainsFunc(strings.Split(repo, "/"), func(part string) bool { return strings.Trim(part, ".") == "" }) {
		return errors.New(want)
	}
	return nil
}

// Issue is one issue, or a pull request seen as one.
type Issue struct {
	Repo      string // OWNER/NAME where it is told, else ""
	Number    int
	Title     string
	Body      string
	URL       string
	Author    string
	Labels    []string
	Assignees []string
	Open      bool
	IsPull    bool
	Created   time.Time
	Updated   time.Time
	Closed    time.Time // zero while it is open
	// Native says whether the forge knows of dependencies of its own: 0 no, 1 yes,
	// -1 not told here.
	Native int
}

// Pull is one open pull request.
type Pull struct {
	Number    int
	Title     string
	Body      string
	URL       string
	Author    string
	Labels    []string
	Base      string // branch
	Branch    string // of its head
	Head      string // commit
	Fork      bool   // its branch is not told to be in the repository that it goes into
	Draft     bool
	Requested bool   // a review is asked for
	Merges    string // yes, no; "" when it is not told here
	Created   time.Time
	Updated   time.Time
}

// Ended is a pull request that is not open any more.
type Ended struct {
	Pull
	Merged bool
	At     time.Time // zero when that is not told
}

// Check is the newest result of one context on a commit.
type Check struct {
	Context string
	State   string    // pending, success, failure
	Began   time.Time // when it was first heard of; zero when that is not told
	Ended   time.Time // zero while it is pending
}

// Checks are those of a commit.
type Checks struct {
	Checks []Check
	Whole  bool // no other context is hidden
}

// Review is one review of a pull request, oldest first.
type Review struct {
	Author string
	State  string // commented, approved, changes requested, requested, dismissed
	At     time.Time
}

// Checked refuses what cannot be an issue: without it, an answer that says nothing
// would read as a closed one.
func (i Issue) Checked(state string) (Issue, error) {
	if i.Number <= 0 || state != "open" && state != "closed" {
		return Issue{}, errOdd
	}
	i.Open = state == "open"
	return i, nil
}

var errOdd = errors.New("its answer is not what it should be")

// lister lists.
type lister interface {
	// Issues lists issues that are open, or those closed that changed since a time
	// (zero: open ones). Where the forge mixes them, pull requests are among them.
	Issues(ctx context.Context, closedSince time.Time) ([]Issue, error)
	// Pulls lists open pull requests.
	Pulls(ctx context.Context) ([]Pull, error)
	// Ended lists pull requests that were merged or closed: the page of those that
	// changed last.
	Ended(ctx context.Context) ([]Ended, error)
}

// issueTeller tells of one issue.
type issueTeller interface {
	Issue(ctx context.Context, number int) (Issue, error)
	// Blockers lists what an issue waits for, as the forge's own dependencies say.
	Blockers(ctx context.Context, number int) ([]Issue, error)
}

// pullTeller tells of one pull request.
type pullTeller interface {
	// Checks are those of the commit that is its head.
	Checks(ctx context.Context, number int, commit string) (Checks, error)
	Reviews(ctx context.Context, number int) ([]Review, error)
	// Merges says whether a pull request can be merged as it is: yes, no; "" when
	// the forge does not know yet.
	Merges(ctx context.Context, number int) (string, error)
}

// keeper tells of the repository itself.
type keeper interface {
	// Primary is the primary branch.
	Primary(ctx context.Context) (string, error)
	// Required lists the contexts that a branch requires; they may be globs.
	Required(ctx context.Context, branch string) ([]string, error)
	// Committed is when a commit was made, by the clock of its author.
	Committed(ctx context.Context, commit string) (time.Time, error)
}

// account is who asks.
type account interface {
	// Me is the name of the account that the token is of.
	Me(ctx context.Context) (string, error)
}

// Reader looks at one repository.
type Reader interface {
	lister
	issueTeller
	pullTeller
	keeper
	account
}

// New returns the reader of a repository.
func New(o Options) (Reader, error) { return open(o) }

func open(o Options) (Repository, error) {
	owner, name, err := o.check()
	if err != nil {
		return nil, err
	}
	return o.Kind.Open(o, owner, name)
}

// Error is a refusal of the forge. Nothing of what it wrote is in it.
type Error struct{ Status int }

func (e *Error) Error() string {
	switch e.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return fmt.Sprintf("the forge answered %d: it is at another address now, or wants a person to sign in", e.Status)
	case http.StatusUnauthorized:
		return "the forge answered 401: it does not take the token"
	case http.StatusForbidden:
		return "the forge answered 403: the token may not do that"
	case http.StatusNotFound:
		return "the forge answered 404: there is no such thing, or the token may not see it"
	case http.StatusPreconditionFailed:
		return "the forge answered 412: something that it waits for is still open"
	}
	return fmt.Sprintf("the forge answered %d", e.Status)
}

// IsMissing says whether the forge answered that there is no such thing.
func IsMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}

// pages is how many pages of a list are read at most: two thousand issues.
const pages = 40

// perPage is asked for; a Gitea may give fewer.
const perPage = 50

var errEndless = fmt.Errorf("its list does not end within %d pages", pages)

// sheet is what one page of a list tells of where the list goes on.
type sheet struct {
	n     int // things on it
	next  int // number of the page that the header Link names; 0 for none
	total int // things in the whole list, by the header X-Total-Count; -1 when that is not told
	full  int // with neither header, a page of so many things may not be the last one
}

// all reads page after page, as the header Link leads; where there is none, until
// as many things were seen as the list is said to have; and where nothing is said,
// until a page that is not full. A part of a list must not read as all of it: what
// is missing from one is taken for closed.
func all(turn func(page int) (sheet, error)) error {
	page, seen := 1, 0
	for range pages {
		s, err := turn(page)
		if err != nil {
			return err
		}
		seen += s.n
		next := s.next
		if next == 0 && s.n > 0 && s.goesOn(seen) {
			next = page + 1
		}
		switch {
		case next == 0:
			return nil
		case next <= page || s.n == 0:
			return errors.New("its pages go in a circle")
		}
		page = next
	}
	return errEndless
}

// goesOn says whether a page without a Link is not the last one.
func (s sheet) goesOn(seen int) bool {
	if s.total >= 0 {
		return seen < s.total
	}
	return s.full > 0 && s.n >= s.full
}
