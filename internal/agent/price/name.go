package price

import "strings"

// Name is what a model is called in the table: without who serves it, without its date and without the
// size of its window.
func Name(model string) string {
	s := strings.ToLower(strings.TrimSpace(model))
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.Index(s, "anthropic."); i >= 0 { // us.anthropic.claude-… on Bedrock
		s = s[i+len("anthropic."):]
	}
	for _, end := range []string{"[1m]", "-v1:0", "-v1", "-latest"} {
		s = strings.TrimSuffix(s, end)
	}
	s = undated(s)
	if rest, ok := strings.CutPrefix(s, "claude-"); ok { // claude-opus-4.8, as some proxies call it
		s = "claude-" + strings.ReplaceAll(rest, ".", "-")
	}
	return s
}

// undated cuts a date off: -20251101, @20251101, -2025-11-01.
func undated(s string) string {
	for _, shape := range []string{"-dddddddd", "@dddddddd", "-dddd-dd-dd"} {
		if rest := len(s) - len(shape); rest > 0 && fits(s[rest:], shape) {
			return s[:rest]
		}
	}
	return s
}

// fits says whether a text has a shape, in which d is a digit.
func fits(s, shape string) bool {
	for i := range len(shape) {
		if shape[i] == 'd' && (s[i] < '0' || s[i] > '9') || shape[i] != 'd' && s[i] != shape[i] {
			return false
		}
	}
	return true
}
