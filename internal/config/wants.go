package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// wants checks a text against the tag "is" of its field: one word, with limits after
// a space, and texts that are taken besides, each after a "|". The words are
// duration (with the least and the most: "10s..1h"), path, glob, pattern, regexp,
// name, size and times.
func (c Config) wants(is, s string) error {
	all := strings.Split(is, "|")
	if slices.Contains(all[1:], s) {
		return nil
	}
	word, limits, _ := strings.Cut(all[0], " ")
	switch word {
	case "duration":
		return wantsDuration(s, limits)
	case "path", "glob":
		return c.wantsPath(s, word == "glob")
	case "pattern":
		if _, err := filepath.Match(s, ""); err != nil {
			return fmt.Errorf("%q is no pattern: its bracket has no end", s)
		}
	case "regexp":
		if _, err := regexp.Compile(s); err != nil {
			return fmt.Errorf("%q is no regular expression: %s", s, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	case "name":
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) || len(s) > 200 {
			return fmt.Errorf("%q is no name: it is one word, without spaces", s)
		}
	case "size":
		_, err := fleet.ParseSize(s)
		return err
	case "times":
		_, err := ParseBudget(s)
		return err
	case "":
		if len(all) > 1 {
			return fmt.Errorf("%q is none of %s%s", s, strings.Join(all[1:], ", "), nearest.Choice(s, all[1:]))
		}
	}
	return nil
}

func wantsDuration(s, limits string) error {
	d, err := Duration(s)
	if err != nil || limits == "" {
		return err
	}
	from, to, _ := strings.Cut(limits, "..")
	least, _ := Duration(from) // a test reads each tag
	most, _ := Duration(to)
	switch {
	case d < least:
		return fmt.Errorf("%s is too short: the least is %s", s, from)
	case to != "" && d > most:
		return fmt.Errorf("%s is too long: the most is %s", s, to)
	}
	return nil
}

func (c Config) wantsPath(s string, glob bool) error {
	full, err := c.Expand(s)
	if err == nil && strings.ContainsAny(s, "\x00\n") {
		err = errors.New("a path has no line end and no zero byte")
	}
	if err == nil && glob {
		if _, bad := filepath.Match(full, ""); bad != nil {
			err = fmt.Errorf("%q is no glob: its bracket has no end", s)
		}
	}
	return err
}
