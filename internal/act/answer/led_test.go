package answer

import (
	"errors"
	"slices"
	"testing"
)

// TestEnterOnlyOnWhatWasChosen: a CLI that swallows a key that comes too soon would take
// the choice beside it.
func TestEnterOnlyOnWhatWasChosen(t *testing.T) {
	var pressed []string
	press := func(keys []string) (lost, err error) { pressed = append(pressed, keys...); return nil, nil }
	for _, c := range []struct {
		keys   []string
		stands bool
		want   []string
		lost   bool
	}{
		{[]string{"Down", "Down", "Enter"}, true, []string{"Down", "Down", "Enter"}, false},
		{[]string{"Down", "Enter"}, false, []string{"Down"}, true},
		{[]string{"Up", "Enter"}, false, []string{"Up"}, true},
		{[]string{"Enter"}, false, []string{"Enter"}, false},
		{[]string{"2"}, false, []string{"2"}, false},
		{[]string{"Right", "Enter"}, false, []string{"Right", "Enter"}, false}, // buttons show no mark
	} {
		pressed = nil
		lost, err := inSteps(c.keys, press, func() bool { return c.stands })
		if !slices.Equal(pressed, c.want) || err != nil || (lost != nil) != c.lost {
			t.Errorf("%v, stands %v: pressed %v, lost %v, %v", c.keys, c.stands, pressed, lost, err)
		}
	}
}

// TestNoEnterAfterAFailure: what is not known to have been pressed is not followed.
func TestNoEnterAfterAFailure(t *testing.T) {
	gone := errors.New("gone")
	for _, fails := range []struct{ lost, err error }{{nil, gone}, {gone, nil}} {
		n := 0
		lost, err := inSteps([]string{"Down", "Enter"}, func([]string) (error, error) { n++; return fails.lost, fails.err }, func() bool { return true })
		if n != 1 || lost != fails.lost || err != fails.err {
			t.Errorf("%d presses, lost %v, %v", n, lost, err)
		}
	}
}
