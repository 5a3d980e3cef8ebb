package daemon_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent/agenttest"
)

// TestTutorial does what docs/tutorial.md says, line by line, in a HOME of its own,
// on real tmux and git, with the scripted agent in the place of claude. Each block
// has to work; what the text promises has to be seen. With CUSTOS_TOWN=1 the fleet
// then lives on for ten minutes under patrols.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a gate and a plugin of a minute")
	}
	s := newStudent(t)
	for _, b := range blocksOf(t, "tutorial.md") {
		s.do(b)
	}
	if s.blocks < 12 {
		t.Errorf("only %d blocks", s.blocks)
	}
}

// promises is what the tutorial says is seen, by a line of the block that shows it.
func promises() map[string][]string {
	return map[string][]string{
		"custos plugin lint disk":                 {"disk"},
		"custos ps":                               {"builder", "tester", "claude"},
		"custos attach builder":                   {"tmux", "attach"},
		"custos web":                              {"http://127.0.0.1:", "once"},
		"custos failures builder":                 {"crashed", "signal 9"},
		"custos why agent/builder":                {"recover"},
		"custos work list":                        {"w1", "w2", "in progress"},
		"custos gate list":                        {"timer", "The shop has closed"},
		"custos mail inbox --for builder":         {"The price list"},
		"custos mail inbox --for tester":          {"Unblocked: w2"},
		"custos convoy list --all":                {"done", "2"},
		"custos gate list --all":                  {"passed"},
		"custos plugin history disk":              {"done"},
		"custos mail inbox":                       {"Convoy done"},
		"custos role render writer --work w3":     {"writer-w3", "w3"},
		"custos merge list --all":                 {"wrong", "failed", "agent/writer-w3", "agent/writer-w4", "merged"},
		"custos merge why mq1":                    {"prices failed on mq1 alone"},
		"custos work list --all":                  {"The price of plums"},
		"git -C ~/shop log --oneline origin/main": {"The price of w3", "The price of w4"},
		"custos config check":                     {"good"},
		"custos team list":                        {"price: looker"},
		"custos team show w5":                     {"closed", "looker: The price of figs"},
		"custos review list --all":                {"approved", "reader-w"},
		"custos work show w5":                     {"merged as"},
	}
}

// TestTheAnswersOfTheFAQ types what each answer names, on a machine where nothing runs: it
// works there, too, and what it finds may be an alert. What models used is not known there.
func TestTheAnswersOfTheFAQ(t *testing.T) {
	s := newStudent(t)
	for _, b := range blocksOf(t, "faq.md") {
		s.blocks++
		out, err := s.sh(t.Context(), b)
		var exit *exec.ExitError
		code := 0
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		uncounted := code == 3 && strings.Contains(b, "custos cost") && strings.Contains(out, "no daemon runs that counts")
		if err != nil && code != 1 && !uncounted || strings.TrimSpace(out) == "" {
			t.Errorf("%s\n%v\n%s", b, err, out)
		}
	}
	if s.blocks < 10 {
		t.Errorf("only %d blocks", s.blocks)
	}
}

// blocksOf are the blocks of shell of a page.
func blocksOf(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		out = append(out, block)
	}
	return out
}

// student follows the tutorial.
type student struct {
	*testing.T
	home   string
	env    []string
	blocks int
}

func newStudent(t *testing.T) *student {
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	s := &student{T: t, home: home}
	path := bin + ":" + filepath.Dir(agenttest.Build(t)) + ":" + os.Getenv("PATH")
	s.env = append(os.Environ(), "HOME="+home, "PATH="+path, "TMUX_TMPDIR="+home)
	if err := os.Mkdir(filepath.Join(home, ".fakeagent"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The daemon leaves its agents running, which no test after this one is to see.
		_, _ = s.sh(context.Background(), `custos down || true; tmux kill-server || true; find "$HOME" -type s -name tmux.sock -exec tmux -S {} kill-server \;`)
		os.RemoveAll(home)
	})
	return s
}

func (s *student) sh(ctx context.Context, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-ec", script)
	cmd.Env, cmd.Dir, cmd.WaitDelay = s.env, s.home, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// scripted is what the scripted agent is told in the place of words that it would have to understand.
var scripted = strings.NewReplacer("Run the command: date > opened", "fake dialog date > opened")

// do types one block.
func (s *student) do(block string) {
	s.Helper()
	s.blocks++
	switch {
	case strings.HasPrefix(block, "custos up\n"):
		s.up()
		return
	case strings.HasPrefix(block, "custos patrol\n"):
		s.waitForMinute()
	case strings.HasPrefix(block, "custos why "):
		s.liveOn()
	case strings.HasPrefix(block, "git -C ~/shop worktree add"):
		s.waitFor("custos merge list", "shop: main of origin")
	case strings.HasPrefix(block, "custos merge list --all"):
		s.waitFor("custos merge list --all", "failed", "merged")
		s.waitFor("custos work list", "No ")
	case strings.HasPrefix(block, "custos team list\n"):
		s.waitFor("custos team list", "price: looker")
	case strings.HasPrefix(block, "custos team show w5\n"):
		s.waitFor("custos work show w5", "merged as")
	}
	out, err := s.sh(s.Context(), scripted.Replace(block))
	if err != nil {
		s.Fatalf("%s\n%v\n%s", block, err, out)
	}
	s.Logf("%s\n%s", block, out)
	for line, words := range promises() {
		if !strings.Contains(block, line+"\n") {
			continue
		}
		shown, err := s.sh(s.Context(), line)
		for _, w := range words {
			if err != nil || !strings.Contains(shown, w) {
				s.Errorf("%s: %v; %q is not in\n%s", line, err, w, shown)
			}
		}
	}
}

// up is the terminal of its own.
func (s *student) up() {
	cmd := exec.Command(s.which("custos"), "up")
	cmd.Env, cmd.Dir = s.env, s.home
	said := &writer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	await(s.T, said.String, func() bool {
		out, err := s.sh(s.Context(), "custos status --json")
		return err == nil && strings.Contains(out, `"daemon": true`)
	})
}

func (s *student) which(program string) string {
	out, err := s.sh(s.Context(), "command -v "+program)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// waitFor waits until a command shows words.
func (s *student) waitFor(command string, words ...string) {
	s.Helper()
	shown := ""
	await(s.T, func() string { return command + " shows\n" + shown }, func() bool {
		shown, _ = s.sh(s.Context(), command)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(shown, w) })
	})
}

// waitForMinute: the gate and the plugin take a minute.
func (s *student) waitForMinute() {
	for range 100 {
		gates, _ := s.sh(s.Context(), "custos gate list --all")
		runs, _ := s.sh(s.Context(), "custos plugin history disk")
		if strings.Contains(gates, "passed") && strings.Contains(runs, "done") {
			return
		}
		<-time.After(time.Second)
	}
	s.Error("the gate and the plugin took more than 100 s")
}

// liveOn lets the fleet live for ten minutes, with patrols, and looks at what that
// was: everything told once, and no model asked.
func (s *student) liveOn() {
	rounds := 1
	if os.Getenv("CUSTOS_TOWN") != "" {
		rounds = 20
	}
	for range rounds {
		if out, err := s.sh(s.Context(), "custos patrol --json"); err != nil {
			s.Errorf("patrol: %v\n%s", err, out)
		}
		if rounds > 1 {
			<-time.After(30 * time.Second)
		}
	}
	s.count("SELECT COUNT(*) FROM verdicts", 0)
	s.count("SELECT COUNT(*) FROM mails WHERE key LIKE 'gate/g1/%'", 1)
	s.count("SELECT COUNT(*) FROM mails WHERE key LIKE 'convoy/c1/done/%'", 1)
	s.count("SELECT COUNT(*) FROM mails WHERE key LIKE 'dep/%' OR json ->> 'type' = 'dependency'", 1)
}

func (s *student) count(query string, want int) {
	s.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.home, ".local/state/custos/custos.db")+"?mode=ro")
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
		s.Errorf("%s: %d, want %d (%v)", query, n, want, err)
	}
}
