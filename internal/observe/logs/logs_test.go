package logs

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

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func look(t *testing.T, o Options) ([]fleet.Log, error) {
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
	return s.Logs.Value, err
}

func TestSizeAgeAndTail(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	b.WriteString("\x1b[31mtoken=hunter2hunter2\x1b[0m\r\n")
	b.WriteString(strings.Repeat("long ", 200) + "\xff\n")
	path := put(t, t.TempDir()+"/a.log", b.String())
	now := time.Now()
	if err := os.Chtimes(path, now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	logs, err := look(t, Options{Globs: []string{path}, Now: func() time.Time { return now }})
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	log := logs[0]
	if n, _ := log.Bytes.Get(); n != int64(b.Len()) || log.File.Size != n || log.Owner != fleet.OwnerConfigured {
		t.Errorf("%+v", log)
	}
	if age, _ := log.Age.Get(); time.Duration(age) != time.Hour {
		t.Errorf("age %v", age)
	}
	tail, ok := log.Tail.Get()
	if !ok || len(tail) != tailLines || tail[0] != "line 4987" || tail[13] != "token=***" {
		t.Errorf("tail %q", tail)
	}
	if last := tail[14]; len([]rune(last)) != lineRunes || !strings.HasSuffix(last, "…") {
		t.Errorf("last line %q", last)
	}
}

// A key is one secret over many lines.
func TestAKeyInALogIsHidden(t *testing.T) {
	path := put(t, t.TempDir()+"/a.log", "begun\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow-hunter2\n-----END RSA PRIVATE KEY-----\nended\n")
	logs, err := look(t, Options{Globs: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	if tail, _ := logs[0].Tail.Get(); strings.Join(tail, "|") != "begun|***|ended" {
		t.Errorf("%q", tail)
	}
}

// A secret that the cut would halve is hidden whole.
func TestSecretsAreSoughtBeforeTheCut(t *testing.T) {
	line := strings.Repeat("x", lineRunes-15) + " token=" + strings.Repeat("hunter2", 10)
	logs, err := look(t, Options{Globs: []string{put(t, t.TempDir()+"/a.log", line)}})
	if err != nil {
		t.Fatal(err)
	}
	if tail, _ := logs[0].Tail.Get(); strings.Contains(strings.Join(tail, ""), "hun") {
		t.Errorf("tail %q", tail)
	}
}

// Only the logs written to last are read, and all are sized.
func TestOnlyTheLatestTails(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i := range tails + 5 {
		path := put(t, fmt.Sprintf("%s/%03d.log", dir, i), "x\n")
		if err := os.Chtimes(path, now, now.Add(-time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := look(t, Options{Globs: []string{dir + "/*.log"}})
	if err != nil || len(logs) != tails+5 {
		t.Fatalf("%d, %v", len(logs), err)
	}
	for i, l := range logs {
		if l.Tail.IsKnown() != (i < tails) || !l.Bytes.IsKnown() {
			t.Errorf("%s: tail %v", l.Path, l.Tail)
		}
	}
}

func TestLogsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a.log", "")
	if err := os.Symlink("/etc/passwd", dir+"/b.log"); err != nil {
		t.Fatal(err)
	}
	future := put(t, dir+"/c.log", "x")
	if err := os.Chtimes(future, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	logs, err := look(t, Options{Globs: []string{dir + "/*.log", dir + "/*/none.log"}})
	if err != nil || len(logs) != 2 {
		t.Fatalf("%v, %v", logs, err)
	}
	if tail, ok := logs[0].Tail.Get(); !ok || len(tail) != 0 {
		t.Errorf("tail of an empty log: %q", tail)
	}
	if logs[1].Age.IsKnown() {
		t.Error("a log of the future has an age")
	}
}

func TestAbsentCancelledRefused(t *testing.T) {
	if _, err := look(t, Options{}); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("Look = %v, want ErrAbsent", err)
	}
	p, err := New(Options{Globs: []string{put(t, t.TempDir()+"/x.log", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Look(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Look = %v", err)
	}
	if _, err := New(Options{Globs: []string{"x"}, Every: "0s"}); err == nil || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), `"0s"`) {
		t.Errorf("New = %v", err)
	}
}

// A glob with too many files hides no file of the next.
func TestGlobsDoNotStarveEachOther(t *testing.T) {
	dir := t.TempDir()
	for i := range most + 1 {
		put(t, fmt.Sprintf("%s/%d.log", dir, i), "PHASE:x")
	}
	path := put(t, dir+"/z.txt", "PHASE:x")
	seen, err := look(t, Options{Globs: []string{dir + "/*.log", dir + "/z.txt"}})
	if err == nil || !strings.Contains(err.Error(), `/*.log" 2001 match`) || strings.Contains(err.Error(), "z.txt") {
		t.Errorf("error %v", err)
	}
	if len(seen) != most+1 || seen[most].Path != path {
		t.Errorf("%d seen, not the last", len(seen))
	}
}
