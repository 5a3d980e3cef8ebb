package conversation

import "testing"

// Why a line cannot be counted is said in few words, the same for each number that is wrong in that way.
func TestUnreadable(t *testing.T) {
	line := func(output string) []byte {
		return []byte(`{"type":"assistant","sessionId":"s","message":{"id":"m","model":"x","usage":{"input_tokens":1,"output_tokens":` + output + `}}}`)
	}
	for says, lines := range map[string][][]byte{
		"a number of tokens is below zero":                    {line("-5"), line("-7")},
		"a number of tokens is a fraction":                    {line("1.5"), line("0.25")},
		"a number of tokens is more than a response can have": {line("1e12")},
		"output_tokens is a string, and ought to be a number": {line(`"many"`), line(`"12"`)},
		"output_tokens is an array, and ought to be a number": {line(`[1]`)},
		"it is no JSON": {line("1")[:60]},
		"output_tokens is a number that is too large for any counter": {line("1e999")},
	} {
		for _, l := range lines {
			if _, err := Read("claude", l); err == nil {
				t.Errorf("%s is read", l)
			} else if got := Unreadable(err); got != says {
				t.Errorf("%s: %q (%v), want %q", l, got, err, says)
			}
		}
	}
	if _, err := Read("codex", []byte(`{"a":1}`)); err == nil || Unreadable(err) != "it has no type" {
		t.Errorf("%v", err)
	}
}
