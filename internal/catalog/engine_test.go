package catalog

import (
	"strings"
	"testing"

	"custos/internal/act/dockerprune"
	"custos/internal/act/restartcontainer"
	"custos/internal/fleet"
)

// [containers] is read by the probe and by both actions.
func TestContainers(t *testing.T) {
	abilities := func(text string) (p fleet.PartName, cannot map[string]string) {
		t.Helper()
		w, err := world(t, text)
		if err != nil {
			t.Fatal(err)
		}
		probe, err := newContainers(w)
		if err != nil {
			t.Fatal(err)
		}
		cannot = map[string]string{}
		for _, m := range engineMakers() {
			a, err := m.make(w)
			if err != nil {
				t.Fatal(err)
			}
			cannot[m.do] = a.Ability().Cannot
		}
		return probe.Spec().Part, cannot
	}
	for _, c := range []struct{ text, restart, prune string }{
		{"", "", "prune = true"},
		{"[containers]\nsocket = \"/run/e.sock\"\nprune = true\n", "", ""},
		{"[containers]\nsocket = \"none\"\n", `socket = "none"`, `socket = "none"`},
	} {
		part, cannot := abilities(c.text)
		if part != fleet.PartEngine || !is(cannot[restartcontainer.Do], c.restart) || !is(cannot[dockerprune.Do], c.prune) {
			t.Errorf("%q fills %s, and cannot %q", c.text, part, cannot)
		}
	}
}

// A mistake is named with its file, its line and its key.
func TestContainersAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"\nsocket = \"tcp://10.0.0.1:2375\"":    ".toml:2: [containers] socket: ",
		"\nours = [\"[a\"]":                     `.toml:2: [containers] ours: "[a" is no pattern`,
		"\nevery = \"1m\"\nwanted = [\"a-*\"]":  `.toml:3: [containers] wanted: "a-*" is no name`,
		"\nwanted = [\"a\"]\nsocket = \"none\"": ".toml:3: [containers] socket: ",
		"\nevery = \"often\"":                   ".toml:2: [containers] every: ",
	} {
		w, err := world(t, "[containers]"+text+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newContainers(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func is(got, want string) bool {
	return strings.Contains(got, want) && (want != "" || got == "")
}
