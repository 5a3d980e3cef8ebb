package fleet

import "slices"

// IsPressable says whether a key, by tmux's name of it, is one that may be pressed in an agent's
// terminal: what dialogs of agent CLIs are answered with, what interrupts and ends them, and
// what takes away what is typed there.
func IsPressable(key string) bool {
	return slices.Contains(namedKeys(), key) || len(key) == 1 && (isBetween(key[0], '0', '9') || isBetween(key[0], 'a', 'z'))
}

// PressableKeys says in words what IsPressable knows.
func PressableKeys() []string { return append(namedKeys(), "a to z", "0 to 9") }

func namedKeys() []string {
	return []string{"Enter", "Escape", "C-c", "C-d", "C-u", "C-k", "Tab", "BTab", "Space", "BSpace", "Up", "Down", "Left", "Right"}
}

func isBetween(c, first, last byte) bool { return first <= c && c <= last }
