package fleet

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPathRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		safe := Path(raw)
		if RawPath(safe) != raw {
			t.Fatalf("%q became %q and came back as %q", raw, safe, RawPath(safe))
		}
		if strings.ContainsAny(safe, "\x1b\n\x00") {
			t.Fatalf("%q is not safe to show", safe)
		}
	})
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"FORGE_TOKEN=abc123":                "FORGE_TOKEN=***",
		`"api_key": "verysecret"`:           `"api_key": "***"`,
		"Authorization: Bearer abcdefghijk": "Authorization: Bearer ***",
		"curl https://me:pw@host/x":         "curl https://me:***@host/x",
		"key sk-ant-REDACTED is mine":       "key *** is mine",
		"nothing secret here":               "nothing secret here",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	got := strings.Join(RedactArgs([]string{"claude", "--api-key", "hunter2", "-p", "hi"}), " ")
	if got != "claude --api-key *** -p hi" {
		t.Errorf("RedactArgs = %q", got)
	}
}

func TestTextStripsEscapes(t *testing.T) {
	if got := Text("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x00\xff"); got != "red x\uFFFD" {
		t.Errorf("Text = %q", got)
	}
}

// What may be shown of every rune there is, is what Go calls printable.
func TestTextKeepsWhatIsPrintable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == '\x1b' {
			continue
		}
		if got, want := Text(string(r)) != "", r == '\n' || r == '\t' || unicode.IsPrint(r); got != want {
			t.Fatalf("%U is shown: %v, want %v", r, got, want)
		}
	}
}
