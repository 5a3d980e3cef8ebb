package catalog

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/session"
)

func TestAccounts(t *testing.T) {
	w, err := world(t, `
[account.work]
kind = "claude"
config_dir = "~/.claude-work"
plan = "max"
[account.own]
kind = "claude"
[account.research]
kind = "codex"
config_dir = "/srv/codex"
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Accounts(w.Config, w.Kinds)
	want := fleet.Accounts{{Name: "own", Kind: "claude"}, {Name: "research", Kind: "codex", ConfigDir: "/srv/codex"},
		{Name: "work", Kind: "claude", ConfigDir: fleet.Path(w.Config.Home + "/.claude-work"), Plan: "max"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAccountsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"[account.a]":                                            "kind: want the agent CLI",
		"[account.a]\nkind = \"clude\"":                          `there is no kind "clude"; there are `,
		"[account.\"a b\"]\nkind=\"codex\"":                      "its name may have",
		"[account.a]\nkind = \"codex\"\nconfig_dir = \"codex\"":  `"codex" is relative`,
		"[account.a]\nkind = \"aider\"\nconfig_dir = \"/srv/a\"": "by which variable aider is told of its folder",
		"[account.a]\nkind = \"codex\"\nconfig_dir = \"/srv/a\"\n[account.b]\nkind = \"codex\"\nconfig_dir = \"/srv/./a/\"":  "/srv/a is the folder of account a, too",
		"[account.a]\nkind = \"codex\"\nconfig-dir = \"/srv/a\"":                                                             `unknown key "config-dir"`,
		"[pool.p]\nhosts=\"one\"\non_return=\"ask\"\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":                             "on_return needs lost_after",
		"[pool.p]\nhosts=\"one\"\nlost_after=\"1h\"\non_return=\"kill\"\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":         `on_return: "kill" is none of keep, stop_new, ask`,
		"[pool.p]\nhosts=\"some\"\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":                                               `"some" is none of each and one`,
		"[account.a]\nkind=\"codex\"\n[pool.p]\naccount=\"b\"\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":                   "there is no [account.b]",
		"[account.a]\nkind=\"codex\"\n[pool.p]\naccount=\"a\"\nkind=\"claude\"\nprompt=\"x\"\ndir=\"/srv\"":                  "a is an account of codex, and this is claude",
		"[account.a]\nkind=\"codex\"\n[pool.p]\naccounts=[\"a\",\"b\"]\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":          "there is no [account.b]",
		"[account.a]\nkind=\"codex\"\n[pool.p]\naccounts=[\"a\",\"a\"]\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":          "is named twice",
		"[account.a]\nkind=\"codex\"\n[pool.p]\naccounts=[\"a\"]\naccount=\"a\"\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"": "want one of the two",
		"[pool.p]\naccounts=[\"a\"]\nkind=\"codex\"\nprompt=\"x\"\ndir=\"/srv\"":                                             "has no section",
	} {
		w, err := world(t, text+"\n")
		if err == nil {
			_, err = Accounts(w.Config, w.Kinds)
		}
		if err == nil {
			_, err = Pools(w.Config, w.Kinds)
		}
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "custos.toml:") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// Two folders that are one past a link are one, and so is a folder that two kinds have two.
func TestTwoAccountsOfOneFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	text := "[account.a]\nkind = \"codex\"\nconfig_dir = \"" + dir + "\"\n[account.b]\nconfig_dir = \"" + dir + "/link\"\nkind = "
	for kind, says := range map[string]string{"codex": "is the folder of account a, too", "claude": ""} {
		w, err := world(t, text+"\""+kind+"\"\n")
		if err == nil {
			_, err = Accounts(w.Config, w.Kinds)
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", kind, err, says)
		}
	}
}

// The folder that a CLI uses by itself is one login, too.
func TestTwoAccountsOfTheUsualFolder(t *testing.T) {
	for text, says := range map[string]string{
		"[account.a]\nkind = \"claude\"\n[account.b]\nkind = \"claude\"\n":                             "is the folder of account a, too",
		"[account.a]\nkind = \"claude\"\n[account.b]\nkind = \"claude\"\nconfig_dir = \"~/.claude\"\n": "is the folder of account a, too",
		"[account.a]\nkind = \"claude\"\n[account.b]\nkind = \"codex\"\n":                              "",
	} {
		w, err := world(t, text)
		if err == nil {
			_, err = Accounts(w.Config, w.Kinds)
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// Conversations are read in the folders of accounts, too.
func TestConversationsOfAccountsAreRead(t *testing.T) {
	w, err := world(t, "[account.work]\nkind = \"claude\"\nconfig_dir = \"/srv/work\"\n[account.own]\nkind = \"claude\"\n[account.data]\nkind = \"opencode\"\nconfig_dir = \"/srv/data\"\n[transcripts]\nroots = { claude = [\"/srv/more\"] }\n")
	if err != nil {
		t.Fatal(err)
	}
	o, err := w.transcripts()
	if want := []string{"/srv/more", "/srv/work"}; err != nil || !slices.Equal(o.Roots["claude"], want) {
		t.Errorf("%v, %v; want %v", o.Roots, err, want)
	}
	if want := []string{"/srv/data/opencode"}; !slices.Equal(o.Roots["opencode"], want) {
		t.Errorf("%v; want %v: its variable names the folder of many programs", o.Roots["opencode"], want)
	}
}

// The page of accounts is followed to the letter: its files of configuration are read, its folder
// is made as it says, and an agent is started with that.
func TestThePageOfAccounts(t *testing.T) {
	page, err := os.ReadFile("../../docs/accounts.md")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, block := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text += block[1] + "\n"
	}
	w, err := world(t, text+"kind = \"claude\"\nprompt = \"x\"\ndir = \"/srv\"\n") // the page's last section is of a pool, and shows what is about accounts
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := Accounts(w.Config, w.Kinds)
	if err != nil || len(accounts) != 2 {
		t.Fatalf("%+v, %v", accounts, err)
	}
	if pools, err := Pools(w.Config, w.Kinds); err != nil || len(pools) != 1 || !slices.Equal(pools[0].Accounts, []string{"work", "own"}) {
		t.Errorf("%+v, %v", pools, err)
	}
	l, err := agentrun.NewLauncher(agentrun.LauncherOptions{Accounts: accounts, Environ: func() []string { return nil }, World: agentrun.World{Kinds: w.Kinds, Shims: w.Config.Home + "/shims", Boot: "b", Now: w.Now,
		Providers: map[fleet.Where]session.Provider{fleet.WhereTmux: struct{ session.Provider }{}}}})
	if err != nil {
		t.Fatal(err)
	}
	start := func(account string) (agentrun.Begin, error) {
		return l.Plan(fleet.Registration{Name: "a", Kind: "claude", Where: fleet.WhereTmux, Account: account}, "i", "/", agentrun.How{})
	}
	if _, err := start("work"); err == nil || !strings.Contains(err.Error(), "is not there: make it") {
		t.Errorf("before its folder is made: %v", err)
	}
	made := regexp.MustCompile(`(?m)^    (mkdir .*)$`).FindStringSubmatch(string(page))
	if made == nil {
		t.Fatal("the page does not say how the folder is made")
	}
	sh := exec.Command("sh", "-c", made[1])
	sh.Env = []string{"HOME=" + w.Config.Home, "PATH=" + os.Getenv("PATH")}
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", made[1], err, out)
	}
	b, err := start("work")
	if want := "CLAUDE_CONFIG_DIR=" + w.Config.Home + "/.claude-work"; err != nil || !slices.Contains(b.Launch.Env, want) {
		t.Errorf("%v, %v; want %s", b.Launch.Env, err, want)
	}
	b, err = start("own")
	if err != nil || slices.ContainsFunc(b.Launch.Env, func(kv string) bool { return strings.HasPrefix(kv, "CLAUDE_CONFIG_DIR") }) {
		t.Errorf("%v, %v; want the CLI's own folder", b.Launch.Env, err)
	}
}
