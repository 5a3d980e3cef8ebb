package ask

import (
	"strings"

	"custos/internal/hub/protocol"
)

// Listens is where the calls for a host are published.
func Listens(host string) string { return protocol.AskSubject(host, "*") }

// whose is the host that a subject of a host's calls says to be the asker; false for none.
func whose(subject, host string) (from string, is bool) {
	from, is = strings.CutPrefix(subject, protocol.AskSubject(host, ""))
	return from, is && protocol.CheckHost(from) == nil
}
