package ledger

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"custos/internal/fleet"
)

// longestTriggerText is how much of what came with a trigger is kept, in bytes.
const longestTriggerText = 4 << 10

var triggerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)

func checkTriggerName(name string) error {
	if !triggerName.MatchString(name) {
		return fmt.Errorf("%q is no name of a trigger: it has up to 100 letters, digits, '.', '_', '/' and '-', and begins with a letter or digit", fleet.Line(name, 80))
	}
	return nil
}

// AddTrigger returns a trigger as it is written down. Of a text that is too long
// the beginning is kept.
func AddTrigger(t fleet.Trigger, by string, at fleet.Instant) (fleet.Trigger, error) {
	if err := checkTriggerName(t.Name); err != nil {
		return t, Unfit("trigger", "%v", err)
	}
	t.Text, t.By, t.At = fleet.Redact(fleet.Text(cut(t.Text, longestTriggerText))), by, at
	return t, nil
}

// cut is the beginning of a text, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
