package phases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
)

func put(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func look(t *testing.T, o Options) ([]fleet.Phase, error) {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	fill, err := p.Look(context.Background())
	if fill == nil {
		return nil, err
	}
	var s fleet.Snapshot
	fill(&s)
	return s.Phases.Value, err
}

func TestNames(t *testing.T) {
	for name, want := range map[string]struct {
		project string
		issue   int // 0: unknown
	}{
		"dev-session-shop-42.phase":                {"shop", 42},
		"session-shop-42.phase":                    {"shop", 42},
		"dev-qwen-session-my-shop-7.phase":         {"my-shop", 7},
		"supervisor-session-shop.phase":            {"shop", 0},
		"dev-session-my.shop-42.phase":             {"my.shop", 42},
		"x-session-session-1.phase":                {"session", 1},
		"other.phase":                              {"", 0},
		"dev-session-a-99999999999999999999.phase": {"a", 0},
	} {
		path := put(t, t.TempDir()+"/"+name, "PHASE:escalate no way out\nmore\n")
		phases, err := look(t, Options{Globs: []string{path}})
		if err != nil || len(phases) != 1 {
			t.Fatalf("%s: %v, %v", name, phases, err)
		}
		p := phases[0]
		if issue, known := p.Issue.Get(); p.Project != want.project || issue != want.issue || known != (want.issue != 0) {
			t.Errorf("%s: project %q, issue %v (%s)", name, p.Project, issue, p.Issue.Why())
		}
		if word, _ := p.Phase.Get(); word != "escalate" || p.Reason != "no way out" {
			t.Errorf("%s: phase %q, reason %q", name, word, p.Reason)
		}
		if p.Closed.IsKnown() || p.Closed.Why() != "no forge configured" || p.Owner != fleet.OwnerConfigured || p.File.Size == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestOtherContentIsUnknown(t *testing.T) {
	for _, content := range []string{"", "done", "PHASE:\x1b[31m", "password=hunter2hunter2", "\xff\xfe"} {
		phases, err := look(t, Options{Globs: []string{put(t, t.TempDir()+"/a-session-b-1.phase", content)}})
		if err != nil || len(phases) != 1 || phases[0].Phase.IsKnown() {
			t.Errorf("%q: %+v, %v", content, phases, err)
			continue
		}
		if why := phases[0].Phase.Why(); strings.Contains(why, "hunter2") || strings.ContainsAny(why, "\x1b\xff") {
			t.Errorf("%q: unsafe %q", content, why)
		}
	}
}

func TestReasonIsSafe(t *testing.T) {
	path := put(t, t.TempDir()+"/a-session-b-1.phase", "PHASE:failed \x1b]0;x\x07token=hunter2hunter2 "+strings.Repeat("y", 900))
	phases, err := look(t, Options{Globs: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	if r := phases[0].Reason; strings.Contains(r, "hunter2") || strings.Contains(r, "\x1b") || len([]rune(r)) > 200 {
		t.Errorf("reason %q", r)
	}
}

func TestOwnPatternAndAge(t *testing.T) {
	path := put(t, t.TempDir()+"/7_shop.st", "PHASE:done\n")
	now := time.Now()
	if err := os.Chtimes(path, now, now.Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	o := Options{Globs: []string{path}, Pattern: `^(?P<issue>\d+)_(?P<project>.*)\.st$`, Now: func() time.Time { return now }}
	phases, err := look(t, o)
	if err != nil {
		t.Fatal(err)
	}
	issue, _ := phases[0].Issue.Get()
	if age, ok := phases[0].Age.Get(); issue != 7 || phases[0].Project != "shop" || !ok || time.Duration(age) != 25*time.Hour {
		t.Errorf("%+v", phases[0])
	}
	o.Now = func() time.Time { return now.Add(-48 * time.Hour) } // the clock was set back
	if phases, err = look(t, o); err != nil || phases[0].Age.IsKnown() {
		t.Errorf("age %v, %v", phases[0].Age, err)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Options{Globs: []string{"x"}, Pattern: "(?P<project>.)", Every: "-1s"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"x"`, "(?P<issue>", `"-1s"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
	if _, err := New(Options{Pattern: "("}); err == nil {
		t.Error("a broken pattern was accepted")
	}
}

func TestAbsentAndCancelled(t *testing.T) {
	if _, err := look(t, Options{}); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("Look = %v, want ErrAbsent", err)
	}
	p, err := New(Options{Globs: []string{put(t, t.TempDir()+"/x.phase", "PHASE:done")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Look(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Look = %v", err)
	}
}

// Nothing a phase file or its name holds is shown unsafe, and no name panics.
func FuzzPhase(f *testing.F) {
	f.Add("dev-session-a-1.phase", []byte("PHASE:done"))
	f.Add("x\xff.phase", []byte("PHASE:failed\nReason: \x1b[2J"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if strings.ContainsAny(name, "/\x00*?[\\") || name == "" || name[0] == '.' || name[0] == '~' || len(name) > 200 {
			t.Skip()
		}
		path := t.TempDir() + "/" + name
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Skip()
		}
		phases, err := look(t, Options{Globs: []string{path}})
		if strings.Contains(name, ".custos") {
			return
		}
		if err != nil || len(phases) != 1 {
			t.Fatalf("%v, %v", phases, err)
		}
		p := phases[0]
		for _, text := range []string{p.Project, p.Reason, p.Phase.Why(), p.Issue.Why()} {
			if fleet.Line(text, 200) != text {
				t.Errorf("unsafe text %q", text)
			}
		}
		if fleet.RawPath(p.Path) != path {
			t.Errorf("path %q of %q", p.Path, path)
		}
	})
}

// A glob with too many files hides no file of the next.
func TestGlobsDoNotStarveEachOther(t *testing.T) {
	dir := t.TempDir()
	for i := range most + 1 {
		put(t, fmt.Sprintf("%s/%d.phase", dir, i), "PHASE:x")
	}
	path := put(t, dir+"/z.txt", "PHASE:x")
	seen, err := look(t, Options{Globs: []string{dir + "/*.phase", dir + "/z.txt"}})
	if err == nil || !strings.Contains(err.Error(), `/*.phase" 2001 match`) || strings.Contains(err.Error(), "z.txt") {
		t.Errorf("error %v", err)
	}
	if len(seen) != most+1 || seen[most].Path != path {
		t.Errorf("%d seen, not the last", len(seen))
	}
}

// A name that fits and has no issue is told from one that does not fit.
func TestUnnumbered(t *testing.T) {
	p, err := New(Options{Globs: []string{"/tmp/*.phase"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"supervisor-session-shop.phase": true, "dev-session-shop-42.phase": false, "other.phase": false, "dev-session-shop-99999999999999999999.phase": false} {
		if _, _, got := p.named(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
