package tail

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/sys/files"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// reads reads and expects these lines.
func reads(t *testing.T, path string, from Place, limits Limits, want ...string) Reading {
	t.Helper()
	var got []string
	r, err := Read(path, from, limits, func(_ int64, b []byte) { got = append(got, string(b)) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	return r
}

func TestGoesOnWhereItStopped(t *testing.T) {
	path := put(t, t.TempDir()+"/x", "one\n\ntw")
	r := reads(t, path, Place{}, Limits{}, "one", "")
	if r.Next.Offset != 5 || r.Anew {
		t.Errorf("%+v", r)
	}
	add(t, path, "o\nthree\n")
	r = reads(t, path, r.Next, Limits{}, "two", "three")
	r = reads(t, path, r.Next, Limits{})
	if r.Bytes != 0 {
		t.Errorf("%d bytes were read of a file that did not grow", r.Bytes)
	}
}

// Another file under the name, a shorter one, and one that was written over are read anew.
func TestWhatIsNotTheSameIsReadAnew(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"replaced": func(t *testing.T, path string) {
			if err := os.Rename(put(t, path+".new", "uno\ndos\ntres\n"), path); err != nil {
				t.Fatal(err)
			}
		},
		"truncated":    func(t *testing.T, path string) { put(t, path, "uno\n") },
		"written over": func(t *testing.T, path string) { put(t, path, "uno dos tres\n") },
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, t.TempDir()+"/x", "one\ntwo\n")
			from := reads(t, path, Place{}, Limits{}, "one", "two").Next
			change(t, path)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if r := reads(t, path, from, Limits{}, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...); !r.Anew {
				t.Error("it does not say that it began anew")
			}
		})
	}
}

// A line that is too long is left out and counted, whether its end is there or comes
// later; what was read of it is not read again, and a place without that (as it is
// kept on disk) leads to the same.
func TestALineThatIsTooLong(t *testing.T) {
	limits := Limits{Line: 10 << 20 / 2}
	huge := strings.Repeat("x", 10<<20)
	path := put(t, t.TempDir()+"/x", "a\n"+huge+"\nb\n"+huge)
	r := reads(t, path, Place{}, limits, "a", "b")
	if r.Skipped != 1 || r.Next.Offset != int64(len(huge))+5 || r.Next.Skip != int64(len(huge)) {
		t.Fatalf("%+v", r)
	}
	add(t, path, huge+"\nc\n")
	kept := r.Next
	kept.Skip = 0
	for _, from := range []Place{r.Next, kept} {
		if r := reads(t, path, from, limits, "c"); r.Skipped != 1 || r.Anew {
			t.Errorf("from %+v: %+v", from, r)
		}
	}
	if again := reads(t, path, r.Next, limits, "c"); again.Bytes > int64(len(huge))+4 {
		t.Errorf("%d bytes were read: what was skipped was read again", again.Bytes)
	}
}

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(put(t, dir+"/file", "x\n"), dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"pipe": files.ErrNotRegular, "link": files.ErrNotRegular, ".": files.ErrNotRegular, "gone": fs.ErrNotExist} {
		if _, err := Read(filepath.Join(dir, name), Place{}, Limits{}, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Last(filepath.Join(dir, name), 10); !errors.Is(err, want) {
			t.Errorf("last of %s: %v", name, err)
		}
	}
}

func TestStopsAtItsLimit(t *testing.T) {
	text := strings.Repeat(strings.Repeat("y", 999)+"\n", 1000)
	path := put(t, t.TempDir()+"/x", text)
	var all int
	var from Place
	for rounds := 0; ; rounds++ {
		r, err := Read(path, from, Limits{Bytes: 100_000}, func(int64, []byte) { all++ })
		if err != nil {
			t.Fatal(err)
		}
		if from = r.Next; !r.More {
			if rounds < 3 {
				t.Errorf("%d rounds", rounds)
			}
			break
		}
		if r.Consumed > 100_000+piece {
			t.Errorf("%d bytes in one reading", r.Consumed)
		}
	}
	if all != 1000 {
		t.Errorf("%d lines", all)
	}
}

func TestLast(t *testing.T) {
	path := put(t, t.TempDir()+"/x", "one\ntwo\nthree\n")
	for window, want := range map[int64][]string{100: {"one", "two", "three"}, 6: {"three"}, 10: {"two", "three"}, 9: {"three"}, 14: {"one", "two", "three"}, 3: nil} {
		from, err := Last(path, window)
		if err != nil {
			t.Fatal(err)
		}
		reads(t, path, from, Limits{}, want...)
	}
	torn := put(t, path+".torn", "one\n"+strings.Repeat("x", 100))
	from, err := Last(torn, 50)
	if err != nil {
		t.Fatal(err)
	}
	r := reads(t, torn, from, Limits{})
	add(t, torn, "x\ntwo\n")
	reads(t, torn, r.Next, Limits{}, "two")
}

// However a file is written and read by turns, each line is given once and whole.
func TestEachLineOnce(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "x")
		var text []byte
		var want, got []string
		var from Place
		limits := Limits{Line: rapid.IntRange(1, 40).Draw(t, "line"), Bytes: rapid.Int64Range(1, 100).Draw(t, "bytes")}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			more := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\xff\n")), 0, 60).Draw(t, "more")
			text = append(text, more...)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Read(path, from, limits, func(at int64, b []byte) {
				if !bytes.HasPrefix(text[at:], b) {
					t.Errorf("line %q is said to be at %d", b, at)
				}
				got = append(got, string(b))
			})
			if err != nil || r.Anew {
				t.Fatalf("%+v, %v", r, err)
			}
			from = r.Next
			if rapid.Bool().Draw(t, "from disk") {
				from.Skip = 0
			}
		}
		for _, l := range strings.SplitAfter(string(text), "\n") {
			if l, whole := strings.CutSuffix(l, "\n"); whole && len(l) <= limits.Line {
				want = append(want, l)
			}
		}
		for {
			r, err := Read(path, from, limits, func(_ int64, b []byte) { got = append(got, string(b)) })
			if err != nil {
				t.Fatal(err)
			}
			if from = r.Next; !r.More {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}
