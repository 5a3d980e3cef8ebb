package fleet

// WebKind is what lets somebody see the page.
type WebKind string

// The kinds of what lets somebody see the page.
const (
	WebInvitation WebKind = "invitation" // an address that is good once, for a moment: it becomes a session
	WebPerson     WebKind = "session"    // a person's browser
	WebLink       WebKind = "link"       // an address that shows one thing, to whoever has it, and does nothing
)

// WebSession is what lets a browser see the page. Its token is written down nowhere: only
// what proves it.
type WebSession struct {
	ID      string  `json:"id"`   // by which people speak of it
	Hash    string  `json:"hash"` // SHA-256 of its token, in hex
	Kind    WebKind `json:"kind"`
	By      string  `json:"by"` // who made it
	Made    Instant `json:"made"`
	Until   Instant `json:"until"`
	Browser string  `json:"browser,omitempty"` // as the one that took it up calls itself

	// Of a link: the one thing that it shows, and whether with a terminal.
	Agent    string `json:"agent,omitempty"`
	Project  string `json:"project,omitempty"`
	Page     string `json:"page,omitempty"` // its path
	Terminal bool   `json:"terminal,omitempty"`
}
