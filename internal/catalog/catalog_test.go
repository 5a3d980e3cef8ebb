package catalog

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/rules"
)

func world(t *testing.T, text string) (*World, error) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "custos.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string {
		return map[string]string{"HOME": home, "TMUX_TMPDIR": home}[key]
	}
	cfg, err := config.Load(config.Options{File: file, Getenv: getenv, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	return NewWorld(cfg, getenv, io.Discard, "test")
}

// TestEverythingIsMade makes every plug-in with its defaults.
func TestEverythingIsMade(t *testing.T) {
	w, err := world(t, "")
	if err != nil {
		t.Fatal(err)
	}
	w.StoreFile = filepath.Join(t.TempDir(), "custos.db")
	w.Runs = func(context.Context) ([]fleet.Run, error) { return nil, nil }
	probes, err := Probes(w)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range probes {
		if s := p.Spec(); names[s.Name] || s.Name == "" {
			t.Errorf("probe %q is there twice, or has no name", s.Name)
		}
		names[p.Spec().Name] = true
	}
	actions, err := Actions(w)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range actions {
		if a.Ability().Do != ActionNames()[i] {
			t.Errorf("action %s is listed as %s", a.Ability().Do, ActionNames()[i])
		}
	}
}

// TestRulesAskForActionsThereAre: a rule that asks for what nobody can do would
// be refused at every pass, for ever.
func TestRulesAskForActionsThereAre(t *testing.T) {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range set.Rules() {
		for _, a := range r.Actions {
			if !slices.Contains(ActionNames(), a.Do) {
				t.Errorf("rule %s asks for %s, which is not in the catalog", r.Name, a.Do)
			}
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for section, text := range map[string]string{
		"stop_tree":  "watch = \"soon\"",
		"rotate_log": "keep = \"much\"",
		"host":       "every = \"never\"",
		"limits":     "spawn_memory = \"lots\"",
		"probe.x":    "run = []",
		"tmux":       "deadline = \"x\"",
	} {
		w, err := world(t, "["+section+"]\n"+text+"\n")
		if err == nil {
			_, err = Probes(w)
		}
		if err == nil {
			_, err = Actions(w)
		}
		if err == nil {
			_, err = Limits(w.Config)
		}
		if err == nil {
			t.Errorf("[%s] %s was taken", section, text)
		}
	}
}

// TestLimitsHaveKnobs: every limit can be set, and what is set is what holds.
func TestLimitsHaveKnobs(t *testing.T) {
	w, err := world(t, "")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Limits(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[limits]()
	for i := range fields.NumField() {
		key := fields.Field(i).Tag.Get("toml")
		value := `"7s"`
		switch {
		case strings.HasPrefix(key, "max_"):
			value = "7"
		case key == "after_reboot":
			value = `"auto"`
		case key == "spawn_memory":
			value = `"7MiB"`
		case key == "deaths" || key == "orders":
			value = `"7 in 7s"`
		}
		w, err := world(t, "[limits]\n"+key+" = "+value+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if set, err := Limits(w.Config); err != nil || reflect.DeepEqual(set, plain) {
			t.Errorf("[limits] %s = %s changed nothing, %v", key, value, err)
		}
	}
}
