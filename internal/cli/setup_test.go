package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/cli"
)

// setUp runs custos setup as on a terminal, where a person types what is given.
func setUp(t *testing.T, ctx context.Context, home string, typed io.Reader, args ...string) (code int, said string) {
	t.Helper()
	pass, err := filepath.Abs("../server/testdata/views/busy.txtar")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "SHELL": "/bin/zsh", "PASS": pass}
	getenv := func(name string) string { return env[name] }
	var out bytes.Buffer
	code = cli.Run(ctx, cli.Env{Args: append([]string{"setup"}, args...), Stdin: typed, Stdout: &out, Stderr: &out, Getenv: getenv, Width: 90, Progress: true, Daemon: fake(getenv)})
	return code, out.String()
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// A person answers, sees each change, and says yes; a slip is asked again, and the line in
// ~/.zshrc is put back byte for byte.
func TestSetupAsks(t *testing.T) {
	home := t.TempDir()
	rc := filepath.Join(home, ".zshrc")
	if err := os.WriteFile(rc, []byte("# mine, without an end of line"), 0o640); err != nil {
		t.Fatal(err)
	}
	code, said := setUp(t, t.Context(), home, strings.NewReader("7\n1 2\nperhaps\nask\ntelegram\n-100\n12:secret\nyes\nyes\nyes\nyes\n"))
	text, err := os.ReadFile(home + "/.config/custos/custos.toml")
	if code != 0 || err != nil {
		t.Fatalf("it ended with %d: %v\n%s", code, err, said)
	}
	for _, want := range []string{"PLACES", "want numbers from 1 to 2, or none", "want one of: observe, ask, auto", "+mode = \"ask\"", "Make these changes? (yes, no) [no]: ", "\nDONE\n", "custos setup --undo"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "secret\n") || strings.Contains(said, "12:secret") {
		t.Errorf("it shows the secret:\n%s", said)
	}
	for _, want := range []string{"mode = \"ask\"", "repos = [\"/home/me/src\"]", "\"/home/me/wt/one\"", "chat = \"-100\"", "token_file = \"~/.config/custos/me.token\""} {
		if !strings.Contains(string(text), want) {
			t.Errorf("custos.toml has not %s:\n%s", want, text)
		}
	}
	if b, err := os.ReadFile(home + "/.tmux.conf"); err != nil || !strings.Contains(string(b), "custos status --") {
		t.Errorf("tmux has %q, %v", b, err)
	}
	if b, err := os.ReadFile(home + "/.config/custos/me.token"); err != nil || string(b) != "12:secret\n" {
		t.Errorf("the token is %q, %v", b, err)
	}
	if info, err := os.Stat(home + "/.config/custos/me.token"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the token: %v", info.Mode())
	}
	if code, said := setUp(t, t.Context(), home, nil, "--undo"); code != 0 || !strings.Contains(said, "takes it up with: tmux unbind-key u") {
		t.Errorf("undo ended with %d: %s", code, said)
	}
	if b, err := os.ReadFile(rc); err != nil || string(b) != "# mine, without an end of line" || exists(home+"/.config") || exists(home+"/.tmux.conf") {
		t.Errorf("it is not as before: %q, %v", b, err)
	}
}

// A custos.toml that is there is replaced only when a person says so, its difference shown.
func TestSetupReplacesOnlyWhenTold(t *testing.T) {
	for answer, want := range map[string]string{"no": "# mine\n", "yes": "mode = \"ask\""} {
		home := t.TempDir()
		file := home + "/.config/custos/custos.toml"
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("# mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, said := setUp(t, t.Context(), home, strings.NewReader("none\nask\n\n\n\n\n"+answer+"\nyes\n"))
		b, err := os.ReadFile(file)
		if code != 0 || err != nil || !strings.Contains(string(b), want) || !strings.Contains(said, "-# mine") || strings.Contains(said, "holds\n") != (answer == "no") {
			t.Errorf("%s ended with %d: %v\n%s\n%s", answer, code, err, b, said)
		}
	}
}

// Nothing is changed by who does not answer, does not say yes, or presses Ctrl-C.
func TestSetupChangesNothingWithoutAYes(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	pipe, typed := io.Pipe()
	defer typed.Close()
	go func() {
		_, _ = io.WriteString(typed, "none\n")
		_, _ = io.WriteString(typed, "ask\n") // taken when the question after it is asked
		cancel()
	}()
	for name, c := range map[string]struct {
		ctx   context.Context
		typed io.Reader
		code  int
		says  string
	}{
		"no answer": {t.Context(), strings.NewReader("none\n"), 2, "nothing was changed: a question was not answered"},
		"no yes":    {t.Context(), strings.NewReader("1\nask\n\n\n\n\nno\n"), 2, "nothing was changed: it takes a yes"},
		"no token":  {t.Context(), strings.NewReader("1\nask\nshoutrrr\n\n"), 2, "nothing was changed: shoutrrr needs that"},
		"Ctrl-C":    {interrupted, pipe, 3, "interrupted"},
	} {
		home := t.TempDir()
		code, said := setUp(t, c.ctx, home, c.typed)
		if left, _ := os.ReadDir(home); code != c.code || !strings.Contains(said, c.says) || len(left) > 0 {
			t.Errorf("%s ended with %d, and left %v:\n%s", name, code, left, said)
		}
	}
}
