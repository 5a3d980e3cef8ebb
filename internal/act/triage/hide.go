package triage

import (
	"regexp"

	"custos/internal/fleet"
)

var (
	private = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`)
	// half is one line of a key whose beginning has scrolled away.
	half = regexp.MustCompile(`(?m)^[\t │|]*[A-Za-z0-9+/]{60,}={0,2}[\t │|]*$`)
	// stump is a key that a line ends in before it is long enough to be known as one.
	stump = regexp.MustCompile(`(?m)\b(?:sk-|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|AIza|eyJ)[A-Za-z0-9._-]{2,}…?([\t │|]*)$`)
)

// hide takes out what looks like a secret: what goes to a judge leaves the
// machine. It is more than what is hidden from people who are on it.
func hide(s string) string {
	s = private.ReplaceAllString(s, "*** (a private key)")
	return fleet.Redact(stump.ReplaceAllString(half.ReplaceAllString(s, "***"), "***$1"))
}
