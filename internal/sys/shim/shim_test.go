package shim

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

const (
	goodStarted = `{"v":1,"key":"k","name":"n","shim":{"pid":10,"start":1},"agent":{"pid":11,"start":2},"pgid":11,"at":{"wall":"2026-01-02T03:04:05Z","up_ns":5,"boot":"b"},"cap":"none","new":"later"}`
	goodExit    = `{"v":1,"key":"k","agent":{"pid":11,"start":2},"status":7,"max_rss":1,"at":{"boot":"b"}}     ` + "\n"
	goodFailed  = `{"v":1,"key":"k","error":"no such program"}`
	goodLeft    = `{"v":1,"key":"k","procs":[{"pid":12,"start":3,"name":"x"}]}`
	goodClaim   = `{"v":1,"key":"k","shim":{"pid":10,"start":1}}`
)

// folder makes the folder of instance k with some files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "k")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := folder(t, map[string]string{"claim": goodClaim, "started.json": goodStarted})
	s, x, err := Read(dir)
	if err != nil || x != nil || s.Agent != (ID{11, 2}) || s.Shim != (ID{10, 1}) || s.At.Up != 5 || s.Name != "n" {
		t.Errorf("%+v, %+v, %v", s, x, err)
	}
	dir = folder(t, map[string]string{"claim": goodClaim, "started.json": goodStarted, "exit.json": goodExit, "left.json": goodLeft})
	if _, x, err := Read(dir); err != nil || x == nil || *x.Status != 7 || x.Signal != nil || x.OOM != nil {
		t.Errorf("%+v, %v", x, err)
	}
	all, err := List(filepath.Dir(dir))
	if err != nil || len(all) != 1 || all[0].Err != nil || !slices.Equal(all[0].Left, []Left{{ID{12, 3}, "x"}}) {
		t.Errorf("%+v, %v", all, err)
	}
	if _, _, err := Read(folder(t, nil)); !errors.Is(err, ErrNotStarted) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, _, err := Read(folder(t, map[string]string{"failed.json": goodFailed})); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("a failed one: %v", err)
	}
}

// What is torn, foreign or no file of a shim is an error that names it.
func TestBadFilesAreNamed(t *testing.T) {
	change := strings.NewReplacer
	for what, files := range map[string]map[string]string{
		"started.json empty":         {"started.json": ""},
		"started.json torn":          {"started.json": goodStarted[:80]},
		"started.json of another":    {"started.json": change(`"key":"k"`, `"key":"j"`).Replace(goodStarted)},
		"started.json version":       {"started.json": change(`"v":1`, `"v":2`).Replace(goodStarted)},
		"started.json no process":    {"started.json": change(`"pid":11`, `"pid":1`).Replace(goodStarted)},
		"started.json negative":      {"started.json": change(`"pid":11`, `"pid":-11`).Replace(goodStarted)},
		"started.json no boot":       {"started.json": change(`"boot":"b"`, `"boot":""`).Replace(goodStarted)},
		"started.json cap":           {"started.json": change(`"cap":"none"`, `"cap":"yes"`).Replace(goodStarted)},
		"started.json huge":          {"started.json": goodStarted + strings.Repeat(" ", maxFile)},
		"exit.json blank":            {"started.json": goodStarted, "exit.json": strings.Repeat(" ", 2048)},
		"exit.json of another agent": {"started.json": goodStarted, "exit.json": change(`"pid":11`, `"pid":12`).Replace(goodExit)},
		"exit.json both":             {"started.json": goodStarted, "exit.json": change(`"status":7`, `"status":7,"signal":9`).Replace(goodExit)},
		"exit.json neither":          {"started.json": goodStarted, "exit.json": change(`"status":7,`, ``).Replace(goodExit)},
		"exit.json status":           {"started.json": goodStarted, "exit.json": change(`"status":7`, `"status":256`).Replace(goodExit)},
		"exit.json signal":           {"started.json": goodStarted, "exit.json": change(`"status":7`, `"signal":0`).Replace(goodExit)},
		"failed.json torn":           {"failed.json": "{"},
	} {
		name, _, _ := strings.Cut(what, " ")
		dir := folder(t, files)
		if _, x, err := Read(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) || x != nil || errors.Is(err, ErrNotStarted) {
			t.Errorf("%s: %+v, %v", what, x, err)
		}
	}
}

// A link, a pipe or a folder in the place of a file is neither followed nor
// waited for.
func TestForeignFilesAreNotRead(t *testing.T) {
	for what, plant := range map[string]func(path string) error{
		"link":   func(p string) error { return os.Symlink("/proc/self/stat", p) },
		"pipe":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"device": func(p string) error { return os.Symlink("/dev/zero", p) },
	} {
		dir := folder(t, nil)
		if err := plant(filepath.Join(dir, "started.json")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(dir); err == nil || errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "started.json") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(goodStarted), []byte(goodExit))
	f.Add([]byte(goodStarted), []byte("{}"))
	f.Add([]byte("null"), []byte(`{"v":1}`))
	f.Add([]byte(`{"v":1,"shim":[]}`), []byte{0xff})
	dir := folder(f, nil)
	f.Fuzz(func(t *testing.T, started, exit []byte) {
		for name, text := range map[string][]byte{"started.json": started, "exit.json": exit} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, x, err := Read(dir)
		switch {
		case err == nil && (s.Key != "k" || s.Agent.PID <= 1 || s.Shim.PID <= 1 || s.At.Boot == ""):
			t.Errorf("taken: %+v", s)
		case err == nil && (x == nil || x.Agent != s.Agent || (x.Status == nil) == (x.Signal == nil)):
			t.Errorf("taken: %+v", x)
		case err != nil && !strings.Contains(err.Error(), dir):
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

func FuzzParseMarker(f *testing.F) {
	for _, s := range []string{"a:b", "a:b:c", ":b", "a:", "a", "a b\n:x.y", "a:.b", "a:b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, i, ok := ParseMarker(s); ok && (n+":"+i != s || n == "" || !IsKey(i)) {
			t.Errorf("%q became %q, %q", s, n, i)
		}
	})
}

func TestVoidComesFirstOrNotAtAll(t *testing.T) {
	dir := folder(t, nil)
	if err := Void(dir); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadClaim(dir); err != nil || c.Shim != (ID{}) {
		t.Errorf("%+v, %v", c, err)
	}
	if err := Void(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second: %v", err)
	}
	yes := func(ID) bool { return true }
	if _, err := Await(t.Context(), dir, ID{}, yes); !errors.Is(err, ErrSpent) {
		t.Errorf("awaiting it: %v", err)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestAwait(t *testing.T) {
	no := func(ID) bool { return false }
	if _, err := Await(t.Context(), folder(t, map[string]string{"claim": goodClaim}), ID{}, no); !errors.Is(err, ErrLost) {
		t.Errorf("a shim that is gone: %v", err)
	}
	if _, err := Await(t.Context(), folder(t, nil), ID{10, 1}, no); !errors.Is(err, ErrNoShim) {
		t.Errorf("a shim that never was: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Await(ctx, folder(t, nil), ID{}, no); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody: %v", err)
	}
	dir := folder(t, map[string]string{"claim": goodClaim})
	late := func(ID) bool { // it writes its record and ends between two looks
		_ = os.WriteFile(filepath.Join(dir, "started.json"), []byte(goodStarted), 0o600)
		return false
	}
	if s, err := Await(t.Context(), dir, ID{}, late); err != nil || s.Agent.PID != 11 {
		t.Errorf("one that ended at once: %+v, %v", s, err)
	}
}

// Clear removes what is the shim's and nothing else.
func TestClearKeepsWhatIsNotOurs(t *testing.T) {
	dir := folder(t, map[string]string{"claim": goodClaim, "failed.json": goodFailed, "settings.json": "mine"})
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 || entries[0].Name() != "settings.json" {
		t.Errorf("left are %v", entries)
	}
}

func TestPrepareRefuses(t *testing.T) {
	for what, err := range map[string]error{
		"no command":  Prepare(folder(t, nil), nil, nil, "/"),
		"NUL":         Prepare(folder(t, nil), []string{"a\x00"}, nil, "/"),
		"no variable": Prepare(folder(t, nil), []string{"a"}, []string{"=x"}, "/"),
		"no folder":   Prepare("/nonexistent/x", []string{"a"}, nil, "/"),
	} {
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	dir := folder(t, nil)
	if err := Prepare(dir, []string{"a"}, []string{"K=secret"}, "/"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(launchFile(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	if got, err := Find(filepath.Join(dir, "custos")); err == nil {
		t.Errorf("found %s", got)
	}
	want := filepath.Join(dir, Program)
	if err := os.WriteFile(want, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(filepath.Join(dir, "custos")); got != want || err != nil {
		t.Errorf("beside: %q, %v", got, err)
	}
	t.Setenv("PATH", dir)
	if got, err := Find("/elsewhere/custos"); got != want || err != nil {
		t.Errorf("in PATH: %q, %v", got, err)
	}
}

func TestTailOverRotation(t *testing.T) {
	dir := folder(t, map[string]string{"stdout.log.1": "first\nsecond\n", "stdout.log": "third\n"})
	for max, want := range map[int64]string{0: "", 3: "", 6: "third\n", 10: "third\n", 13: "second\nthird\n", 100: "first\nsecond\nthird\n"} {
		if got, err := Tail(dir, max); string(got) != want || err != nil {
			t.Errorf("%d: %q, %v", max, got, err)
		}
	}
	if _, err := Tail(folder(t, nil), 5); err == nil {
		t.Error("no log gave no error")
	}
}

// What is cut would show half of a secret, or one without the name that tells it.
func TestWhatIsCutShowsNoHalfOfASecret(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("AbCd0123", 10)
	pem := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("Q", 64)+"\n", 5) + "-----END PRIVATE KEY-----\n"
	for name, text := range map[string]string{
		"lines":           "it says\nFORGE_TOKEN=hunter2-hunter2 " + key + " and more\nlast\n",
		"one line":        `{"type":"result","api_key": "hunter2-hunter2","x":"` + key + `","text":"` + strings.Repeat("the end of it ", 9) + `"}`,
		"a block of them": "before\n" + pem + "last words\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"stdout.log": text, "stderr.log": text})
			for max := range int64(len(text)) {
				for _, read := range []func(string, int64) ([]byte, error){Tail, TailErrors} {
					got, err := read(dir, max)
					if err != nil || int64(len(got)) > max {
						t.Fatalf("%d: %q, %v", max, got, err)
					}
					shown := fleet.Redact(string(got))
					for _, secret := range []string{"hunter2", "AbCd0123", "QQQQ"} {
						if strings.Contains(shown, secret) {
							t.Fatalf("%d bytes: %q", max, shown)
						}
					}
				}
			}
			if got, err := Tail(dir, int64(len(text)-5)); err != nil || len(got) == 0 {
				t.Errorf("of nearly all nothing is left: %q, %v", got, err)
			}
		})
	}
}

func TestTurns(t *testing.T) {
	var turns Turns
	var wg sync.WaitGroup
	inside := 0
	for range 50 {
		wg.Go(func() {
			done, err := turns.Take(t.Context(), "/k")
			if err != nil {
				t.Error(err)
				return
			}
			defer done()
			inside++ // the race detector sees two at once
		})
	}
	wg.Wait()
	if inside != 50 || len(turns.busy) != 0 {
		t.Errorf("%d had a turn, %d are left", inside, len(turns.busy))
	}
	done, _ := turns.Take(t.Context(), "/k")
	defer done()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.Take(ctx, "/k"); err == nil {
		t.Error("a cancelled one had a turn")
	}
	if other, err := turns.Take(ctx, "/j"); err != nil {
		t.Errorf("another instance had to wait: %v", err)
	} else {
		other()
	}
}
