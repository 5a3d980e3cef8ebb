package fleet

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is one word is returned as it is: it is the same text that each step of Line makes of it.
func TestLineOfAWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, n := string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "raw")), rapid.IntRange(1, 10).Draw(t, "n")
		want := strings.Join(strings.Fields(Text(raw)), " ")
		if runes := []rune(want); len(runes) > n {
			want = string(runes[:n-1]) + "…"
		}
		if got := Line(raw, n); got != want {
			t.Fatalf("Line(%q, %d) is %q, want %q", raw, n, got, want)
		}
	})
}
