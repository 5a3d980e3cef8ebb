package fleet

import (
	"regexp"
	"slices"
	"strings"
)

// margin is how far from the edge of a terminal a program may break its lines.
const margin = 8

// RedactWrapped hides secrets that the edge of a terminal has broken: what hide knows
// for one only when two lines are read as one goes from both. The widest line shows
// where the edge is. It hides what a line ends with that may become one, too: while it
// is typed it is not long enough yet. What is below a secret that ends with its line stays.
func RedactWrapped(lines []string, hide func(string) string) []string {
	edge := 0
	for _, l := range lines {
		edge = max(edge, len([]rune(l)))
	}
	out, masked := slices.Clone(lines), false
	for i := 1; i < len(lines); i++ {
		above, here := strings.TrimSpace(lines[i-1]), strings.TrimSpace(lines[i])
		onward := masked && !strings.ContainsAny(above, " \t") // the line above was nothing else
		full := len([]rune(lines[i-1])) >= edge-margin && !ofKey(above) && !ofKey(here)
		masked = full && here != "" && (onward || goesOn(above, here, hide))
		if masked {
			out[i-1], out[i] = withoutLast(out[i-1]), withoutFirst(lines[i])
		}
	}
	for i, l := range out {
		out[i] = withoutStump(l)
	}
	return out
}

// goesOn says whether what hide knows for a secret goes from one line on into the next one.
func goesOn(above, here string, hide func(string) string) bool {
	both := hide(above + here)
	beginsHere := strings.HasPrefix(both, above) && strings.HasPrefix(hide(here), "***")
	return both != hide(above)+hide(here) && !beginsHere && !endsAbove(above, here, hide)
}

// endsAbove says whether a secret that its own line shows to be one ends there, though read on
// into the line below it would be longer: where it looks random, and that line begins with a
// word. Of what goes on at random a word has come by chance, and has few letters then.
func endsAbove(above, here string, hide func(string) string) bool {
	last := above[strings.LastIndexAny(above, " \t=:")+1:]
	return strings.HasSuffix(hide(above), "***") && len(last) >= 16 && strings.ContainsAny(last, "0123456789") && wordy.MatchString(here)
}

// wordy is a line that begins with a word, or with what is too short to tell anything.
var wordy = regexp.MustCompile(`^(?:\S{1,2}|[A-Za-z]?[a-z]{1,11}[.,:;!?)]?)(?:\s|$)`)

// stump is the beginning of a token: of those that begin as words do, one with a digit or a
// capital.
var stump = regexp.MustCompile(`(?:^|[^A-Za-z0-9])((?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-|xox[abceoprs]-|xapp-|sk-ant-|sk-proj-|[sr]k_(?:live|test)_|whsec_|AIza|ya29\.|GOCSPX-|eyJ|hv[sbr]\.|dckr_(?:pat|oat)_|dop_v1_|shpat_|tskey-|ATATT3|syt_|lin_api_|AGE-SECRET-KEY-)[A-Za-z0-9._+/=-]{4,}` +
	`|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{4,}|(?:sk-|npm_|hf_|pypi-|gsk_|xai-|pplx-|r8_|ntn_)[A-Za-z0-9_-]*[A-Z0-9][A-Za-z0-9_-]*)$`)

// withoutStump hides the beginning of a token that a line ends with, before what frames it.
func withoutStump(l string) string {
	end := strings.TrimRight(l, " \t│|…")
	from := strings.LastIndexAny(end, " \t") + 1
	if len(end)-from < len("eyJ")+4 {
		return l
	}
	at := stump.FindStringSubmatchIndex(end[from:])
	if at == nil {
		return l
	}
	return l[:from+at[2]] + "***" + l[len(end):]
}

// ofKey says whether a line begins or ends a private key: what shows where that is stays.
func ofKey(line string) bool { return strings.Contains(line, "PRIVATE KEY") }

func withoutLast(l string) string {
	l = strings.TrimRight(l, " \t")
	return l[:strings.LastIndexAny(l, " \t=:")+1] + "***"
}

func withoutFirst(l string) string {
	rest := strings.TrimLeft(l, " \t")
	i := strings.IndexAny(rest, " \t")
	if i < 0 {
		return "***"
	}
	return "***" + rest[i:]
}
