package agent

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// A command line is of the kind that its program, or the script it runs, is known
// by, one of custos.toml too; any other is generic.
func TestOf(t *testing.T) {
	set, err := Parse(Source{"custos.toml", []byte("[kind.mine]\nnames = [\"my-agent\"]\nscripts = [\"*/mine-cli/index.js\"]\n[kind.goose]\ndisabled = true\n")})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"claude --model opus":              "claude",
		"/opt/bin/codex":                   "codex",
		"my-agent":                         "mine",
		"/home/me/my-agent -v":             "mine",
		"node /usr/lib/mine-cli/index.js":  "mine",
		"python3 -m aider":                 "aider",
		"./my-wrapper.sh":                  Generic,
		"sleep 60":                         Generic,
		"goose":                            Generic, // disabled
		"bash -c 'while :; do date; done'": Generic,
	} {
		if got := set.Of(strings.Fields(line)); got != want {
			t.Errorf("%q is of kind %s, want %s", line, got, want)
		}
	}
}

// Any command is started as it was written, with a terminal and without, and is
// told nothing that it may not understand.
func TestLaunchGeneric(t *testing.T) {
	k := kindOf(t, Generic)
	for _, headless := range []bool{false, true} {
		c, err := Launch(k, LaunchOptions{Headless: headless, Program: "./run.sh", Extra: []string{"--all"}, Session: "s"})
		if err != nil || !slices.Equal(c.Argv, []string{"./run.sh", "--all"}) || c.Typed != "" || c.Stdin != "" || c.Session != "" {
			t.Errorf("headless %v: %+v, %v", headless, c, err)
		}
	}
	for name, o := range map[string]LaunchOptions{"write it behind --": {}, "takes a prompt": {Program: "x", Prompt: "hello"}} {
		if _, err := Launch(k, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want %q", o, err, name)
		}
	}
	if v := State(Signals{Kind: k, Title: fleet.Known("✳ waiting for input"), Screen: fleet.Known("$ "), Age: fleet.Known(fleet.Duration(1e12))}); v.State != fleet.StateUnknown {
		t.Errorf("something is guessed: %+v", v)
	}
}
