package ask

import (
	"fmt"
	"regexp"
	"strings"
)

// prefix begins the subjects of calls.
const prefix = "custos.ask."

// hostName is what may be one token of a subject.
var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// CheckHost says what is wrong with the name of a host.
func CheckHost(name string) error {
	if !hostName.MatchString(name) {
		return fmt.Errorf("cannot use %q as the name of a host at a hub: want letters, digits, _ and -, 64 at most", name)
	}
	return nil
}

// Subject is where host from asks host to; both are checked before.
func Subject(to, from string) string { return prefix + to + "." + from }

// Listens is where the calls for a host are published.
func Listens(host string) string { return Subject(host, "*") }

// InboxPrefix is what the reply subjects of a host begin with, without the dot after it.
func InboxPrefix(host string) string { return "_INBOX_" + host }

// whose is the host that a subject of a host's calls says to be the asker; false for none.
func whose(subject, host string) (from string, is bool) {
	from, is = strings.CutPrefix(subject, prefix+host+".")
	return from, is && hostName.MatchString(from)
}

// isInbox says whether a reply subject is a host's own, and one subject. Without this a host could
// have others publish where it may not.
func isInbox(reply, host string) bool {
	rest, is := strings.CutPrefix(reply, InboxPrefix(host)+".")
	return is && len(rest) <= 128 && inboxRest.MatchString(rest)
}

var inboxRest = regexp.MustCompile(`^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$`)
