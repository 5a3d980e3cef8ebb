package catalog

import (
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	const good = "[credential.a]\nenv = \"FORGE_TOKEN\"\nroles = [\"x\", \"y\"]\ntoken_env = \"REVIEW_TOKEN\"\n"
	for text, says := range map[string]string{
		good: "",
		good + "[credential.b]\nenv = \"FORGE_TOKEN\"\nroles = [\"z\"]\ntoken_command = [\"pass\", \"x\"]\n": "",
		good + "[credential.b]\nenv = \"FORGE_TOKEN\"\nroles = [\"y\"]\ntoken_env = \"T\"\n":                 "custos.toml:6: [credential.b] env: agents of role y are given FORGE_TOKEN by [credential.a] already",
		good + "[launch]\npass_env = [\"REVIEW_TOKEN\"]\n":                                                   "pass_env: REVIEW_TOKEN is of [credential.a]",
		good + "[launch]\npass_env = [\"FORGE_TOKEN\"]\n":                                                    "pass_env: FORGE_TOKEN is of [credential.a], which agents of its roles alone are given",
		"[credential.a]\nroles = [\"x\"]\ntoken_env = \"T\"\n":                                               `env: want the variable that it is given as`,
		"[credential.a]\nenv = \"T\"\ntoken_env = \"T\"\n":                                                   "roles: want those whose agents are given it",
		"[credential.a]\nenv = \"A_TOKEN\"\nroles = [\"x\"]\n":                                               "token_file, token_command, token_env: want exactly one",
		"[credential.a]\nenv = \"PATH\"\nroles = [\"x\"]\ntoken_env = \"T\"\n":                               "custos.toml:2: [credential.a] env: want a name of a secret",
		"[credential.a]\nenv = \"T\"\nrole = [\"x\"]\n":                                                      `unknown key "role"`,
	} {
		w, err := world(t, text)
		if err == nil {
			_, err = w.launcher()
		}
		if got := ""; err != nil {
			got = err.Error()
			if says == "" || !strings.Contains(got, says) {
				t.Errorf("%s\nsays %s, want %q", text, got, says)
			}
		} else if says != "" {
			t.Errorf("%s\nis taken, want %q", text, says)
		}
	}
}
