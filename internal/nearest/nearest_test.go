package nearest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWord(t *testing.T) {
	names := []string{"supervisor", "patrol", "nightly", "tidy", "tide", "ab", "ä-prüfung"}
	for in, want := range map[string]string{
		"suprvisor": "supervisor", "suprevisor": "supervisor", "patrols": "patrol", "ptarol": "patrol", "petrol": "patrol",
		"nihgtyl": "nightly", "tidi": "tide", "tid": "tide", "tdie": "tide", "mide": "tide", "midi": "", "ä-prufung": "ä-prüfung",
		"x": "", "zz": "", "": "", "something else": "", strings.Repeat("patrol", 20): "",
	} {
		if got := Word(in, names); got != want {
			t.Errorf("Word(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Hint("petrol", names); got != `, did you mean "patrol"?` {
		t.Errorf("Hint says %q", got)
	}
	if got := Hint("petrol", nil); got != "" {
		t.Errorf("Hint of nothing says %q", got)
	}
}

// Of few words that are told anyway, one number is no slip of another.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		written string
		all     []string
		want    string
	}{
		{"P5", []string{"P0", "P1", "P2", "P3", "P4", "never"}, ""},
		{"p1", []string{"P0", "P1", "P2"}, "P1"},
		{"P1x", []string{"P0", "P1", "P2"}, "P1"},
		{"v12", []string{"v1", "v2", "v13"}, ""},
		{"nevr", []string{"P0", "never"}, "never"},
		{"bse64", []string{"base64", "base32"}, "base64"},
	} {
		want := ""
		if c.want != "" {
			want = fmt.Sprintf(", did you mean %q?", c.want)
		}
		if got := Choice(c.written, c.all); got != want {
			t.Errorf("Choice(%q, %q) = %q, want %q", c.written, c.all, got, want)
		}
	}
	for written, want := range map[string]string{"a-b": "", "ak": "ask", "w22": "w2"} {
		if got := Word(written, []string{"ask", "auto", "w2"}); got != want {
			t.Errorf("Word(%q) = %q, want %q", written, got, want)
		}
	}
}

// Whatever is written: the guess is one of the words, does not hang on their
// order, and one slip in a word of four letters or more finds it where it stands alone.
func TestWordProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.String(), 0, 6).Draw(t, "words")
		written := rapid.String().Draw(t, "written")
		got := Word(written, words)
		if got != "" && !slices.Contains(words, got) {
			t.Fatalf("%q is none of %q", got, words)
		}
		if again := Word(written, rapid.Permutation(words).Draw(t, "turned")); again != got {
			t.Fatalf("%q, and in another order %q", got, again)
		}
		word := rapid.StringMatching(`[a-z]{4,20}`).Draw(t, "word")
		at := rapid.IntRange(0, len(word)-1).Draw(t, "at")
		for _, slip := range []string{word[:at] + word[at+1:], word[:at] + "X" + word[at:], word[:at] + "X" + word[at+1:]} {
			if got := Word(slip, []string{word}); got != word {
				t.Fatalf("%q of %q finds %q", slip, word, got)
			}
		}
	})
}
