package rotatelog

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/act/acttest"
)

// fill writes a log of its own kind, rotates it as action id and returns the effect.
func fill(t *testing.T, x *Action, path, id string) string {
	t.Helper()
	put(t, path, bytes.Repeat([]byte(id+"\n"), 200_000))
	a := wish(t, path)
	a.ID = id
	return acttest.Do(t, x, a)
}

// holds checks which action's head is in each archive, the newest first, and
// that there is none beyond.
func holds(t *testing.T, path string, ids ...string) {
	t.Helper()
	for n, id := range ids {
		if got := unpack(t, olderName(path, n)); !bytes.HasPrefix(got, []byte(id+"\n")) {
			t.Errorf("archive %d begins %.10q, want %s", n, got, id)
		}
	}
	if all, _ := filepath.Glob(filepath.Dir(path) + "/*.gz"); len(all) != len(ids) {
		t.Errorf("archives %v, want %d", all, len(ids))
	}
}

func TestOlderArchivesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	x := rotator(t, Options{})
	for n, id := range []string{"r1", "r2", "r3", "r4"} {
		if effect := fill(t, x, path, id); strings.Contains(effect, "dropped") {
			t.Errorf("%s: %q", id, effect)
		}
		if n == 1 {
			holds(t, path, "r2", "r1")
		}
	}
	old := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(olderName(path, 3), old, old); err != nil {
		t.Fatal(err)
	}
	if effect := fill(t, x, path, "r5"); !strings.Contains(effect, "the oldest archive, of 2026-03-04, was dropped") {
		t.Errorf("effect %q", effect)
	}
	holds(t, path, "r5", "r4", "r3", "r2")
}

// A crash after any number of renames: run again, every archive has moved once
// and what falls off the end is still said.
func TestCrashAmongTheRenames(t *testing.T) {
	for renames := 0; renames <= 5; renames++ {
		path := filepath.Join(t.TempDir(), "a.log")
		x := rotator(t, Options{})
		for _, id := range []string{"r1", "r2", "r3", "r4"} {
			fill(t, x, path, id)
		}
		put(t, path, bytes.Repeat([]byte("r5\n"), 200_000))
		a := wish(t, path)
		a.ID = "r5"
		for n := 3; n > 3-min(renames, 4); n-- {
			if err := os.Rename(olderName(path, n), olderName(path, n+1)); err != nil {
				t.Fatal(err)
			}
		}
		if renames == 5 { // and the new one is in place
			prepared, err := x.Prepare(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			r := prepared.(*run)
			if r.cut, err = cutAt(r.f, r.before.Size, x.keep); err == nil {
				err = r.pack(context.Background())
			}
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
		if effect := acttest.Do(t, x, a); strings.Count(effect, "was dropped") != 1 {
			t.Errorf("after %d renames: %q", renames, effect)
		}
		holds(t, path, "r5", "r4", "r3", "r2")
	}
}

// A file in the way that is not ours is moved, never removed.
func TestAForeignArchiveIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	x := rotator(t, Options{Archives: 1})
	put(t, olderName(path, 1), []byte("mine"))
	fill(t, x, path, "r1")
	if effect := fill(t, x, path, "r2"); !strings.Contains(effect, "was not dropped") {
		t.Errorf("effect %q", effect)
	}
	if got := read(t, olderName(path, 2)); string(got) != "mine" {
		t.Errorf("%q", got)
	}
}

// What is shown beforehand names every rename, and what is lost without room.
func TestCommandsShowTheRenames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	put(t, path, []byte("x\n"))
	var shown strings.Builder
	for _, c := range rotator(t, Options{Archives: 2}).Commands(wish(t, path)) {
		shown.WriteString(strings.Join(c.Argv, " ") + " # " + c.Note + "\n")
	}
	for _, want := range []string{"its lines are gone", "mv -n " + path + ".custos.2.gz " + path + ".custos.3.gz",
		"mv -n " + path + ".custos.gz " + path + ".custos.1.gz", "rm " + path + ".custos.3.gz"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("%q is not in\n%s", want, shown.String())
		}
	}
}
