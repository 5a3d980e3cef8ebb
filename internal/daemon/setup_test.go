package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person sets Custos up in a real terminal, with the keys a person types, beside an agent
// that was started by hand: found, asked about, interrupted, done, and undone byte for byte.
func TestSetupInATerminal(t *testing.T) {
	s := newStudent(t)
	s.env = append(s.env, "SHELL=/bin/bash", "TERM=xterm")
	s.must(`mkdir .claude; printf '{"model":"opus"}' > .claude/settings.json; git init -q -b main shop; git -C shop -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`)
	s.must(`tmux -f /dev/null new-session -d -s work -c "$HOME/shop" claude; tmux new-session -d -s me -x 200 -y 60 "bash --norc"`)
	await(t, s.screen, func() bool {
		out, _ := s.sh(t.Context(), "custos setup --json")
		return strings.Contains(out, `"mine": true`)
	})
	before := s.tree()
	s.press("'custos setup' Enter")
	s.shows("agents: 1: work", "1 ~/shop repository 1 agent yes", "Which places are yours?")
	s.press("Enter")
	s.shows("How far may Custos go by itself?")
	s.press("C-c")
	s.shows("[observe]: ^C custos: cannot finish: interrupted")
	if now := s.tree(); now != before {
		t.Errorf("Ctrl-C left\n%s\nof\n%s", now, before)
	}
	s.clear()
	s.press("'custos setup' Enter")
	for _, step := range [][2]string{{"Which places are yours?", "Enter"}, {"How far may", "ask Enter"}, {"Where are you", "Enter"}, {"Add hooks to the settings of claude", "yes Enter"},
		{"status line of your tmux", "yes Enter"}, {"Complete commands and names in bash?", "Enter"}, {"Make these changes?", "yes Enter"}} {
		s.shows(step[0])
		s.press(step[1])
	}
	s.shows("written ~/.config/custos/custos.toml", "hooks of claude", "custos setup --undo")
	s.must(`custos config check; grep -q 'repos = \["~/shop"\]' .config/custos/custos.toml; grep -q custos-hook .claude/settings.json; grep -q 'custos status --' .tmux.conf`)
	s.clear()
	s.press("'custos setup --undo' Enter")
	s.shows("taken out: the hooks of claude", "removed: ~/.config/custos/custos.toml")
	await(t, func() string { return s.tree() + "\nis not\n" + before }, func() bool { return s.tree() == before })
}

// clear empties the terminal, lest what stood there is taken for what comes.
func (s *student) clear() {
	s.Helper()
	s.press("clear Enter")
	await(s, s.screen, func() bool { return !strings.Contains(s.screen(), "custos") })
}

// tree lists the files of the home that setup may touch, each with its text.
func (s *student) tree() string {
	s.Helper()
	var b strings.Builder
	for _, name := range []string{".claude", ".config", ".local/share", ".tmux.conf", ".bashrc"} {
		err := filepath.WalkDir(filepath.Join(s.home, name), func(p string, d os.DirEntry, err error) error {
			if os.IsNotExist(err) || err == nil && d.IsDir() {
				return nil
			}
			text, err := os.ReadFile(p)
			if os.IsNotExist(err) { // the agent's own, between two looks
				return nil
			}
			if !strings.Contains(p, "/.claude/") || strings.Contains(p, "settings.json") {
				b.WriteString(p + "\n" + string(text) + "\n")
			}
			return err
		})
		if err != nil {
			s.Fatal(err)
		}
	}
	return b.String()
}
