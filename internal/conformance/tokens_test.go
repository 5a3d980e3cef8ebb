//go:build conformance

package conformance

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/opencode"
)

// TestTokens holds what is read of an agent's tokens against the mock's own account, to the
// token: each answer by its transcript, and the sum of a run by its output.
func TestTokens(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, k agent.Kind) {
		h := newHome(t, c, StartModel(t, 10*time.Millisecond))
		env := c.settle(t, h)
		var sum fleet.Tokens
		for _, prompt := range []string{"please say hello", "now run the tool"} {
			from := len(h.model.Account())
			printed := h.headless(t, k, env, prompt)
			account := h.model.Account()[from:]
			told := printedTokens(t, k, printed)
			if all, own := toldBy(c.kind, account, true), toldBy(c.kind, account, false); told != mute(c.kind, all) && told != mute(c.kind, own) {
				t.Errorf("%q: by its output it used %+v; by the account %+v, without its own requests %+v\n%s", prompt, told, all, own, printed)
			}
			sum = sum.Add(told)
		}
		if sum.All() == 0 {
			t.Error("its output tells of no tokens")
		}
		h.holdTranscripts(t, k)
	})
}

// headless runs an agent without a terminal, to its end, and returns what it printed.
func (h home) headless(t *testing.T, k agent.Kind, env []string, prompt string) []byte {
	t.Helper()
	extra := slices.DeleteFunc(slices.Clone(h.cli.extra), func(arg string) bool { return strings.HasPrefix(arg, "--approval-mode") }) // it asks nobody here
	start, err := agent.Launch(k, agent.LaunchOptions{Headless: true, Autonomous: len(k.Headless.Autonomous) > 0, Prompt: prompt, Program: h.cli.program(), Extra: extra})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, start.Argv[0], start.Argv[1:]...)
	run.Dir, run.Env = h.project, slices.Concat(h.env(), []string{"IS_SANDBOX=1"}, env, start.Env)
	run.Stdin = strings.NewReader(start.Stdin)
	var errs bytes.Buffer
	run.Stderr, run.WaitDelay = &errs, 10*time.Second
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", run.Args, err, out, errs.String())
	}
	return out
}

// printedTokens are those of a run: of its result, or where that does not tell, of its answers.
func printedTokens(t *testing.T, k agent.Kind, printed []byte) (sum fleet.Tokens) {
	t.Helper()
	result := fleet.Unknown[fleet.Tokens]("not told")
	for line := range bytes.Lines(printed) {
		events, _ := conversation.ReadOutput(k.Headless.Stream, line) // between the lines others print
		for _, e := range events {
			tokens, known := e.Tokens.Get()
			switch {
			case known && e.What == conversation.Result:
				result = e.Tokens
			case known && e.What == conversation.Response:
				sum = sum.Add(tokens)
			}
		}
	}
	return result.Or(sum)
}

// toldBy sums an account as the protocol of the CLI tells it; own are the CLI's own requests.
func toldBy(kind string, account []Response, own bool) (sum fleet.Tokens) {
	for _, r := range account {
		if own || !r.Side {
			sum = sum.Add(asTold(kind, r.Tokens))
		}
	}
	return sum
}

// asTold: only Anthropic's protocol tells of what goes into the cache.
func asTold(kind string, n fleet.Tokens) fleet.Tokens {
	if kind != "claude" {
		n.Input, n.CacheWrite5m, n.CacheWrite1h = n.Input+n.CacheWrite5m+n.CacheWrite1h, 0, 0
	} else {
		n.Reasoning = 0
	}
	return n
}

// mute leaves out what the output of a CLI does not tell apart.
func mute(kind string, n fleet.Tokens) fleet.Tokens {
	if kind == "pi" || kind == "qwen" {
		n.Reasoning = 0
	}
	return n
}

// holdTranscripts: each answer of the account is in a transcript, with its tokens, and
// nothing else is; but of those for titles and the like, which some CLIs write down.
func (h home) holdTranscripts(t *testing.T, k agent.Kind) {
	t.Helper()
	rows := h.answers(t, k)
	for _, r := range h.model.Account() {
		want := asTold(k.Name, r.Tokens)
		if k.Name == "pi" {
			want.Reasoning = 0
		}
		found := ""
		for key, tokens := range rows {
			if tokens == want {
				found = key
			}
		}
		switch {
		case found != "":
			delete(rows, found)
		case !r.Side:
			t.Errorf("no transcript tells of answer %s, which used %+v", r.ID, want)
		}
	}
	for key, tokens := range rows {
		t.Errorf("the transcript tells of %s, which used %+v, and the model of none such", key, tokens)
	}
}

// answers are those that transcripts tell of, by key, each with the most tokens told.
func (h home) answers(t *testing.T, k agent.Kind) map[string]fleet.Tokens {
	t.Helper()
	rows := map[string]fleet.Tokens{}
	for _, line := range h.transcripts(t, k) {
		entries, err := conversation.Read(k.Name, line)
		if err != nil {
			t.Errorf("%v: %.300s", err, line)
		}
		for _, e := range entries {
			if e.What == conversation.Response && !e.Counted() && e.Tokens.All() > 0 && e.Tokens.All() >= rows[e.Key].All() {
				rows[e.Key] = e.Tokens
			}
		}
	}
	return rows
}

// transcripts are the lines of all conversations below the home folder.
func (h home) transcripts(t *testing.T, k agent.Kind) (lines [][]byte) {
	t.Helper()
	if k.Name == "opencode" {
		return h.opencode(t)
	}
	matches := transcriptGlob(k)
	err := filepath.WalkDir(filepath.Join(h.dir, k.Transcripts.Home), func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(filepath.Join(h.dir, k.Transcripts.Home), path)
		if err != nil || !e.Type().IsRegular() || !matches.MatchString(name) {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			lines = append(lines, bytes.Clone(line))
		}
		return err
	})
	if err != nil || len(lines) == 0 {
		t.Errorf("no transcripts: %v", err)
	}
	return lines
}

// transcriptGlob is a kind's globs, as one pattern.
func transcriptGlob(k agent.Kind) *regexp.Regexp {
	var all []string
	for _, glob := range k.Transcripts.Files {
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `[^/]*`))
	}
	return regexp.MustCompile("^(?:" + strings.Join(all, "|") + ")$")
}

func (h home) opencode(t *testing.T) [][]byte {
	t.Helper()
	r, err := opencode.Open(filepath.Join(h.dir, ".local/share/opencode/opencode.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lines, _, more, err := r.Read(context.Background(), 0)
	if err != nil || more {
		t.Errorf("more %v, %v", more, err)
	}
	return lines
}
