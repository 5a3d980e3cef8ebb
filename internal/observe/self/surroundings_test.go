package self

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// A clock that is set is told for an hour; one that is slewed, or a machine that
// slept, is not.
func TestSteppedClock(t *testing.T) {
	var s stepped
	begun := fleet.Instant{Wall: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	for i, c := range []struct{ up, wall, want time.Duration }{
		{0, 0, 0}, {30 * time.Second, 30*time.Second + 15*time.Millisecond, 0}, {8 * time.Hour, 8 * time.Hour, 0},
		{8*time.Hour + time.Minute, 6*time.Hour + time.Minute, -2 * time.Hour},
		{8*time.Hour + 2*time.Minute, 6*time.Hour + 2*time.Minute, -2 * time.Hour},
		{8*time.Hour + 3*time.Minute, 8*time.Hour + 3*time.Minute, 0}, // set right again
		{9 * time.Hour, 9*time.Hour + time.Minute, time.Minute},
		{11 * time.Hour, 11*time.Hour + time.Minute, 0},
	} {
		now := begun
		now.Wall, now.Up = begun.Wall.Add(c.wall), begun.Up+fleet.Duration(c.up)
		if got := s.look(now); got.Round(time.Second) != c.want {
			t.Errorf("look %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestUnsafePath(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"mine", "open", "work/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/usr/bin:" + dir + "/mine:" + dir + "/nonexistent": "",
		"/usr/bin:.:bin":             ". is relative; bin is relative",
		"/usr/bin:":                  "is relative",
		dir + "/open":                "may be written by every user",
		dir + "/work/bin":            "lies where an agent works",
		dir + "/work/bin/../../mine": "",
	} {
		if got := unsafePath(path, []string{dir + "/work"}); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Where a file system has no nameless files, permission and room are asked for instead.
func TestPermitted(t *testing.T) {
	dir := t.TempDir()
	for reserve, want := range map[int64]bool{1: true, math.MaxInt64: false} {
		if got := writable(dir, permitted(dir, reserve)); got != fleet.Known(want) {
			t.Errorf("%d bytes: %+v", reserve, got)
		}
	}
	if got := writable(dir, permitted(dir+"/gone", 1)); got.IsKnown() {
		t.Errorf("of a folder that is not there: %+v", got)
	}
}
