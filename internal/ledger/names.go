package ledger

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"custos/internal/fleet"
)

// longestName is the most runes of an agent's name.
const longestName = 200

// CheckName says whether a name may be one of an agent: 1 to 200 printable
// runes, neither beginning nor ending with a blank.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return fmt.Errorf("%w: it has no name", ErrIllegal)
	case n > longestName:
		return fmt.Errorf("%w: its name has %d characters, %d are the most", ErrIllegal, n, longestName)
	case !utf8.ValidString(name) || strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return fmt.Errorf("%w: its name holds what cannot be printed", ErrIllegal)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("%w: its name begins or ends with a blank", ErrIllegal)
	}
	return nil
}

// CheckNewName says whether a name may be given to an agent from now on: nobody must take
// it for somebody else's. people are the names of those who give orders here. One that
// has such a name already is not held up by this.
func CheckNewName(name string, people ...string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	means := meaning(name)
	for _, p := range people {
		if strings.EqualFold(name, p) {
			means = "is a person's name"
		}
	}
	if means != "" {
		return fmt.Errorf("%w: %q %s, and no agent is called so: choose another name, or give its session another one", ErrIllegal, fleet.Line(name, 80), means)
	}
	return nil
}

// aPerson stands behind the name of a person where an agent of that name could be meant.
const aPerson = " (a person)"

// meaning is what a name means that is not an agent's; "" for any other. Capitals make no
// other name: people do not read them.
func meaning(name string) string {
	name = strings.ToLower(name)
	switch {
	case name == fleet.Overseer:
		return "means the people"
	case name == ownName:
		return "means Custos itself"
	case name == toParent:
		return "means the agent above the one that writes"
	case name == "?":
		return "means who cannot be told"
	case strings.HasSuffix(name, aPerson):
		return "means a person"
	case strings.HasPrefix(name, "@"), strings.HasPrefix(name, toRole), strings.HasPrefix(name, fleet.ByAgent("")):
		return "is an address of mail"
	}
	return ""
}
