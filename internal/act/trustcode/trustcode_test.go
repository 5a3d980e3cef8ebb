package trustcode_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/trustcode"
	"custos/internal/fleet"
)

// book is folders of code in a file each: what they are like, and who trusts them.
type book struct{ dir string }

func (b *book) path() string { return filepath.Join(b.dir, "facts") }

func (b *book) Look() []fleet.CodeFacts {
	text, err := os.ReadFile(b.path())
	if err != nil {
		return nil
	}
	var c fleet.CodeFacts
	if json.Unmarshal(text, &c) != nil {
		return nil
	}
	return []fleet.CodeFacts{c}
}

func (b *book) put(t *testing.T, c fleet.CodeFacts) {
	t.Helper()
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(b.path(), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *book) Pin(_ context.Context, _, digest, by string) error {
	c := b.Look()[0]
	if c.Digest != digest || by == "" {
		return errors.New("it has changed")
	}
	c.Changes, c.Trusted = fleet.Known(""), 1
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(b.path(), text, 0o600)
}

func TestSuite(t *testing.T) {
	b := &book{}
	facts := fleet.CodeFacts{Dir: "/p/.custos", Digest: "d1", Commit: "c1", Changes: fleet.Known("+ a.toml")}
	acttest.Test(t, acttest.Case{
		Action: trustcode.New(trustcode.Options{Look: b.Look, Pin: b.Pin}),
		Setup: func(t *testing.T) fleet.Action {
			b.dir = t.TempDir()
			b.put(t, facts)
			return fleet.Action{ID: "a", Do: trustcode.Do, Approved: "anna", Target: fleet.Target{Code: &facts}}
		},
		Fingerprint: func(t *testing.T, _ fleet.Action) string { return acttest.Tree(t, b.path()) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"other files": func(t *testing.T, _ fleet.Action) { other := facts; other.Digest = "d2"; b.put(t, other) },
		},
		Gone: func(t *testing.T, _ fleet.Action) { c := facts; c.Changes = fleet.Known(""); b.put(t, c) },
	})
}

// Without a person's word for it nothing is trusted, whoever planned it.
func TestNobodyApproved(t *testing.T) {
	b := &book{dir: t.TempDir()}
	facts := fleet.CodeFacts{Dir: "/p/.custos", Digest: "d1", Changes: fleet.Known("+ a.toml")}
	b.put(t, facts)
	x := trustcode.New(trustcode.Options{Look: b.Look, Pin: b.Pin})
	if _, err := x.Prepare(t.Context(), fleet.Action{Do: trustcode.Do, Target: fleet.Target{Code: &facts}}); !errors.Is(err, act.ErrRefused) {
		t.Errorf("%v", err)
	}
}
