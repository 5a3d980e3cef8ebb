package session_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"custos/internal/session"
)

func TestTyped(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\rc\n\td":                "a\nb\nc\n\td",
		"x\x1b[201~\x03\x00\x7f\u009by": "x[201~y",
		"bro\xffken":                    "bro\uFFFDken",
		"漢\u3000字 \u00a0 👩\u200d💻":      "漢\u3000字 \u00a0 👩\u200d💻",
	} {
		if got := session.Typed(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// FuzzTyped: no text can press a key, and what is safe stays as it is.
func FuzzTyped(f *testing.F) {
	f.Add("a\r\nb")
	f.Add("\x1b[201~\xff\u009b")
	f.Fuzz(func(t *testing.T, s string) {
		got := session.Typed(s)
		if !utf8.ValidString(got) || session.Typed(got) != got {
			t.Errorf("%q became %q, and that %q", s, got, session.Typed(got))
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && (r < 0x20 || 0x7f <= r && r < 0xa0) {
				t.Errorf("%q became %q, with %q in it", s, got, r)
			}
		}
		if len(strings.Fields(s)) > 0 && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || 0x7f <= r && r < 0xa0 }) && got != s {
			t.Errorf("%q was changed to %q", s, got)
		}
	})
}
