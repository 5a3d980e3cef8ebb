package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// DialogMark reads a dialog at the end of a screen. Groups of Ends named
// question, tool, args and choices take its pieces.
type DialogMark struct {
	ID   string `toml:"id"`
	Says string `toml:"says"`
	Ends string `toml:"ends"`
	// Person: only a person may answer it. Otherwise Custos may take Default, the
	// harmless choice, in an agent that it started itself.
	Person  bool         `toml:"person"`
	Default string       `toml:"default"`
	Choice  []ChoiceMark `toml:"choice"`
}

// ChoiceMark is one way to answer a dialog.
type ChoiceMark struct {
	Name string `toml:"name"`
	// Match is for the label of a numbered line; the choice exists where a line
	// matches, and always when Match is empty. Labels come without their number.
	Match Pattern `toml:"match"`
	// Keys choose it, by tmux's names; {n} is its number. In a list without numbers, {n}
	// are the Ups or Downs that lead to it from the line that is selected, and Enter.
	Keys []string `toml:"keys"`
}

// Pick returns the choice of a dialog by its name.
func Pick(d fleet.Dialog, name string) (fleet.Choice, error) {
	var names []string
	for _, c := range d.Choices {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return fleet.Choice{}, fmt.Errorf("cannot answer %q: it offers %s", name, strings.Join(names, ", "))
}

func (k *Kind) finishDialogs() error {
	k.dialogs = nil
	for _, m := range k.Dialogs {
		if m.ID == "" || m.Says == "" || m.Ends == "" {
			return fmt.Errorf("dialog %q: a dialog needs id, says and ends", m.ID)
		}
		re, err := k.compile(m.Ends)
		if err != nil {
			return fmt.Errorf("dialog %q: %w", m.ID, err)
		}
		if err := m.checkChoices(re); err != nil {
			return fmt.Errorf("dialog %q: %w", m.ID, err)
		}
		k.dialogs = append(k.dialogs, re)
	}
	return nil
}

func (m DialogMark) checkChoices(re *regexp.Regexp) error {
	for _, c := range m.Choice {
		if c.Name == "" || len(c.Keys) == 0 {
			return errors.New("a choice needs name and keys")
		}
		if c.Match.re != nil && !slices.Contains(re.SubexpNames(), "choices") {
			return fmt.Errorf("choice %q has match, but ends has no group choices", c.Name)
		}
	}
	if !m.Person && !slices.ContainsFunc(m.Choice, func(c ChoiceMark) bool { return c.Name == m.Default }) {
		return fmt.Errorf("default %q is none of its choices: say person = true, or name one", m.Default)
	}
	return nil
}

// ReadDialog reads the dialog an agent stands at, if its screen ends in one. A
// title that says working stands against it: the text is then old, or printed. Not
// so where the CLI is known to leave its title so.
func ReadDialog(k Kind, screen, title string) (fleet.Dialog, bool) {
	if m, ok := k.readTitle(title); ok && fleet.AgentState(m.State) == fleet.StateWorking && !k.overWorking(screen) {
		return fleet.Dialog{}, false
	}
	ends := ends(screen)
	for i, re := range k.dialogs {
		for _, end := range ends {
			if at := re.FindStringSubmatch(end); at != nil {
				return k.Dialogs[i].read(re, at), true
			}
		}
	}
	return fleet.Dialog{}, false
}

func (k Kind) overWorking(screen string) bool {
	m, ok := k.readScreen(screen)
	return ok && m.OverWorking
}

func (m DialogMark) read(re *regexp.Regexp, at []string) fleet.Dialog {
	show := func(name string, most int) string {
		return fleet.Line(fleet.Redact(unframed(piece(re, at, name))), most)
	}
	return fleet.Dialog{
		ID: m.ID, Says: m.Says, Question: show("question", 300), Tool: show("tool", 80), Args: show("args", 400),
		Choices: m.choices(piece(re, at, "choices")), Person: m.Person, Default: m.Default, Hash: m.hash(re, at),
	}
}

// numbered is one line of a list of choices, its frame taken away.
var numbered = regexp.MustCompile(`^([^\w\s]?) *(\d)\. (.+)$`)

func (m DialogMark) choices(text string) []fleet.Choice {
	var out []fleet.Choice
	for _, c := range m.Choice {
		if c.Match.re == nil {
			out = append(out, fleet.Choice{Name: c.Name, Keys: slices.Clone(c.Keys)})
		}
	}
	next := 1
	for line := range strings.Lines(text) {
		at := numbered.FindStringSubmatch(strings.Trim(line, " │┃|\n"))
		if at == nil || at[2] != strconv.Itoa(next) {
			continue // the second line of a label, or a list inside of one
		}
		next++
		out = append(out, m.choice(at[2], at[3], at[1] != ""))
	}
	if next == 1 {
		out = append(out, m.listed(text)...)
	}
	return out
}

// pointed is one line of a list without numbers, its frame taken away.
var pointed = regexp.MustCompile(`^([❯›] )? *(.+)$`)

// listed reads choices without numbers, between which a mark is moved: each line has to be
// one that is known, else a label that is broken in two would count as two, and a key
// choose another than is meant.
func (m DialogMark) listed(text string) (out []fleet.Choice) {
	at := -1
	for line := range strings.Lines(text) {
		is := pointed.FindStringSubmatch(strings.Trim(line, " │┃|\n"))
		if is == nil {
			continue
		}
		c := m.choice("", is[2], is[1] != "")
		if c.Name == "" || c.Selected && at >= 0 {
			return nil
		}
		if c.Selected {
			at = len(out)
		}
		out = append(out, c)
	}
	if at < 0 {
		return nil
	}
	for i := range out {
		out[i].Keys = led(out[i].Keys, i-at)
	}
	return out
}

// led puts the way down a list, and Enter, for {n}; a negative one leads up.
func led(keys []string, way int) (all []string) {
	to := slices.Repeat([]string{"Down"}, max(0, way))
	to = append(to, slices.Repeat([]string{"Up"}, max(0, -way))...)
	for _, k := range keys {
		if k == "{n}" {
			all = append(all, append(to, "Enter")...)
			continue
		}
		all = append(all, k)
	}
	return all
}

// choice names a line by the first choice that matches; its number, if it has one, names
// one that none does.
func (m DialogMark) choice(n, label string, selected bool) fleet.Choice {
	c := fleet.Choice{Name: n, Label: fleet.Line(fleet.Redact(label), 160), Keys: []string{n}, Selected: selected}
	for _, mark := range m.Choice {
		if mark.Match.re != nil && mark.Match.match(strings.TrimSpace(label)) {
			c.Name, c.Keys = mark.Name, slices.Clone(mark.Keys)
			if n != "" {
				c.Keys = fill(mark.Keys, "{n}", n)
			}
			return c
		}
	}
	return c
}

// pointer is a selection drawn as >, before a number.
var pointer = regexp.MustCompile(`(?m)^[> ] (\d\. )`)

// hash is the same for the same dialog, whatever is selected, however wide the screen is and
// whatever is drawn around it: spinners, hints at keys and seconds go on changing below a
// person who reads. So it is over what is asked: the words of its question, tool, arguments
// and choices, or all of it where neither arguments nor choices are known apart. Two dialogs
// that ask the very same have one. It is taken before anything is redacted, so that two
// commands that differ in a secret differ. Of a dialog that is longer than the
// screen it is over what can be seen.
func (m DialogMark) hash(re *regexp.Regexp, at []string) string {
	sum := sha256.Sum256([]byte(m.ID + "\x00" + strings.Join(asked(re, at), "\x00")))
	return hex.EncodeToString(sum[:12])
}

// asked are the words of each piece of a dialog.
func asked(re *regexp.Regexp, at []string) (pieces []string) {
	if piece(re, at, "args")+piece(re, at, "choices") == "" {
		return []string{words(at[0])}
	}
	for _, name := range []string{"question", "tool", "args", "choices"} {
		pieces = append(pieces, words(piece(re, at, name)))
	}
	return pieces
}

// piece is what a group of a mark has found; "" for one that it does not have.
func piece(re *regexp.Regexp, at []string, name string) string {
	if i := re.SubexpIndex(name); i >= 0 {
		return at[i]
	}
	return ""
}

func words(text string) string {
	return strings.Join(strings.Fields(unframed(pointer.ReplaceAllString(text, "  $1"))), " ")
}

// unframed takes away what is drawn around text: lines, blocks, spinners and the
// marks of a selection.
func unframed(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x2500 && r <= 0x259f, r >= 0x2800 && r <= 0x28ff, strings.ContainsRune("❯›●", r):
			return ' '
		}
		return r
	}, text)
}

// Ready says whether an agent that was just started can be given its first
// prompt: its prompt is there, and empty, and no dialog is.
func Ready(k Kind, screen, title string) fleet.Leaf[bool] {
	if d, ok := ReadDialog(k, screen, title); ok {
		return fleet.Unknown[bool]("it stands at a dialog: " + d.Says)
	}
	if m, ok := k.readTitle(title); ok && fleet.AgentState(m.State) != fleet.StateIdle {
		return fleet.Known(false)
	}
	// A limit that the last turn ran into is no reason: it may be over, or be
	// what a resumed conversation ended with.
	if m, ok := k.readScreen(screen); ok && (fleet.AgentState(m.State) == fleet.StateWorking || m.OverWorking) {
		return fleet.Known(false)
	}
	return ComposerEmpty(k, screen)
}
