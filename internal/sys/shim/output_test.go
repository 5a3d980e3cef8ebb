package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// numbered is lines that all differ.
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %06d of what it prints\n", i)
	}
	return b.String()
}

func TestTheEndOfALog(t *testing.T) {
	dir := folder(t, map[string]string{"stdout.log.1": "one\ntwo\n", "stdout.log": "three\nfo"})
	out, err := End(dir, Stdout, false)
	if err != nil || string(out.Text) != "one\ntwo\nthree\n" || string(out.Rest) != "fo" || out.Gap {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := End(dir, Stdout, true); err != nil || string(out.Text) != "one\ntwo\nthree\nfo" || len(out.Rest) != 0 {
		t.Errorf("what ended without a newline: %+v, %v", out, err)
	}
	if _, err := End(dir, Stderr, false); err == nil {
		t.Error("a log that is not there was read")
	}
}

func TestALogThatIsLargerThanOneAnswer(t *testing.T) {
	all := numbered(0, 100_000)
	dir := folder(t, map[string]string{"stdout.log": all})
	out, err := End(dir, Stdout, false)
	if err != nil || len(out.Text) > maxChunk || !strings.HasPrefix(string(out.Text), "line ") || !strings.HasSuffix(all, string(out.Text)) {
		t.Errorf("%d bytes, %.30q, %v", len(out.Text), out.Text, err)
	}
	if got := gather(t, dir, Mark{}); got != all {
		t.Errorf("%d bytes of %d were told piece by piece", len(got), len(all))
	}
}

// gather asks until nothing new comes.
func gather(t *testing.T, dir string, m Mark) (all string) {
	t.Helper()
	for {
		out, err := After(dir, Stdout, m, false)
		if err != nil || out.Gap {
			t.Fatalf("%v, gap %v", err, out.Gap)
		}
		if len(out.Text) == 0 {
			return all
		}
		all, m = all+string(out.Text), out.Next
	}
}

// Who goes on from a mark is told each line once, whatever is rotated meanwhile.
func TestGoingOnOverRotations(t *testing.T) {
	const line = 29
	for name, c := range map[string]struct {
		before, now string
		want        string
		gap         bool
	}{
		"nothing new":             {"", numbered(0, 500), "", false},
		"more":                    {"", numbered(0, 700), numbered(500, 700), false},
		"half a line":             {"", numbered(0, 600) + "line 6", numbered(500, 600), false},
		"all of it was moved":     {numbered(0, 500), "", "", false},
		"more, and all was moved": {numbered(0, 600), numbered(600, 601), numbered(500, 601), false},
		"only its end was kept":   {numbered(300, 600), numbered(600, 900), numbered(500, 900), false},
		"in the middle of a line": {numbered(0, 900)[7 : 1000*line/2], numbered(0, 900)[1000*line/2:], numbered(500, 900), false},
		"rotated twice":           {numbered(600, 700), numbered(700, 701), numbered(600, 701), true},
		"another log":             {"", "new\n", "new\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"stdout.log": numbered(0, 500)})
			first, err := End(dir, Stdout, false)
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "stdout.log", c.now)
			if c.before != "" {
				put(t, dir, "stdout.log.1", c.before)
			}
			got, err := After(dir, Stdout, first.Next, false)
			if err != nil || string(got.Text) != c.want || got.Gap != c.gap {
				t.Errorf("gap %v, %v: %.80q…, want %.80q…", got.Gap, err, got.Text, c.want)
			}
		})
	}
}

// Nothing had been printed, and then so much that it was rotated at once.
func TestTheFirstLinesAreNotMissed(t *testing.T) {
	dir := folder(t, map[string]string{"stdout.log": ""})
	first, err := End(dir, Stdout, false)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "stdout.log.1", "one\n")
	put(t, dir, "stdout.log", "two\n")
	if got, err := After(dir, Stdout, first.Next, false); err != nil || string(got.Text) != "one\ntwo\n" || got.Gap {
		t.Errorf("%+v, %v", got, err)
	}
}

// A key is told whole or not yet: half of one would not be known for what it is.
func TestAKeyIsToldWhole(t *testing.T) {
	const begun = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n"
	const ended = begun + "MIIdef\n-----END RSA PRIVATE KEY-----\n"
	dir := folder(t, map[string]string{"stdout.log": "hello\n" + begun})
	out, err := End(dir, Stdout, false)
	if err != nil || string(out.Text) != "hello\n" {
		t.Fatalf("%q, %v", out.Text, err)
	}
	put(t, dir, "stdout.log", "hello\n"+ended)
	if got, err := After(dir, Stdout, out.Next, false); err != nil || string(got.Text) != ended {
		t.Errorf("%q, %v", got.Text, err)
	}
	put(t, dir, "stdout.log", "hello\n"+begun+strings.Repeat("x\n", maxBlock))
	if got, err := After(dir, Stdout, out.Next, false); err != nil || len(got.Text) == 0 {
		t.Errorf("a block without an end holds up everything: %v", err)
	}
}

func TestMarks(t *testing.T) {
	for _, m := range []Mark{{}, {At: -5, Len: 3, Sum: 1 << 63}, {At: 1 << 40, Len: summed, Sum: 7}} {
		if got, err := ParseMark(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	for _, text := range []string{"", "1", "1.2", "a.b.c", "1.-2.3", "1.9999.3", "1.2.3 ", "1.2.3.4", "01.2.3"} {
		if m, err := ParseMark(text); err == nil {
			t.Errorf("%q was read as %v", text, m)
		}
	}
}
