package setup

import (
	"fmt"
	"regexp"
	"strings"
)

// The lines between which ours stand. The second begins them where the line before had no
// end, which they gave it.
const (
	tmuxBegins = "# custos: begins (custos setup tmux --undo takes this out)\n"
	tmuxJoins  = "# custos: begins, below a line without an end (custos setup tmux --undo takes this out)\n"
	tmuxEnds   = "# custos: ends\n"
)

// tmuxKey is a name of a key.
var tmuxKey = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// TmuxLines are ours: they call custos by a command that can stand in a tmux.conf as it is, and
// bind a key after the prefix. Read again, they add nothing twice.
func TmuxLines(custos, key string) (string, error) {
	if !tmuxKey.MatchString(key) {
		return "", fmt.Errorf("cannot bind %q: want a key as tmux calls it: u, C-u, F5", key)
	}
	return fmt.Sprintf(`if-shell -F '#{m:*status --tmux*,#{status-right}}' '' "set-option -ga status-right ' #(%[1]s status --tmux)'"
if-shell -F '#{e|<:#{status-right-length},120}' 'set-option -g status-right-length 120'
%%if "#{>=:#{version},3.2}"
bind-key %[2]s display-popup -E -w 90%% -h 90%% '%[1]s top'
%%endif
`, custos, key), nil
}

// WithTmux is a tmux.conf with our lines.
func WithTmux(text, lines string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n" + tmuxJoins + lines + tmuxEnds
	}
	return text + tmuxBegins + lines + tmuxEnds
}

// WithoutTmux is a tmux.conf as it is without our lines. An error says why they cannot be told from the rest.
func WithoutTmux(text string) (string, error) {
	begins := tmuxBegins
	if strings.Contains(text, tmuxJoins) {
		begins = tmuxJoins
	}
	before, rest, found := strings.Cut(text, begins)
	if !found {
		return text, nil
	}
	_, after, ended := strings.Cut(rest, tmuxEnds)
	if !ended || strings.Contains(after, tmuxBegins) || strings.Contains(after, tmuxJoins) {
		return "", fmt.Errorf("line %d begins our lines, and they have no end of their own: take them out by hand", strings.Count(before, "\n")+1)
	}
	if begins == tmuxJoins && after == "" {
		before = strings.TrimSuffix(before, "\n")
	}
	return before + after, nil
}

// boundByUs is the key in our lines.
var boundByUs = regexp.MustCompile(`(?m)^bind-key ([A-Za-z0-9-]+) display-popup -E .* top'$`)

// TmuxKey is the key that our lines in a tmux.conf bind; "" where they are not in it.
func TmuxKey(text string) string {
	_, ours, _ := strings.Cut(text, "# custos: begins")
	if found := boundByUs.FindStringSubmatch(ours); found != nil {
		return found[1]
	}
	return ""
}

// TmuxForgets takes out of a tmux that runs what our lines with a key did in it: what a tmux.conf,
// "" for none, says of the status line is read again.
func TmuxForgets(key, conf string) []string {
	argv := []string{"tmux", "unbind-key", key, ";", "set-option", "-gu", "status-right", ";", "set-option", "-gu", "status-right-length"}
	if conf != "" {
		argv = append(argv, ";", "source-file", conf)
	}
	return argv
}

// BoundAt is the line of a tmux.conf that binds a key after the prefix; 0 for none.
func BoundAt(text, key string) int {
	binds := regexp.MustCompile(`^\s*bind(-key)?\s+(-[rN]\s+("[^"]*"\s+|'[^']*'\s+)?)*["']?` + regexp.QuoteMeta(key) + `["']?\s`)
	for i, line := range strings.Split(text, "\n") {
		if binds.MatchString(line) {
			return i + 1
		}
	}
	return 0
}
