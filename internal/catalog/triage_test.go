package catalog

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/act/triage"
	"custos/internal/config"
	"custos/internal/fleet"
)

func judged(t *testing.T, text string) *World {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "custos.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string { return map[string]string{"HOME": home, "TMUX_TMPDIR": home}[key] }
	sections := Sections()
	if !slices.Contains(sections, "triage") {
		sections = append(sections, "triage")
	}
	cfg, err := config.Load(config.Options{File: file, Getenv: getenv, Sections: sections})
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorld(cfg, getenv, io.Discard, "test")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// One section says what may be spent, and who is asked.
func TestTriageIsConfigured(t *testing.T) {
	w := judged(t, "")
	p, err := Triage(w.Config)
	if err != nil || p != fleet.DefaultTriagePolicy() {
		t.Errorf("without a file: %+v, %v", p, err)
	}
	x, err := newTriage(w, Judgements{})
	if err != nil || x.Ability().Cannot != "no judge is configured" || x.Ability().Do != triage.Do {
		t.Errorf("without a judge: %+v, %v", x, err)
	}
	w = judged(t, `[triage]
per_hour = 2
money_per_day = 0.5
[triage.judge]
kind = "openai"
model = "m"
base_url = "http://localhost:1234/v1"
key.file = "~/key"
input_price = 1
output_price = 2.5
`)
	if p, err = Triage(w.Config); err != nil || p.PerHour != 2 || p.MoneyPerDay != 500_000 || p.PerDay != 30 {
		t.Errorf("the policy: %+v, %v", p, err)
	}
	if x, err = newTriage(w, Judgements{}); err != nil || x.Ability().Cannot == "" {
		t.Errorf("without a ledger: %+v, %v", x, err)
	}
	past := func(context.Context) (fleet.Past, error) { return fleet.Past{}, nil }
	if x, err = newTriage(w, Judgements{Past: past}); err != nil || x.Ability().Cannot != "" {
		t.Errorf("the action: %+v, %v", x, err)
	}
	if o, err := triageOptions(w.Config); err != nil || o.Judge.Key.File != filepath.Join(w.Config.Home, "key") {
		t.Errorf("the key is in %q, %v", o.Judge.Key.File, err)
	}
}

// What is wrong in the section is said with its place, or at least its key.
func TestTriageMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"[triage]\nper_huor = 3\n":                                                   `custos.toml:2: unknown key "per_huor" in [triage], did you mean "per_hour"`,
		"[triage]\n[triage.judge]\nkind = \"none\"\nmodle = \"x\"\n":                 `custos.toml:4: unknown key "modle" in [triage.judge], did you mean "model"`,
		"[triage]\nper_hour = \"many\"\n":                                            "custos.toml:2: ",
		"[triage]\nconfidence = 2.0\n":                                               "[triage] confidence: 2 is not between 0 and 1",
		"[triage]\nexpiry = \"never\"\n":                                             "expiry",
		"[triage.judge]\nkind = \"oracle\"\n":                                        "oracle",
		"[triage.judge]\nkind = \"anthropic\"\nmodel = \"m\"\nkey.file = \"here\"\n": "is relative",
	} {
		w := judged(t, text)
		_, err := Triage(w.Config)
		if err == nil {
			_, err = newTriage(w, Judgements{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// The ledger is asked for this alert, and for this evidence, the newest first.
func TestJudgements(t *testing.T) {
	a, b := fleet.AlertKey{Rule: "a"}, fleet.AlertKey{Rule: "b"}
	j := Judgements{Past: func(context.Context) (fleet.Past, error) {
		return fleet.Past{
			Actions:  []fleet.ActionRecord{{Action: fleet.Action{ID: "1", For: a}}, {Action: fleet.Action{ID: "2", For: b}}},
			Verdicts: []fleet.Verdict{{ID: "3", Alert: a, Evidence: "x"}, {ID: "4", Alert: b, Evidence: "x"}},
		}, nil
	}}
	done, said, err := j.History(t.Context(), b)
	if err != nil || len(done) != 1 || done[0].ID != "2" || len(said) != 1 || said[0].ID != "4" {
		t.Errorf("got %+v, %+v, %v", done, said, err)
	}
	if v, known, err := j.Known(t.Context(), "x"); err != nil || !known || v.ID != "4" {
		t.Errorf("got %+v, %v, %v", v, known, err)
	}
	if _, known, err := j.Known(t.Context(), "y"); err != nil || known {
		t.Errorf("got %v, %v", known, err)
	}
}
