package overlap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/sys/git"
)

// Lines meet where git merges neither: the same ones, those that touch, and what is added beside them; whichever of the
// two has which. What both have changed alike does not.
func TestWhereLinesMeet(t *testing.T) {
	line := func(from, to int, sum uint64) git.Hunk { return git.Hunk{From: from, To: to, Sum: sum} }
	for what, c := range map[string]struct {
		a, b git.Hunk
		want []string
	}{
		"the same line":              {line(5, 5, 1), line(5, 5, 2), []string{"5"}},
		"alike":                      {line(5, 5, 1), line(5, 5, 1), nil},
		"the next line":              {line(5, 5, 1), line(6, 6, 2), []string{"5-6"}},
		"one line apart":             {line(5, 5, 1), line(7, 7, 2), nil},
		"within":                     {line(2, 9, 1), line(5, 6, 2), []string{"2-9"}},
		"added before it":            {line(5, 4, 1), line(5, 5, 2), []string{"5"}},
		"added behind it":            {line(6, 5, 1), line(5, 5, 2), []string{"5"}},
		"added a line away":          {line(7, 6, 1), line(5, 5, 2), nil},
		"both added at one place":    {line(5, 4, 1), line(5, 4, 2), []string{"4"}},
		"both added at the very top": {line(1, 0, 1), line(1, 0, 2), []string{"1"}},
	} {
		for _, pair := range [][2]git.Hunk{{c.a, c.b}, {c.b, c.a}} {
			if got := meet([]git.Hunk{pair[0]}, []git.Hunk{pair[1]}); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v and %v meet at %q, want %q", what, pair[0], pair[1], got, c.want)
			}
		}
	}
}

// Of hunks as git tells them, as many meet as comparing each with each says; of many the first are named.
func TestMeetingIsFound(t *testing.T) {
	hunks := rapid.Custom(func(t *rapid.T) (list []git.Hunk) {
		for at := 1; at < 40; {
			from := at + rapid.IntRange(0, 6).Draw(t, "gap")
			h := git.Hunk{From: from, To: from - 1 + rapid.IntRange(0, 3).Draw(t, "lines"), Sum: rapid.Uint64Range(1, 2).Draw(t, "sum")}
			list, at = append(list, h), max(h.To, h.From)+2
		}
		return list
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := hunks.Draw(t, "a"), hunks.Draw(t, "b")
		want := 0
		for _, x := range a {
			for _, y := range b {
				want += len(meet([]git.Hunk{x}, []git.Hunk{y}))
			}
		}
		if got := len(meet(a, b)); got != min(want, mostLines+1) {
			t.Errorf("%v and %v: %d meet, want %d", a, b, got, want)
		}
	})
}
