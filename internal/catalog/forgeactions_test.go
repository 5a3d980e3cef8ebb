package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/forgewrite"
	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
)

const twoForges = `
[forge.shop]
kind = "forgejo"
url = "https://git.example.org"
repo = "acme/shop"
token_env = "TOKEN"
ready = ["todo", "backlog"]
blocked = []

[forge.theirs]
kind = "github"
repo = "acme/theirs"
token_env = "TOKEN"
watch_only = true
`

// What is only watched is not there to be written to; labels are the project's own.
func TestWritableProjects(t *testing.T) {
	w, err := world(t, twoForges)
	if err != nil {
		t.Fatal(err)
	}
	o, err := w.writable()
	if err != nil {
		t.Fatal(err)
	}
	shop, ok := o.Projects["shop"]
	if len(o.Projects) != 1 || !ok || shop.Writer == nil {
		t.Fatalf("%+v", o.Projects)
	}
	for word, want := range map[string][]string{"ready": {"todo", "backlog"}, "in-progress": {"in-progress"}, "blocked": {}} {
		if got := shop.Labels[word]; !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", word, got, want)
		}
	}
}

func TestForgeActionsSayWhyTheyCannot(t *testing.T) {
	for text, cannot := range map[string]bool{"": true, twoForges: false} {
		w, err := world(t, text)
		if err != nil {
			t.Fatal(err)
		}
		actions, err := Actions(w)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, a := range actions {
			if able := a.Ability(); slices.Contains([]string{forgewrite.Comment, forgewrite.Label, forgewrite.Assign}, able.Do) {
				n++
				if (able.Cannot != "") != cannot {
					t.Errorf("%s cannot: %q", able.Do, able.Cannot)
				}
			}
		}
		if n != 3 {
			t.Errorf("%d of the three actions are there", n)
		}
	}
}

// TestGiveBack: what the rules ask for, on a forge, by way of custos.toml: the
// actions look past what was stored of it.
func TestGiveBack(t *testing.T) {
	for _, kind := range []string{"forgejo", "github"} {
		s := forgetest.New(t, kind)
		repo := s.Repo("acme/shop")
		repo.Open(12, time.Hour, forgetest.Issue{Title: "x", Labels: []string{"in-progress"}, Assignees: []string{"dev-bot"}})
		token := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(token, []byte(s.Account("custos-bot")), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := world(t, fmt.Sprintf("[forge.shop]\nkind = %q\nurl = %q\nrepo = \"acme/shop\"\ntoken_file = %q\n", kind, s.URL, token))
		if err != nil {
			t.Fatal(err)
		}
		actions, err := Actions(w)
		if err != nil {
			t.Fatal(err)
		}
		issue := fleet.Issue{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Assignees: []string{"dev-bot"}, Agent: "dev"}
		for _, wish := range [][2]string{{forgewrite.Comment, "It goes back."}, {forgewrite.Assign, "-*"}, {forgewrite.Label, "-in-progress, +ready"}} {
			i := slices.IndexFunc(actions, func(a act.Action) bool { return a.Ability().Do == wish[0] })
			a := fleet.Action{Do: wish[0], Text: wish[1], Target: fleet.Target{Issue: &issue}, For: fleet.AlertKey{Rule: "orphaned-work"}}
			acttest.Do(t, actions[i], a)
			if _, err := actions[i].Prepare(t.Context(), a); !errors.Is(err, act.ErrUnneeded) {
				t.Errorf("%s: %s again: %v", kind, wish[0], err)
			}
			if wish[0] == forgewrite.Assign {
				issue.Assignees = nil
			}
		}
		if got := repo.Issues[12]; len(got.Comments) != 1 || len(got.Assignees) != 0 || !slices.Equal(got.Labels, []string{"backlog"}) {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}
