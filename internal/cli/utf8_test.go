package cli_test

import (
	"bytes"
	"strings"
	"testing"
)

// Whatever is said to an agent in another encoding is refused, with the byte.
func TestTextsAreUTF8(t *testing.T) {
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"caf\xe9", []string{"nudge", "a", "-"}, "cannot read the text: it is not UTF-8 (0xE9, byte 4)"},
		{"", []string{"nudge", "a", "caf\xe9"}, "cannot read the text: it is not UTF-8 (0xE9, byte 4)"},
		{"", []string{"answer", "a", "\xff"}, "cannot read the answer: it is not UTF-8 (0xFF, byte 1)"},
		{"", []string{"spawn", "a", "--kind", "claude", "--dir", "/tmp", "--prompt", "caf\xe9"}, "cannot read the prompt: it is not UTF-8 (0xE9, byte 4)"},
		{"caf\xe9", []string{"mail", "send", "a", "subject", "--body", "-"}, "cannot read the body: it is not UTF-8 (0xE9, byte 4)"},
		{"", []string{"mail", "reply", "m1", "caf\xe9"}, "cannot read the body: it is not UTF-8 (0xE9, byte 4)"},
		{"caf\xe9", []string{"work", "add", "title", "--body", "-"}, "cannot read the body: it is not UTF-8 (0xE9, byte 4)"},
		{"caf\xe9", []string{"formula", "resume", "r", "--reply", "-"}, "cannot read the reply: it is not UTF-8 (0xE9, byte 4)"},
		{"caf\xe9", []string{"handoff", "a", "--file", "-"}, "cannot read the text: it is not UTF-8 (0xE9, byte 4)"},
		{"caf\xe9", []string{"trigger", "x", "--text", "-"}, "cannot read the text: it is not UTF-8 (0xE9, byte 4)"},
	} {
		var out bytes.Buffer
		code := runWith(t.Context(), t, strings.NewReader(c.stdin), &out, fake, nil, c.args...)
		if code != 2 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: ended with %d, want %q:\n%s", c.args, code, c.want, out.String())
		}
	}
}
