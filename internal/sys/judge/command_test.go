package judge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"custos/internal/sys/judge"
	"custos/internal/sys/judge/judgetest"
)

// cli is a judge that is a script; the flags only say how it answers.
func cli(t testing.TB, script string, flags ...string) judge.Settings {
	t.Helper()
	return judge.Settings{Kind: "command", Model: "configured", Command: append([]string{write(t, "cli", "#!/bin/sh\n"+script, 0o700)}, flags...)}
}

func said(text string) string { return "cat >/dev/null; cat <<'END'\n" + text + "\nEND\n" }

const (
	claudeSays = `{"type":"result","subtype":"success","is_error":false,"result":"{\"verdict\":\"stop\",\"until\":null,\"confidence\":0.9,\"reason\":\"it is done\"}",` +
		`"total_cost_usd":0.0123,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":40},"modelUsage":{"claude-x":{}}}`
	codexSays = `{"type":"thread.started","thread_id":"1"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"{\"verdict\":\"stop\",\"until\":null,\"confidence\":0.9,\"reason\":\"it is done\"}"}}
{"type":"turn.completed","usage":{"input_tokens":3210,"cached_input_tokens":3000,"output_tokens":40}}`
)

func TestCommands(t *testing.T) {
	used := judge.Usage{Known: true, Input: 3210, Output: 40}
	for name, c := range map[string]struct {
		set  judge.Settings
		want judge.Answer
	}{
		"text":          {cli(t, said(right)), judge.Answer{Text: right, Model: "configured"}},
		"a fence":       {cli(t, said("```json\n"+right+"\n```")), judge.Answer{Text: right, Model: "configured"}},
		"claude":        {cli(t, said(claudeSays), "-p", "--output-format", "json"), judge.Answer{Text: right, Model: "claude-x", Usage: used, Cost: judge.Cost{Known: true, Micros: 12300}}},
		"claude, array": {cli(t, said(`[{"type":"system"},`+claudeSays+"]"), "-p", "--output-format=json"), judge.Answer{Text: right, Model: "claude-x", Usage: used, Cost: judge.Cost{Known: true, Micros: 12300}}},
		"claude, lines": {cli(t, said(`{"type":"system"}`+"\n"+claudeSays), "-p", "--output-format=stream-json"), judge.Answer{Text: right, Model: "claude-x", Usage: used, Cost: judge.Cost{Known: true, Micros: 12300}}},
		"codex":         {cli(t, said(codexSays), "exec", "--json", "-"), judge.Answer{Text: right, Model: "configured", Usage: used, Cost: judge.Cost{Known: true, Micros: 10230}}},
		"faked cost":    {cli(t, said(claudeSays)), judge.Answer{Text: claudeSays, Model: "configured"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.set.InputPrice, c.set.OutputPrice = price(3), price(15)
			a, err := client(t, c.set).Ask(t.Context(), question())
			c.want.Calls, c.want.Took = 1, a.Took
			if err != nil || a != c.want {
				t.Errorf("got  %+v, %v\nwant %+v", a, err, c.want)
			}
		})
	}
}

func TestCommandsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		set  judge.Settings
		want string
		paid bool
	}{
		"no program":         {judge.Settings{Kind: "command", Command: []string{"/nonexistent/judge"}}, "no such file", false},
		"exit 3":             {cli(t, "echo 'not logged in\x1b[2J' >&2; exit 3"), "exit status 3: not logged in[2J", false},
		"exit 1 with reason": {cli(t, said(strings.Replace(claudeSays, `"is_error":false`, `"is_error":true`, 1))+"exit 1", "--output-format=json"), "exit status 1: it says", true},
		"its own limit":      {cli(t, said(strings.Replace(claudeSays, `"success"`, `"error_max_turns"`, 1)), "--output-format=json"), `it says "error_max_turns`, true},
		"no result":          {cli(t, said("hello"), "--output-format=json"), "no result", false},
		"nothing":            {cli(t, "cat >/dev/null"), "no one answer", false},
		"turn failed":        {cli(t, said(`{"type":"turn.failed","error":{"message":"quota"}}`), "exec", "--json"), `it says "quota"`, false},
		"half a turn":        {cli(t, said(strings.Split(codexSays, `{"type":"turn.completed"`)[0]), "exec", "--json"), "completed no turn", false},
		"killed":             {cli(t, "kill -9 $$"), "signal: killed", false},
		"without end":        {cli(t, "yes"), "longer than 1048576 bytes", false},
		"too much at once":   {cli(t, "trap '' PIPE; head -c 1100000 /dev/zero"), "longer than 1048576 bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := client(t, c.set).Ask(t.Context(), question())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") || a.Text != "" || a.Calls != 1 || a.Cost.Known != c.paid {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

// TestTheCommandsWorld looks at what a CLI sees: the prompt on its standard
// input only, an empty folder, and no variable that was not allowed.
func TestTheCommandsWorld(t *testing.T) {
	t.Setenv("JUDGE_TEST_ALLOWED", "yes")
	t.Setenv("JUDGE_TEST_OTHER", "no")
	t.Setenv("CUSTOS_AGENT", "a:1")
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	set := cli(t, fmt.Sprintf(`cat >%[1]s/stdin; env >%[1]s/env; pwd >%[1]s/pwd; ls -A >%[1]s/ls; tr '\0' '\n' </proc/$$/cmdline >%[1]s/argv; touch left; echo '%[2]s'`, dir, right))
	set.Environment = []string{"JUDGE_TEST_ALLOWED"}
	q := question()
	q.Data = "evidence \x00 with \xff bytes"
	if _, err := client(t, set).Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if in := read("stdin"); !strings.Contains(in, "Judge this.\n") || !strings.Contains(in, "evidence \x00 with \uFFFD bytes") || !strings.Contains(in, string(judge.VerdictSchema())) {
		t.Errorf("the prompt was %q", in)
	}
	if strings.Contains(read("argv"), "evidence") || strings.Contains(read("argv"), "Judge") {
		t.Errorf("the prompt is in %q", read("argv"))
	}
	if env := read("env"); !strings.Contains(env, "JUDGE_TEST_ALLOWED=yes") || strings.Contains(env, "JUDGE_TEST_OTHER") || strings.Contains(env, "CUSTOS_AGENT") || !strings.Contains(env, "CUSTOS_JUDGE=") {
		t.Errorf("the environment was %q", env)
	}
	if read("ls") != "" {
		t.Errorf("its folder held %q", read("ls"))
	}
	if _, err := os.Stat(strings.TrimSpace(read("pwd"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestACommandThatShowsItsKey(t *testing.T) {
	t.Setenv("JUDGE_TEST_KEY", judgetest.Key)
	for _, script := range []string{`echo "bad key $JUDGE_TEST_KEY" >&2; exit 1`, said(`{"type":"turn.failed","error":{"message":"` + judgetest.Key + `"}}`)} {
		set := cli(t, script, "exec", "--json")
		set.Environment = []string{"JUDGE_TEST_KEY"}
		_, err := client(t, set).Ask(t.Context(), question())
		if err == nil || !strings.Contains(err.Error(), "***") {
			t.Errorf("got %v", err)
		}
		hides(t, err)
	}
}

// TestCommandsAreKilledAsATree holds that nothing is left of a CLI: not at the
// deadline and not after its answer, whatever its children did to get away. One
// left its session and its environment, one its parent and its environment, one
// its session and its parent.
func TestCommandsAreKilledAsATree(t *testing.T) {
	children := `
sh -c 'echo $$ >>%[1]s; exec sleep 600' &
setsid sh -c 'echo $$ >>%[1]s; trap "" TERM INT HUP; sleep 600; sleep 600' &
(setsid sh -c 'echo $$ >>%[1]s; exec sleep 600' </dev/null >/dev/null 2>&1 &)
env -i PATH="$PATH" setsid sh -c 'echo $$ >>%[1]s; sleep 600; :' &
(env -i PATH="$PATH" sh -c 'echo $$ >>%[1]s; exec sleep 600' </dev/null >/dev/null 2>&1 &)
while [ $(wc -l <%[1]s) -lt 5 ]; do sleep 0.01; done
`
	for name, c := range map[string]struct {
		end  string
		want func(judge.Answer, error) bool
	}{
		"at the deadline":  {"sleep 600", func(_ judge.Answer, err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"it stops itself":  {"kill -STOP $$; sleep 600", func(_ judge.Answer, err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"after its answer": {"echo '" + right + "'", func(a judge.Answer, err error) bool { return err == nil && a.Text == right }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			script := fmt.Sprintf(children, pids) + c.end
			if strings.HasPrefix(name, "after") { // the child without a trace is found by its parent, which must live
				script = strings.Replace(script, "env -i PATH=\"$PATH\" setsid", "setsid", 1)
			}
			if err := os.WriteFile(pids, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			q := question()
			q.Deadline = 5 * time.Second
			a, err := client(t, cli(t, script)).Ask(t.Context(), q)
			if !c.want(a, err) {
				t.Errorf("got %+v, %v", a, err)
			}
			b, _ := os.ReadFile(pids)
			started := strings.Fields(string(b))
			if len(started) != 5 {
				t.Fatalf("only %v were started", started)
			}
			for _, pid := range started {
				if lives(pid) {
					t.Errorf("process %s was left", pid)
				}
			}
		})
	}
}

func lives(pid string) bool {
	n, _ := strconv.Atoi(pid)
	p, err := procfs.NewProc(n)
	if err != nil {
		return false
	}
	s, err := p.Stat()
	return err == nil && s.State != "Z"
}

func TestTheCallerMayGiveUpACommand(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-look.C {
			if _, err := os.Stat(started); err == nil {
				return
			}
		}
	}()
	_, err := client(t, cli(t, "touch "+started+"; exec sleep 600")).Ask(ctx, question())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
