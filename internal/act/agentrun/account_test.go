package agentrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
)

// accounts makes a launcher that knows two folders of one kind, and an account without any.
func accounts(t *testing.T) (l *Launcher, top string) {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	top = t.TempDir()
	var all fleet.Accounts
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			t.Fatal(err)
		}
		all = append(all, fleet.Account{Name: name, Kind: "claude", ConfigDir: fleet.Path(filepath.Join(top, name))})
	}
	all = append(all, fleet.Account{Name: "plain", Kind: "claude"}, fleet.Account{Name: "other", Kind: "codex", ConfigDir: fleet.Path(filepath.Join(top, "a"))})
	l, err = NewLauncher(LauncherOptions{Accounts: all, Environ: func() []string { return []string{"HOME=/home/x"} }, World: World{Kinds: kinds, Shims: top + "/shims", Boot: "boot",
		Providers: map[fleet.Where]session.Provider{fleet.WhereHeadless: struct{ session.Provider }{}}, Now: func() fleet.Instant { return fleet.Instant{} }}})
	if err != nil {
		t.Fatal(err)
	}
	return l, top
}

// givenDir is the folder that the environment of a start names.
func givenDir(b Begin) string {
	for _, kv := range b.Launch.Env {
		if dir, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok {
			return dir
		}
	}
	return ""
}

// An agent is started with the folder of its account; a conversation goes on where it is
// kept, whatever its account is by then.
func TestAnAgentIsGivenTheFolderOfItsAccount(t *testing.T) {
	l, top := accounts(t)
	begun := fleet.Registration{Instance: "i1", ConfigDir: fleet.Path(top + "/a")}
	for name, c := range map[string]struct {
		reg     fleet.Registration
		account string
		how     How
		want    string
	}{
		"a new one":                            {account: "a", how: How{Prompt: "x"}, want: top + "/a"},
		"another":                              {account: "b", how: How{Prompt: "x"}, want: top + "/b"},
		"without a folder":                     {account: "plain", how: How{Prompt: "x"}},
		"without an account":                   {how: How{Prompt: "x"}},
		"resumed":                              {reg: begun, account: "a", how: How{Prompt: "x", Resume: "c1"}, want: top + "/a"},
		"resumed, of another account by now":   {reg: begun, account: "b", how: How{Prompt: "x", Resume: "c1"}, want: top + "/a"},
		"resumed, its account is gone":         {reg: begun, account: "gone", how: How{Prompt: "x", Resume: "c1"}, want: top + "/a"},
		"resumed, of before it had an account": {reg: fleet.Registration{Instance: "i1"}, account: "b", how: How{Prompt: "x", Resume: "c1"}},
		"begun afresh, of another account":     {reg: begun, account: "b", how: How{Prompt: "x"}, want: top + "/b"},
	} {
		c.reg.Name, c.reg.Kind, c.reg.Where, c.reg.Account = "n", "claude", fleet.WhereHeadless, c.account
		b, err := l.Plan(c.reg, "i2", "/", c.how)
		if err != nil || givenDir(b) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, givenDir(b), err, c.want)
		}
		if got := fleet.RawPath(Learned(c.reg, b, session.Launched{}, fleet.Instant{}).ConfigDir); got != c.want {
			t.Errorf("%s: its record says %q afterwards", name, got)
		}
	}
}

func TestAnAccountThatCannotBeUsed(t *testing.T) {
	l, top := accounts(t)
	for name, c := range map[string]struct {
		spoil func() error
		reg   fleet.Registration
		says  string
		never bool
	}{
		"unknown":       {reg: fleet.Registration{Account: "c"}, says: "there is no [account.c] in custos.toml; there are a, b, plain, other", never: true},
		"of another":    {reg: fleet.Registration{Account: "other"}, says: "account other is one of codex, and this is claude", never: true},
		"said twice":    {reg: fleet.Registration{Account: "a", Set: []string{"CLAUDE_CONFIG_DIR=/x"}}, says: "want one of them", never: true},
		"not there":     {spoil: func() error { return os.Remove(top + "/a") }, reg: fleet.Registration{Account: "a"}, says: "/a of account a is not there: make it, and log in by CLAUDE_CONFIG_DIR="},
		"a file":        {spoil: func() error { return os.WriteFile(top+"/a", nil, 0o600) }, reg: fleet.Registration{Account: "a"}, says: "is no folder"},
		"open to all":   {spoil: func() error { return os.Mkdir(top+"/a", 0o755) }, reg: fleet.Registration{Account: "a"}, says: "is open to other users, and it holds a login: chmod 700"},
		"a link to one": {spoil: func() error { return errors.Join(os.Mkdir(top+"/open", 0o750), os.Symlink(top+"/open", top+"/a")) }, reg: fleet.Registration{Account: "a"}, says: "is open to other users"},
		"a closed link": {spoil: func() error { return os.Symlink(top+"/b", top+"/a") }, reg: fleet.Registration{Account: "a"}},
	} {
		if c.spoil != nil {
			if err := errors.Join(os.RemoveAll(top+"/a"), os.MkdirAll(top, 0o700)); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(); err != nil && name != "not there" {
				t.Fatal(err)
			}
		}
		c.reg.Name, c.reg.Kind, c.reg.Where = "n", "claude", fleet.WhereHeadless
		b, err := l.Plan(c.reg, "i", "/", How{Prompt: "x"})
		if c.says == "" {
			if err != nil || !slices.Contains(b.Launch.Env, "CLAUDE_CONFIG_DIR="+top+"/a") {
				t.Errorf("%s: %v, %v", name, b.Launch.Env, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, act.ErrRefused) || errors.Is(err, act.ErrLasting) != c.never {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}
