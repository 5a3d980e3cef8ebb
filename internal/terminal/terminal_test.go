package terminal_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/terminal"
)

func TestReadKnowsLooks(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []terminal.Line
	}{
		{"plain", "a b", []terminal.Line{{{"a b", ""}}}},
		{"sixteen", "\x1b[31mred\x1b[0m \x1b[92mgreen\x1b[39m.", []terminal.Line{{{"red", "f1"}, {" ", ""}, {"green", "f10"}, {".", ""}}}},
		{"256", "\x1b[38;5;208mx\x1b[48;5;19my", []terminal.Line{{{"x", "f208"}, {"y", "f208 b19"}}}},
		{"true colour", "\x1b[38;2;255;135;0mx\x1b[38:2::255:135:0my\x1b[38:2:255:135:0mz", []terminal.Line{{{"xyz", "f208"}}}},
		{"emphasis", "\x1b[1;3;4mx\x1b[22;23;24my\x1b[9mz\x1b[4mw", []terminal.Line{{{"x", "bo it ul"}, {"y", ""}, {"z", "st"}, {"w", "us"}}}},
		{"dim", "\x1b[2mx\x1b[22my", []terminal.Line{{{"x", "fD"}, {"y", ""}}}},
		{"inverse", "\x1b[7mx\x1b[27my\x1b[7;32mz", []terminal.Line{{{"x", "fB bF"}, {"y", ""}, {"z", "fB b2"}}}},
		{"what its colours would hide is shown", "\x1b[30mx\x1b[97;107my\x1b[0;41mz", []terminal.Line{{{"x", "fW"}, {"y", "fK b15"}, {"z", "fK b1"}}}},
		{"what it hides is hidden", "\x1b[8mab\x1b[28mc", []terminal.Line{{{"  c", ""}}}},
		{"a look goes on", "\x1b[31ma\nb\x1b[0m\nc", []terminal.Line{{{"a", "f1"}}, {{"b", "f1"}}, {{"c", ""}}}},
		{"wide", "a日b", []terminal.Line{{{"a", ""}, {"日", "w2"}, {"b", ""}}}},
		{"what a font may lack", "\x1b[31m● a\u0338é", []terminal.Line{{{"●", "f1 w1"}, {" ", "f1"}, {"a\u0338", "f1 w1"}, {"é", "f1"}}}},
		{"what every font for code has", "aé┌█Ωж–…", []terminal.Line{{{"aé┌█Ωж–…", ""}}}},
		{"three letters written as one", "\u0928\u094d\u0926\u0940", []terminal.Line{{{"\u0928\u094d\u0926\u0940", "w3"}}}},
		{"frames of the DEC set", "\x0elqk\x0fq", []terminal.Line{{{"┌─┐q", ""}}}},
		{"underline by a colon", "\x1b[4:3mx\x1b[4:0my", []terminal.Line{{{"x", "ul"}, {"y", ""}}}},
		{"the colour of an underline is none of a text", "\x1b[58;5;1mx\x1b[58:2::1:2:3my", []terminal.Line{{{"xy", ""}}}},
		{"title", "\x1b]0;evil\x07a\x1b]2;evil\x1b\\b", []terminal.Line{{{"ab", ""}}}},
		{"link", "\x1b]8;;https://evil.example\x1b\\a\x1b]8;;\x1b\\", []terminal.Line{{{"a", ""}}}},
		{"clipboard", "\x1b]52;c;ZXZpbA==\x07a", []terminal.Line{{{"a", ""}}}},
		{"one that does not end", "a\x1b]52;c;ZXZ\nb\x1b[3\nc\x1b", []terminal.Line{{{"a", ""}}, {{"b", ""}}, {{"c", ""}}}},
		{"other sequences", "a\x1b[2Jb\x1b[?25lc\x1b[>4;1md\x1bcE\x1b(Bf\x1bPevil\x1b\\g", []terminal.Line{{{"abcdEfg", ""}}}},
		{"broken parameters", "\x1b[38;5mx\x1b[38;2;1my\x1b[99999999999999999999mz\x1b[38;5;256m!", []terminal.Line{{{"xyz!", ""}}}},
		{"what turns a text around", "a\u202eb\u2066c\u200d", []terminal.Line{{{"abc", ""}}}},
		{"broken UTF-8", "a\xff\xc3", []terminal.Line{{{"a", ""}, {"\ufffd", "w1"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := terminal.Read(c.in); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheCursorIsShown(t *testing.T) {
	for _, c := range []struct {
		in   string
		x, y int
		want terminal.Line
	}{
		{"abc", 1, 0, terminal.Line{{"a", ""}, {"b", "cu"}, {"c", ""}}},
		{"\x1b[31mabc", 0, 0, terminal.Line{{"a", "f1 cu"}, {"bc", "f1"}}},
		{"ab", 2, 0, terminal.Line{{"ab", ""}, {" ", "cu"}}},
		{"ab", 4, 0, terminal.Line{{"ab", ""}, {"  ", ""}, {" ", "cu"}}},
		{"日b", 2, 0, terminal.Line{{"日", "w2"}, {"b", "cu"}}},
		{"日b", 1, 0, terminal.Line{{"日", "w2 cu"}, {"b", ""}}},
		{"a", 0, 1, terminal.Line{{" ", "cu"}}},
	} {
		if got := terminal.WithCursor(terminal.Read(c.in), c.x, c.y)[c.y]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q at %d, %d: %q, want %q", c.in, c.x, c.y, got, c.want)
		}
	}
}

// A secret is hidden also where its colours would break it into several spans.
func TestHideFindsSecretsAcrossLooks(t *testing.T) {
	hide := func(lines []string) []string { return strings.Split(fleet.Redact(strings.Join(lines, "\n")), "\n") }
	in := terminal.Read("\x1b[1mabove\x1b[0m\nuse \x1b[31mghp_AbCdEf01234\x1b[32m56789AbCdEf0123456789AbCd\x1b[0m now\n-----BEGIN RSA PRIVATE KEY-----\nsecret\n-----END RSA PRIVATE KEY-----\n\x1b[1mbelow")
	got := terminal.Hide(in, hide)
	want := []terminal.Line{{{"above", "bo"}}, {{"use *** now", ""}}, {{"***", ""}}, {{"below", "bo"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// What is remembered of the picture before changes nothing of what is found in this one.
func TestARedactorFindsWhatRedactDoes(t *testing.T) {
	parts := []string{"", "  ", "plain words", "password:", "= hunter2-pass", "hunter2-pass", `"hunter2`, `pass" and on`, "FORGE_TOKEN='abc", "use ghp_AbCdEf0123456789AbCdEf0123456789AbCd",
		"-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc201", "QyNTUxOQAAACBxk2Vj0sGmE4rNf8UuWq1LZ9hT3pYbXoD7iCw6aRvKtAAAAJg5Hn2Mzk", "12 tokens", "--api-key", `{\"secret\": \"hunter`, "https://me:pw@host/", "Cookie:", "ghp_AbCdEf0123", "456789AbCdEf0123456789AbCd"}
	rapid.Check(t, func(t *rapid.T) {
		var r terminal.Redactor
		for range 3 {
			lines := rapid.SliceOfN(rapid.SampledFrom(parts), 0, 8).Draw(t, "lines")
			want := fleet.Redact(strings.Join(fleet.RedactWrapped(lines, fleet.Redact), "\n"))
			var got []string
			for _, l := range r.Hide(terminal.Read(strings.Join(lines, "\n"))) {
				got = append(got, l.Text())
			}
			if strings.Join(got, "\n") != want {
				t.Fatalf("%q is %q, want %q", lines, got, want)
			}
		}
	})
}

// anyLines are pictures as they follow each other: few texts, so that much is alike.
func anyLines(t *rapid.T, name string) []terminal.Line {
	line := rapid.Custom(func(t *rapid.T) terminal.Line {
		return terminal.Read(rapid.SampledFrom([]string{"", "a", "b", "\x1b[31mc", "d日", "  e"}).Draw(t, "line"))[0]
	})
	return rapid.SliceOfN(line, 0, 12).Draw(t, name)
}

func equal(a, b []terminal.Line) bool {
	return slices.EqualFunc(a, b, func(x, y terminal.Line) bool { return slices.Equal(x, y) })
}

func TestApplyMakesOfOneWhatTheOtherIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyLines(t, "a"), anyLines(t, "b")
		if rapid.Bool().Draw(t, "scrolls") && len(a) > 0 {
			b = append(slices.Clone(a[rapid.IntRange(0, len(a)-1).Draw(t, "up"):]), b...)
		}
		kept := slices.Clone(a)
		c := terminal.Diff(a, b)
		if got := terminal.Apply(c, a); !equal(got, b) {
			t.Fatalf("of %q by %+v came %q, want %q", a, c, got, b)
		}
		if !equal(a, kept) {
			t.Fatal("the picture before was changed")
		}
	})
}

// A screen that scrolls by a line is told of by the line that came.
func TestDiffKnowsAScrolledScreen(t *testing.T) {
	var a, b []terminal.Line
	for i := range 50 {
		a = append(a, terminal.Read(fmt.Sprint("line ", i))[0])
		b = append(b, terminal.Read(fmt.Sprint("line ", i+1))[0])
	}
	if c := terminal.Diff(a, b); c.Up != 1 || len(c.Set) != 1 || c.Set[0].At != 49 {
		t.Errorf("%+v", c)
	}
	if c := terminal.Diff(a, a); c.Up != 0 || len(c.Set) != 0 {
		t.Errorf("nothing has changed: %+v", c)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a\x1b[1;31mb", "\x1b]8;;x\x1b\\y", "\x1b[38;2;1;2;3m日", "\x1b", "\x1b[", "\x0eq\x0f", "\xff\x9b31m", "\u009b31m", "a\tb", "\x1b[38:2:::1m"} {
		f.Add(s)
	}
	sheet := terminal.Sheet()
	f.Fuzz(func(t *testing.T, s string) {
		lines := terminal.Read(s)
		if len(lines) > strings.Count(s, "\n")+1 {
			t.Fatalf("%d lines of %q", len(lines), s)
		}
		for _, l := range terminal.WithCursor(lines, len(s)%7, len(lines)/2) {
			for _, span := range l {
				if span[0] == "" || !utf8.ValidString(span[0]) || strings.ContainsFunc(span[0], func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }) {
					t.Fatalf("%q shows %q", s, span[0])
				}
				for _, class := range strings.Fields(span[1]) {
					if !strings.Contains(sheet, ".terminal ."+class+"{") {
						t.Fatalf("%q looks %q", s, span[1])
					}
				}
			}
		}
	})
}

func TestStrokesAreOfAPerson(t *testing.T) {
	for _, s := range []terminal.Stroke{{Text: "é日"}, {Key: "Enter"}, {Key: "C-c"}, {Key: "M-b"}, {Key: "S-Up"}, {Key: "F12"}, {Paste: "a\nb\x1b[201~"}} {
		if err := terminal.CheckStrokes([]terminal.Stroke{s}); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []terminal.Stroke{{}, {Text: "a", Key: "Up"}, {Text: "a\x1b"}, {Text: "a\n"}, {Text: "\xff"}, {Text: "\u009b"}, {Key: "Up ; kill-server"}, {Key: "-t"}, {Key: "a"}, {Key: "C-"}, {Key: "MouseDown1Pane"},
		{Text: strings.Repeat("a", 2000)}, {Paste: strings.Repeat("a", 100_000)}} {
		if err := terminal.CheckStrokes([]terminal.Stroke{s}); err == nil {
			t.Errorf("%+.20v is taken", s)
		}
	}
	if terminal.CheckStrokes(nil) == nil || terminal.CheckStrokes(make([]terminal.Stroke, 65)) == nil {
		t.Error("no key, and too many at once, are taken")
	}
	if n := terminal.Count([]terminal.Stroke{{Text: "日本"}, {Key: "Up"}, {Paste: "long"}}); n != 4 {
		t.Errorf("%d keys", n)
	}
}

// busy is a screen of an agent CLI: frames, colours, 50 lines of 200 columns.
func busy(n int) string {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "\x1b[38;5;%dm│\x1b[0m \x1b[1mline %d\x1b[0m %s \x1b[38;2;%d;80;90m%s\x1b[39m\n", i%256, n+i, strings.Repeat("some words of it ", 6), i, strings.Repeat("x ", 30))
	}
	return b.String()
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		terminal.Read(busy(1))
	}
}

// BenchmarkHide is a screen of which two lines change from one picture to the next.
func BenchmarkHide(b *testing.B) {
	lines, other := terminal.Read(busy(1)), terminal.Read(busy(7000))
	var r terminal.Redactor
	for n := 0; b.Loop(); n++ {
		next := slices.Clone(lines)
		next[n%40], next[45] = other[n%40], other[n%30]
		r.Hide(next)
	}
}

func BenchmarkDiff(b *testing.B) {
	x, y := terminal.Read(busy(1)), terminal.Read(busy(2))
	for b.Loop() {
		terminal.Diff(x, y)
	}
}
