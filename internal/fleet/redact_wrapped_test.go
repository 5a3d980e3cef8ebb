package fleet_test

import (
	"strings"
	"testing"

	"custos/internal/fleet"

	"pgregory.net/rapid"
)

// innocent are words that no expression takes for a part of a secret.
var innocent = []string{"plain", "words", "here", "made", "3", "files", "ok", "go", "x", "Passed,"}

func someWords(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(innocent), 1, 4).Draw(t, name), " ")
}

// whole are secrets as somebody prints them, each with what is shown of it.
var whole = []struct{ says, secret, shown string }{
	{"ghp_AbCdEf0123456789AbCdEf0123456789AbCd", "ghp_AbCdEf0123456789AbCdEf0123456789AbCd", "***"},
	{"the key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123", "the key is ***"},
	{"FORGE_TOKEN=0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef", "FORGE_TOKEN=***"},
	{"AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", "***"},
}

// Of a secret that ends where a line ends the secret alone is hidden, and not what stands in
// the line below it.
func TestALineBelowASecretIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(whole).Draw(t, "secret")
		before := rapid.SampledFrom([]string{"", "$ echo ", "  "}).Draw(t, "before")
		below := someWords(t, "below")
		lines := []string{before + s.says, below, someWords(t, "last")}
		got := fleet.Redact(strings.Join(fleet.RedactWrapped(lines, fleet.Redact), "\n"))
		want := before + s.shown + "\n" + lines[1] + "\n" + lines[2]
		if got != want {
			t.Fatalf("%q is %q, want %q", lines, got, want)
		}
	})
}

// Of a secret that the edge of a terminal breaks nothing is shown, in however many lines it
// comes, and of the others each is.
func TestABrokenSecretIsHiddenAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(whole).Draw(t, "secret")
		wide := rapid.IntRange(32, 60).Draw(t, "wide")
		text := strings.Repeat("w", rapid.IntRange(0, wide-1).Draw(t, "at")) + " " + s.says
		lines := []string{strings.Repeat("v", wide)}
		for len(text) > wide {
			lines, text = append(lines, text[:wide]), text[wide:]
		}
		lines = append(lines, text, someWords(t, "below"), "last words")
		got := strings.Split(fleet.Redact(strings.Join(fleet.RedactWrapped(lines, fleet.Redact), "\n")), "\n")
		if all := strings.Join(got, ""); strings.Contains(all, s.secret[12:20]) || strings.Contains(all, s.secret[len(s.secret)-8:]) {
			t.Fatalf("%q is shown as %q", lines, got)
		}
		if got[0] != lines[0] || got[len(got)-1] != "last words" {
			t.Fatalf("of %q too much is hidden: %q", lines, got)
		}
	})
}
