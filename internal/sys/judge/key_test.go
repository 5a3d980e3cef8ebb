package judge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/sys/judge"
	"custos/internal/sys/judge/judgetest"
)

// hides fails when an error shows eight characters in a row of the key.
func hides(t testing.TB, err error) {
	t.Helper()
	for i := 0; err != nil && i+8 <= len(judgetest.Key); i++ {
		for _, s := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if strings.Contains(s, judgetest.Key[i:i+8]) {
				t.Errorf("the error shows the key: %s", s)
				return
			}
		}
	}
}

func write(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestKeysFromEachPlace(t *testing.T) {
	t.Setenv("JUDGE_TEST_KEY", judgetest.Key)
	for name, key := range map[string]judge.Key{
		"file":     {File: write(t, "key", "  "+judgetest.Key+"\n\n", 0o600)},
		"command":  {Command: []string{"cat", write(t, "key", judgetest.Key+"\n", 0o600)}},
		"variable": {Env: "JUDGE_TEST_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, api string) {
				s := judgetest.Start(t, judgetest.Says(right))
				set := settings(t, api, s)
				set.Key = key
				if _, err := client(t, set).Ask(t.Context(), question()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestKeysThatCannotBeRead holds that no question is asked without its key, and
// that the error shows nothing of what was there instead.
func TestKeysThatCannotBeRead(t *testing.T) {
	t.Setenv("JUDGE_TEST_KEY", judgetest.Key+"\n"+judgetest.Key)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]judge.Key{
		"no file":         {File: filepath.Join(t.TempDir(), "none")},
		"a folder":        {File: t.TempDir()},
		"a pipe":          {File: fifo},
		"an empty file":   {File: write(t, "key", "\n", 0o600)},
		"a long file":     {File: write(t, "key", strings.Repeat(judgetest.Key, 1000), 0o600)},
		"two keys":        {File: write(t, "key", judgetest.Key+" "+judgetest.Key, 0o600)},
		"a control":       {File: write(t, "key", judgetest.Key+"\x1b", 0o600)},
		"no program":      {Command: []string{"/nonexistent/judge-key"}},
		"it fails":        {Command: []string{"sh", "-c", "cat " + write(t, "key", judgetest.Key, 0o600) + " >&2; exit 3"}},
		"it prints much":  {Command: []string{"yes", judgetest.Key}},
		"no variable":     {Env: "JUDGE_TEST_NO_KEY"},
		"a wild variable": {Env: "JUDGE_TEST_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			s := judgetest.Start(t, judgetest.Says(right))
			set := settings(t, "anthropic", s)
			set.Key = key
			_, err := client(t, set).Ask(t.Context(), question())
			if err == nil || s.Calls() != 0 {
				t.Errorf("got %v by %d calls", err, s.Calls())
			}
			hides(t, err)
		})
	}
}

func TestAServerThatRepeatsTheKey(t *testing.T) {
	for _, status := range []int{400, 401, 500} {
		each(t, func(t *testing.T, api string) {
			s := judgetest.Start(t, judgetest.Echo(status))
			_, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
			if err == nil || !strings.Contains(err.Error(), "incorrect key: ") || !strings.Contains(err.Error(), "***") {
				t.Errorf("got %v", err)
			}
			hides(t, err)
		})
	}
	each(t, func(t *testing.T, api string) {
		s := judgetest.Start(t, judgetest.Says(judgetest.Key))
		a, err := client(t, settings(t, api, s)).Ask(t.Context(), question())
		if err != nil || strings.Contains(a.Text, judgetest.Key[3:]) {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestAServerThatIsNotThere(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		set := settings(t, api, &judgetest.Server{URL: "http://127.0.0.1:1"})
		a, err := client(t, set).Ask(t.Context(), question())
		if err == nil || !strings.Contains(err.Error(), "refused") || a.Calls != 1 {
			t.Errorf("got %+v, %v", a, err)
		}
		hides(t, err)
	})
}

func TestSettings(t *testing.T) {
	secret := judgetest.Key
	for name, c := range map[string]struct {
		set  judge.Settings
		want string // part of the error; "" is none
	}{
		"an unknown kind":     {judge.Settings{Kind: "oracle"}, `kind "oracle" is none of`},
		"no model":            {judge.Settings{Kind: "anthropic"}, "needs a model"},
		"the provider":        {judge.Settings{Kind: "anthropic", Model: "m"}, ""},
		"the other provider":  {judge.Settings{Kind: "openai", Model: "m"}, ""},
		"a host":              {judge.Settings{Kind: "openai", Model: "m", BaseURL: "judge.example:8443/api"}, ""},
		"no host":             {judge.Settings{Kind: "openai", Model: "m", BaseURL: "http://"}, "is no URL"},
		"no URL":              {judge.Settings{Kind: "openai", Model: "m", BaseURL: "http://" + secret + ":x y/"}, "is no URL"},
		"a file":              {judge.Settings{Kind: "openai", Model: "m", BaseURL: "file:///etc/passwd"}, "is no URL"},
		"another protocol":    {judge.Settings{Kind: "openai", Model: "m", BaseURL: "ftp://judge.example"}, "only http and https"},
		"a key in the URL":    {judge.Settings{Kind: "openai", Model: "m", BaseURL: "https://me:" + secret + "@judge.example"}, "belongs into key"},
		"a key in the query":  {judge.Settings{Kind: "openai", Model: "m", BaseURL: "https://judge.example/?key=" + secret}, "belongs into key"},
		"two keys":            {judge.Settings{Kind: "openai", Model: "m", Key: judge.Key{File: "/x", Env: "X"}}, "more than one"},
		"a key for a name":    {judge.Settings{Kind: "openai", Model: "m", Key: judge.Key{Env: secret}}, "not the name of a variable"},
		"an empty program":    {judge.Settings{Kind: "openai", Model: "m", Key: judge.Key{Command: []string{""}}}, "no program"},
		"a command too many":  {judge.Settings{Kind: "openai", Model: "m", Command: []string{"x"}}, "has no command"},
		"no command":          {judge.Settings{Kind: "command"}, "needs a command"},
		"a command":           {judge.Settings{Kind: "command", Command: []string{"x"}}, ""},
		"a command's address": {judge.Settings{Kind: "command", Command: []string{"x"}, BaseURL: "http://x"}, "no base_url"},
		"a command's key":     {judge.Settings{Kind: "command", Command: []string{"x"}, Key: judge.Key{File: "/x"}}, "no key"},
		"an unknown output":   {judge.Settings{Kind: "command", Command: []string{"x"}, Output: "xml"}, `output "xml" is none of`},
		"a value for a name":  {judge.Settings{Kind: "command", Command: []string{"x"}, Environment: []string{"KEY=" + secret}}, "not the name of a variable"},
		"an agent's marker":   {judge.Settings{Kind: "command", Command: []string{"x"}, Environment: []string{"CUSTOS_AGENT"}}, "for agents of Custos"},
		"half a price":        {judge.Settings{InputPrice: price(1)}, "need each other"},
		"a negative price":    {judge.Settings{InputPrice: price(1), OutputPrice: price(-1)}, "a price is from 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := judge.New(c.set)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			hides(t, err)
		})
	}
}
