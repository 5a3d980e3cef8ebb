package rotatelog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// lines returns numbered lines, n bytes of them or a little more.
func lines(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %07d of an agent that talks a lot\n", i)
	}
	return b.Bytes()
}

func put(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// head unpacks the archive of a log.
func head(t testing.TB, path string) []byte {
	t.Helper()
	return unpack(t, archiveName(path))
}

func unpack(t testing.TB, name string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wish(t testing.TB, path string) fleet.Action {
	t.Helper()
	info, err := files.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	log := fleet.Log{Path: fleet.Path(path), Owner: fleet.OwnerConfigured, File: fleet.FileID(info.Identity), Bytes: fleet.Known(info.Size)}
	return fleet.Action{ID: "a1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindLog, Name: log.Path}, Target: fleet.Target{Log: &log}}
}

func raw(a fleet.Action) string { return fleet.RawPath(a.Target.Log.Path) }

func rotator(t testing.TB, o Options) *Action {
	t.Helper()
	if o.Limit == "" {
		o.Limit, o.Keep = "256KiB", "64KiB"
	}
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// ways are the two ways to cut.
var ways = map[string]Options{"collapse": {}, "copy": {NoCollapse: true}}

func TestConformance(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			acttest.Test(t, acttest.Case{
				Action: rotator(t, o),
				Setup: func(t *testing.T) fleet.Action {
					path := filepath.Join(t.TempDir(), "agent \xff.log")
					put(t, path, lines(1<<20))
					return wish(t, path)
				},
				Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, filepath.Dir(raw(a))) },
				Gone: func(t *testing.T, a fleet.Action) {
					if err := os.Remove(raw(a)); err != nil {
						t.Fatal(err)
					}
				},
				Changed: map[string]func(*testing.T, fleet.Action){
					"it shrank": func(t *testing.T, a fleet.Action) {
						if err := os.Truncate(raw(a), 900_000); err != nil {
							t.Fatal(err)
						}
					},
					"another file": func(t *testing.T, a fleet.Action) {
						if err := os.Rename(raw(a), raw(a)+".1"); err != nil {
							t.Fatal(err)
						}
						put(t, raw(a), lines(2<<20))
					},
					"two names": func(t *testing.T, a fleet.Action) {
						if err := os.Link(raw(a), raw(a)+".link"); err != nil {
							t.Fatal(err)
						}
					},
					"a link": func(t *testing.T, a fleet.Action) {
						if err := os.Rename(raw(a), raw(a)+".1"); err != nil {
							t.Fatal(err)
						}
						if err := os.Symlink(raw(a)+".1", raw(a)); err != nil {
							t.Fatal(err)
						}
					},
					"packed":  func(_ *testing.T, a fleet.Action) { a.Target.Log.Path += ".gz" },
					"foreign": func(_ *testing.T, a fleet.Action) { a.Target.Log.Owner = fleet.OwnerForeign },
				},
			})
		})
	}
}

// Head and tail together are the log, byte for byte, and the tail begins with
// a whole line.
func TestNothingIsLost(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{256<<10 + 1, 300_000, 320 << 10, 320<<10 + 39, 81 * 4096, 81*4096 + 1, 600<<10 - 1} {
				path := filepath.Join(t.TempDir(), "a.log")
				was := lines(size)[:size] // the last line may be a half one
				put(t, path, was)
				acttest.Do(t, rotator(t, o), wish(t, path))
				tail, packed := bytes.TrimLeft(read(t, path), " \n"), head(t, path)
				if !bytes.Equal(append(packed, tail...), was) {
					t.Fatalf("of %d bytes %d are in the archive and %d in the log", len(was), len(packed), len(tail))
				}
				if !bytes.HasPrefix(tail, []byte("line ")) || len(tail) > 64<<10 || len(tail) < 63<<10 {
					t.Fatalf("a tail of %d bytes begins %.20q", len(tail), tail)
				}
			}
		})
	}
}

func TestModeAndEffect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	put(t, path, lines(1<<20))
	effect := acttest.Do(t, rotator(t, Options{}), wish(t, path))
	if info, err := os.Stat(archiveName(path)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("archive %v, %v", info, err)
	}
	if !strings.Contains(effect, "log cut from 1.0 MiB to 6") || !strings.Contains(effect, "freed; its head is in "+archiveName(path)) {
		t.Errorf("effect %q", effect)
	}
	left, err := filepath.Glob(filepath.Dir(path) + "/.custos*")
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A writer that appends all the while loses no line where blocks are taken out
// of the file. Where the log is copied down, what is lost is counted.
func TestAWriterGoesOn(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			lost, wrote, during := 0, 0, 0
			for range 2 {
				l, w, d := rotateUnder(t, o)
				lost, wrote, during = lost+l, wrote+w, during+d
			}
			t.Logf("%d of %d lines lost in 2 rotations, %d of them written while it was cut", lost, wrote, during)
			if during == 0 {
				t.Error("nothing was written meanwhile: this proves nothing")
			}
			if lost > 0 && !o.NoCollapse && canCollapse(t) || lost > during/10 {
				t.Errorf("%d lines lost", lost)
			}
		})
	}
}

// rotateUnder cuts a log that is written to, and counts the lines that are
// neither in the archive nor in the log afterwards.
func rotateUnder(t *testing.T, o Options) (lost, wrote, during int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.log")
	put(t, path, lines(4<<20))
	var stop atomic.Bool
	var count atomic.Int64
	done, began := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		for err == nil && !stop.Load() {
			_, err = fmt.Fprintf(f, "new %07d\n", count.Load())
			if count.Add(1) == 10 {
				close(began)
			}
			time.Sleep(10 * time.Microsecond) // the pace of a talkative writer
		}
		if err != nil {
			t.Error(err)
		}
		f.Close()
	}()
	<-began
	x := rotator(t, o)
	run, err := x.Prepare(context.Background(), wish(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	before := count.Load()
	err = run.Do(context.Background())
	during = int(count.Load() - before)
	stop.Store(true)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, b := range [][]byte{head(t, path), read(t, path)} {
		for line := range strings.Lines(string(b)) {
			there[strings.TrimLeft(line, " ")] = true
		}
	}
	for i := range count.Load() {
		if !there[fmt.Sprintf("new %07d\n", i)] {
			lost++
		}
	}
	return lost, int(count.Load()), during
}

// canCollapse says whether the file system of the tests can take blocks out.
func canCollapse(t *testing.T) bool {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_COLLAPSE_RANGE, 0, 1<<16) == nil
}

// Without room for an archive the head is dropped, which is said.
func TestNoRoom(t *testing.T) {
	for _, c := range []struct {
		free int64
		kept bool
	}{{reserve, false}, {reserve + 1<<20, true}} {
		path := filepath.Join(t.TempDir(), "a.log")
		put(t, path, lines(1<<20))
		effect := acttest.Do(t, rotator(t, Options{Room: func(string) (int64, error) { return c.free, nil }}), wish(t, path))
		_, err := os.Stat(archiveName(path))
		if (err == nil) != c.kept || strings.Contains(effect, "dropped") == c.kept {
			t.Errorf("free %d: %v, effect %q", c.free, err, effect)
		}
	}
	path := filepath.Join(t.TempDir(), "a.log")
	put(t, path, lines(1<<20))
	run, err := rotator(t, Options{Room: func(string) (int64, error) { return 0, errors.New("dead mount") }}).Prepare(context.Background(), wish(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Do(context.Background()); err == nil || len(read(t, path)) < 1<<20 {
		t.Errorf("Do = %v, and %d bytes left: what cannot be known must not cost bytes", err, len(read(t, path)))
	}
}

// A crash between packing and cutting: the same action goes on with the same
// cut, and the archive still holds the whole head.
func TestTakenUpAgain(t *testing.T) {
	for name, o := range ways {
		for _, stage := range []string{"packed", "copied down in part"} {
			t.Run(name+", "+stage, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a.log")
				was := lines(1 << 20)
				put(t, path, was)
				a := wish(t, path)
				x := rotator(t, o)
				prepared, err := x.Prepare(context.Background(), a)
				if err != nil {
					t.Fatal(err)
				}
				r := prepared.(*run)
				if r.cut, err = cutAt(r.f, r.before.Size, x.keep); err != nil {
					t.Fatal(err)
				}
				if err := r.pack(context.Background()); err != nil {
					t.Fatal(err)
				}
				if stage != "packed" {
					if _, err := r.f.WriteAt(was[r.cut:], 0); err != nil {
						t.Fatal(err)
					}
				}
				cut := r.cut
				r.Close() // as a crash would
				more := []byte("written after the crash\n")
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write(more); err != nil {
					t.Fatal(err)
				}
				f.Close()
				acttest.Do(t, x, wish(t, path))
				if got := head(t, path); !bytes.Equal(got, was[:cut]) {
					t.Errorf("the archive holds %d bytes, want the head of %d", len(got), cut)
				}
				if got := bytes.TrimLeft(read(t, path), " \n"); !bytes.Equal(got, append(bytes.Clone(was[cut:]), more...)) {
					t.Errorf("the log holds %d bytes beginning %.30q", len(got), got)
				}
			})
		}
	}
}

// A log that was cut by this action and has filled up again is not cut at the old place.
func TestAnArchiveOfAnotherHeadIsNoGuide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	put(t, path, lines(1<<20))
	x := rotator(t, Options{})
	acttest.Do(t, x, wish(t, path))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Repeat([]byte("other\n"), 300_000)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	was := read(t, path)
	acttest.Do(t, x, wish(t, path))
	if got := append(head(t, path), bytes.TrimLeft(read(t, path), " \n")...); !bytes.Equal(got, was) {
		t.Errorf("%d bytes are left of %d", len(got), len(was))
	}
}

// A log that is one line, or ends right at the cut, or is mostly a hole.
func TestOddLogs(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			for what, content := range map[string][]byte{
				"no newline":   bytes.Repeat([]byte("x"), 1<<20),
				"only the end": append(bytes.Repeat([]byte("x"), 1<<20-1), '\n'),
				"block sized":  bytes.Repeat(append(bytes.Repeat([]byte("y"), 4095), '\n'), 256),
			} {
				path := filepath.Join(t.TempDir(), "a.log")
				put(t, path, content)
				acttest.Do(t, rotator(t, o), wish(t, path))
				got := append(head(t, path), bytes.TrimLeft(read(t, path), " \n")...)
				if !bytes.Equal(got, content) && !bytes.Equal(append(got, '\n'), content) {
					t.Errorf("%s: %d bytes of %d are left", what, len(got), len(content))
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "hole.log")
	put(t, path, []byte("x\n"))
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := rotator(t, Options{}).Prepare(context.Background(), wish(t, path)); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a hole: %v, want unneeded", err)
	}
}

func TestReplacedAfterPrepare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	put(t, path, lines(1<<20))
	run, err := rotator(t, Options{}).Prepare(context.Background(), wish(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, path, lines(1<<20))
	if err := run.Do(context.Background()); !errors.Is(err, act.ErrRefused) {
		t.Errorf("Do = %v", err)
	}
	if len(read(t, path+".1")) < 1<<20 || len(read(t, path)) < 1<<20 {
		t.Error("a log was cut")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{{Limit: "big"}, {Keep: "-1"}, {Limit: "1MiB", Keep: "1MiB"}, {Limit: "0"}, {Archives: -1}, {Archives: 21}, {Limit: "99999999999GiB"}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) succeeded", o)
		}
	}
	for s, want := range map[string]int64{"10MiB": 10 << 20, "512 KiB": 512 << 10, "1GiB": 1 << 30, "7": 7} {
		if got, err := parseBytes(s); err != nil || got != want {
			t.Errorf("parseBytes(%q) = %d, %v", s, got, err)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"10MiB", "1 GiB", "7", "", "-1KiB", "9223372036854775807GiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseBytes(s); (err == nil) != (n > 0) {
			t.Errorf("parseBytes(%q) = %d, %v", s, n, err)
		}
	})
}
