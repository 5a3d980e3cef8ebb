package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Stroke is one thing that a person types: characters, a key by its tmux name, or a text
// that they paste. Just one is set.
type Stroke struct {
	Text  string `json:"text,omitempty"`
	Key   string `json:"key,omitempty"`
	Paste string `json:"paste,omitempty"`
}

// Bounds of what is typed at once: what a person does in a moment.
const (
	mostStrokes = 64
	mostTyped   = 1 << 10 // bytes of characters
	mostPasted  = 64 << 10
)

// CheckStrokes says what is wrong with what is typed at once.
func CheckStrokes(all []Stroke) error {
	typed, pasted := 0, 0
	if len(all) == 0 || len(all) > mostStrokes {
		return fmt.Errorf("cannot type: %d keys at once: want 1 to %d", len(all), mostStrokes)
	}
	for _, s := range all {
		if err := s.check(); err != nil {
			return err
		}
		typed, pasted = typed+len(s.Text), pasted+len(s.Paste)
	}
	switch {
	case typed > mostTyped:
		return fmt.Errorf("cannot type: %d bytes at once are more than %d: paste them", typed, mostTyped)
	case pasted > mostPasted:
		return fmt.Errorf("cannot paste: %d bytes at once are more than %d", pasted, mostPasted)
	}
	return nil
}

func (s Stroke) check() error {
	set := 0
	for _, part := range []string{s.Text, s.Key, s.Paste} {
		if part != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("cannot type: a stroke is characters, a key or a paste, and just one of them")
	case s.Key != "" && !isKey(s.Key):
		return fmt.Errorf("cannot type: that is no key that may be pressed")
	case !utf8.ValidString(s.Text) || strings.ContainsFunc(s.Text, unicode.IsControl):
		return fmt.Errorf("cannot type: characters with a control character among them")
	}
	return nil
}

// Count is how many keys strokes are: a paste is one.
func Count(all []Stroke) (n int) {
	for _, s := range all {
		if s.Text != "" {
			n += utf8.RuneCountInString(s.Text)
		} else {
			n++
		}
	}
	return n
}

// named are the keys that have names.
var named = []string{"Enter", "Escape", "Tab", "BTab", "BSpace", "Space", "Up", "Down", "Left", "Right", "Home", "End", "PPage", "NPage", "IC", "DC",
	"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "C-Space"}

// isKey says whether a name is that of a key: one with a name, with Shift, Alt or Control
// where it is an arrow, or a letter with Control or Alt.
func isKey(name string) bool {
	if slices.Contains(named, name) {
		return true
	}
	mod, key, ok := strings.Cut(name, "-")
	if !ok || !slices.Contains([]string{"C", "M", "S"}, mod) {
		return false
	}
	if slices.Contains([]string{"Up", "Down", "Left", "Right", "Home", "End", "Enter", "BSpace", "Tab", "DC"}, key) {
		return true
	}
	return mod != "S" && len(key) == 1 && 'a' <= key[0] && key[0] <= 'z'
}
