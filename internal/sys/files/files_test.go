package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func write(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func find(t *testing.T, glob, home string, most int) (Found, error) {
	t.Helper()
	p, err := compile(glob, home)
	if err != nil {
		t.Fatal(err)
	}
	return p.find(context.Background(), most, nil)
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a-poll.lock", "b-poll.lock", "sub/x/c.log", "sub/y/c.log", "sub/y/d.txt", ".hidden.lock",
		".custos-removed-a.lock-TIME", "x.log.custos.gz", "bad\xff\x1b.lock", "sub/.z/c.log"} {
		write(t, filepath.Join(dir, name), "1")
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "c.log"), "1")
	for link, to := range map[string]string{"sub/link": outside, "link.lock": filepath.Join(dir, "a-poll.lock"), "root": dir} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe.lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	for glob, want := range map[string]string{
		"*-poll.lock":      "a-poll.lock b-poll.lock",
		"*.lock":           "a-poll.lock b-poll.lock bad\xff\x1b.lock",
		".*.lock":          ".hidden.lock",
		".c*":              "",
		"*.gz":             "",
		"sub/*/c.log":      "sub/x/c.log sub/y/c.log",
		"sub/[x]/*":        "sub/x/c.log",
		"a-poll.lock":      "a-poll.lock",
		"missing/*/x":      "",
		"missing":          "",
		"root/?-poll.loc*": "root/a-poll.lock root/b-poll.lock", // a link that was named outright
	} {
		found, err := find(t, "~/"+glob, dir, 100)
		if err != nil {
			t.Errorf("%s: %v", glob, err)
		}
		var got []string
		for _, path := range found.Paths {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		if strings.Join(got, " ") != want || found.Total != len(got) {
			t.Errorf("%s found %q (%d), want %q", glob, got, found.Total, want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, glob := range []string{"", "relative/*", "~/x", "/a/**/b", "/a/[", "/a/[x/y]"} {
		if _, err := compile(glob, ""); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", glob)) {
			t.Errorf("Compile(%q) = %v, want an error that names it", glob, err)
		}
	}
	if _, err := CompileAll([]string{"/ok", "one", "two"}, ""); err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") {
		t.Errorf("CompileAll = %v, want both", err)
	}
}

// A folder with 100 000 matches costs little memory, gives the same files each
// time, and says how many there were.
func TestFindIsBounded(t *testing.T) {
	dir := t.TempDir()
	const many = 100_000
	for i := range many {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%06d.lock", (i*7919)%many)), os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	p, err := compile(dir+"/*.lock", "")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	paths, cut, err := Follow([]Pattern{p}, 2000).Find(context.Background())
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	t.Logf("%d files: %v, %d KiB allocated in all", many, took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>10)
	if err != nil || !strings.Contains(cut, "100000 match") || !strings.Contains(cut, "*.lock") {
		t.Errorf("cut says %q, want the number and the glob; %v", cut, err)
	}
	if len(paths) != 2000 || filepath.Base(paths[0]) != "000000.lock" || filepath.Base(paths[1999]) != "001999.lock" {
		t.Errorf("%d paths, not the first 2000 by name", len(paths))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if found, err := p.find(ctx, 2000, nil); !errors.Is(err, context.Canceled) || found.Total > 512 {
		t.Errorf("cancelled: %d, %v", found.Total, err)
	}
}

func TestEachFileIsFollowedOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.lock", "1")
	patterns, err := CompileAll([]string{dir + "/*", dir + "/a*", dir + "/a.lock"}, "")
	if err != nil {
		t.Fatal(err)
	}
	paths, cut, err := Follow(patterns, 10).Find(context.Background())
	if err != nil || cut != "" || len(paths) != 1 {
		t.Errorf("%v, cut %q, %v", paths, cut, err)
	}
}

// A glob that matches far too much hides nothing of the others.
func TestGlobsDoNotStarveEachOther(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, fmt.Sprintf("%s/%02d.lock", dir, i), "1")
	}
	write(t, dir+"/z.pid", "1")
	globs := []string{dir + "/*.lock", dir + "/z.*"}
	for i := range 5 { // together more than Globs times the maximum
		globs = append(globs, fmt.Sprintf("%s/[%d-9]*", dir, i))
	}
	patterns, err := CompileAll(globs, "")
	if err != nil {
		t.Fatal(err)
	}
	paths, cut, err := Follow(patterns, 10).Find(context.Background())
	if err != nil || strings.Contains(cut, "z.*") {
		t.Errorf("cut says %q, %v", cut, err)
	}
	for _, want := range []string{`/*.lock" 50 match, and 6 are`, `/[4-9]*" 10 match, and 7 are`} {
		if !strings.Contains(cut, want) {
			t.Errorf("%q does not say %s", cut, want)
		}
	}
	for _, want := range []string{"00.lock", "05.lock", "10.lock", "20.lock", "30.lock", "40.lock", "46.lock", "z.pid"} {
		if !slices.Contains(paths, dir+"/"+want) {
			t.Errorf("%s is hidden: %v", want, paths)
		}
	}
}

// Nobody gets more than was wanted, nothing is left over that is wanted, and who
// is cut gets as much as any other, but for the remainder of a division.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 8).Draw(t, "counts")
		total := rapid.IntRange(0, 200).Draw(t, "total")
		shares := Shares(counts, total)
		got, want := 0, 0
		for i, s := range shares {
			got, want = got+s, want+counts[i]
			if s < 0 || s > counts[i] || s < counts[i] && slices.Max(shares) > s+1 {
				t.Fatalf("%d of %v: %v", total, counts, shares)
			}
		}
		if got != min(want, total) {
			t.Fatalf("%d of %v: %v", total, counts, shares)
		}
	})
}

func TestOpenRegularOpensNothingElse(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir+"/file", "1")
	if err := os.Symlink(file, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, dir + "/link", dir + "/pipe", "/dev/null"} {
		if f, _, err := OpenRegular(path, os.O_RDONLY); !errors.Is(err, ErrNotRegular) {
			f.Close()
			t.Errorf("OpenRegular(%s) = %v, want ErrNotRegular", path, err)
		}
	}
	if _, _, err := OpenRegular(dir+"/none", os.O_RDONLY); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	f, info, err := OpenRegular(file, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if again, err := Lstat(file); err != nil || again != info || info.Size != 1 || info.Links != 1 {
		t.Errorf("%+v, then %+v, %v", info, again, err)
	}
}

func TestTail(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		window int
		want   []string
	}{
		"empty":         {"", 100, []string{}},
		"no newline":    {"a\nb", 100, []string{"a", "b"}},
		"last three":    {"a\nb\nc\nd\n", 100, []string{"b", "c", "d"}},
		"blank lines":   {"a\n\n", 100, []string{"a", ""}},
		"half a line":   {"secret=abcdef\nb\nc\n", 8, []string{"b", "c"}},
		"one long line": {strings.Repeat("x", 50), 10, []string{"(one line of more than 10 bytes)"}},
	} {
		got, err := Tail(strings.NewReader(c.text), int64(len(c.text)), 3, c.window)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Unix(1000, 0)
	for ahead, ok := range map[time.Duration]bool{-time.Hour: true, 0: true, time.Second: true, 3 * time.Second: false} {
		d, err := Age(now, now.Add(ahead))
		if (err == nil) != ok || ok && d != max(0, -ahead) {
			t.Errorf("%v ahead: %v, %v", ahead, d, err)
		}
	}
}

func TestLockPID(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]int{
		"123": 123, "123\n": 123, "      123\n": 123, "123 somehost\n": 0, "123\nsomehost\n": 0, "       123\nsome.host.example\n": 0, "123@somehost": 0, "123 somehost 1732094000": 0, "123 1732094000 somehost": 123, "123 10.0.0.7": 0, "123 4f3a2b1c9d0e": 0, "pid=123 host=x": 0, "123 since today\nhostname=x": 0,
		"123 " + host: 123, "123\n" + host + "\n": 123, "pid: 9\nHost: " + host: 9, "123 localhost": 123, "123 1732094000": 123, "123 10:00:00": 123, "123\n/var/lib/data\n1732094000\n": 123, "123\nmore than that": 123,
		"\ufeff1": 0,
		"pid=77":  77, "PID: 78\nhost: x": 0, "PID: 78\nfor: x": 78, `{"pid": 5}`: 5, `{"pid":5,"host":"` + host + `"}`: 5,
		"": 0, " \n": 0, "abc": 0, "-5": 0, "+5": 0, "0": 0, "1.5": 0, "2026-11-20 pid 5": 0, "20261120 5": 0, "1732094000": 0, "99999999999999999999": 0,
		`{"pid":"5"}`: 5, `{"pid":5.5}`: 0, `{"pid":-5}`: 0, `{"pid":1e3}`: 0, `{}`: 0, `{"pid":5,"host":"elsewhere.example"}`: 0, `{"pid":5`: 0, `{"pid":null}`: 0,
		"\x00\x00123": 0, "pid=": 0, strings.Repeat(" ", MaxSmall): 0, "٣": 0,
	} {
		got, err := LockPID([]byte(content))
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("LockPID(%.40q) = %d, %v; want %d", content, got, err, want)
		}
	}
}

func TestPhaseLine(t *testing.T) {
	for content, want := range map[string][3]string{
		"PHASE:escalate needs a person\n":          {"escalate", "needs a person"},
		"PHASE:done":                               {"done", ""},
		"  PHASE:failed  \nReason: api_error: 1\n": {"failed", "api_error: 1"},
		"PHASE:awaiting_changes\nSHA:abc":          {"awaiting_changes", ""},
		"PHASE:Escalate":                           {"escalate", ""},
		"":                                         {"", "", "x"},
		"\nPHASE:done":                             {"", "", "x"},
		"PHASE:":                                   {"", "", "x"},
		"PHASE: done":                              {"", "", "x"},
		"PHASE:\x1b[31mdone":                       {"", "", "x"},
		"phase:done":                               {"", "", "x"},
	} {
		phase, reason, err := PhaseLine([]byte(content))
		if phase != want[0] || reason != want[1] || (err != nil) != (want[2] != "") {
			t.Errorf("PhaseLine(%q) = %q, %q, %v", content, phase, reason, err)
		}
	}
}

func FuzzLockPID(f *testing.F) {
	for _, s := range []string{"123", "pid=1", `{"pid":1}`, "", "\x00", `{"pid":1,"host":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		pid, err := LockPID(b)
		if (err == nil) != (pid >= 1 && pid <= pidMax) {
			t.Errorf("LockPID(%q) = %d, %v", b, pid, err)
		}
		if err == nil && !strings.Contains(string(b), fmt.Sprint(pid)) && !strings.Contains(string(b), "0") && !strings.Contains(string(b), `\u`) {
			t.Errorf("LockPID(%q) = %d, which is not written there", b, pid)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

func FuzzPhaseLine(f *testing.F) {
	for _, s := range []string{"PHASE:escalate why", "PHASE:failed\nReason: x", "", "PHASE:", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		phase, _, err := PhaseLine(b)
		if (err == nil) != (phase != "") || len(phase) > 40 || strings.ContainsFunc(phase, notInPhase) {
			t.Errorf("PhaseLine(%q) = %q, %v", b, phase, err)
		}
	})
}

// Tail never shows more than was asked for, and only whole last lines.
func TestTailProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching(`[ab]{0,20}`)).Draw(t, "lines"), "\n")
		lines, window := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(1, 60).Draw(t, "window")
		got, err := Tail(strings.NewReader(text), int64(len(text)), lines, window)
		if err != nil || len(got) > lines {
			t.Fatalf("%q, %v", got, err)
		}
		all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(got) == 1 && strings.HasPrefix(got[0], "(") || len(got) == 0 {
			return
		}
		if !slices.Equal(got, all[len(all)-len(got):]) {
			t.Fatalf("tail %q of %q", got, text)
		}
	})
}
