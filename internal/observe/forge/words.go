package forge

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ref is an issue that a text names: "#12", or "acme/shop#12".
type ref struct {
	repo   string // OWNER/NAME; "" for the same repository
	number int
}

// Limits of what one text may ask us to keep: it is anybody's.
const (
	mostText = 32 << 10 // bytes of it that are read
	mostLine = 1 << 10  // bytes of a line
	mostMark = 300      // lines of it that have a # in them
	mostRefs = 50
)

const refText = `(?:[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+)?#\d{1,9}\b`

var (
	reRef      = regexp.MustCompile(refText)
	reWaits    = regexp.MustCompile(`(?i)\b(?:depends[ -]on|blocked[ -]by)\b[:*_ \t]*((?:` + refText + `(?:\s*(?:,|;|&|\band\b)\s*|[ \t]+)?)+)`)
	reCloses   = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?[ \t]+((?:` + refText + `(?:\s*(?:,|;|&|\band\b)\s*|[ \t]+)?)+)`)
	reHeading  = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*)$`)
	reNeeds    = regexp.MustCompile(`(?i)^[*_]*(?:dependencies|depends on|blocked by|prerequisites)\b`)
	reItem     = regexp.MustCompile(`^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[( |x|X)\][ \t]+)?(.*)$`)
	reFence    = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	reCode     = regexp.MustCompile("`[^`\n]*`")
	reComment  = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	reNegation = regexp.MustCompile(`(?i)\b(?:not|no longer|never|isn't)\s*$`)
)

// waitsFor lists what a text says that its issue waits for: "Depends on #12",
// "blocked by #3 and acme/shop#4", or the open points of a list under a heading
// such as "Dependencies". Code, quotes and comments say nothing.
func waitsFor(text string) (out []ref) {
	listed := false
	for _, line := range spoken(text) {
		if h := reHeading.FindStringSubmatch(line); h != nil {
			listed = reNeeds.MatchString(h[1])
		}
		for _, m := range reWaits.FindAllStringSubmatchIndex(line, mostRefs) {
			if !reNegation.MatchString(line[max(0, m[0]-20):m[0]]) {
				out = append(out, refs(line[m[2]:m[3]])...)
			}
		}
		if item := reItem.FindStringSubmatch(line); listed && item != nil && !strings.EqualFold(item[1], "x") {
			if first := reRef.FindString(item[2]); first != "" {
				out = append(out, refs(first)...)
			}
		}
	}
	return once(out)
}

// closes lists what a pull request says that it closes.
func closes(text string) (out []ref) {
	for _, line := range spoken(text) {
		for _, m := range reCloses.FindAllStringSubmatch(line, mostRefs) {
			out = append(out, refs(m[1])...)
		}
	}
	return once(out)
}

// spoken is the lines of a Markdown text that may name an issue, and its headings:
// without code, quotes and comments.
func spoken(text string) (out []string) {
	if len(text) > mostText {
		text = text[:mostText]
	}
	text = reComment.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = line[:min(len(line), mostLine)]
		mark := reFence.FindStringSubmatch(line)
		switch {
		case fence != "":
			if mark != nil && strings.HasPrefix(mark[1], fence) {
				fence = ""
			}
		case mark != nil:
			fence = mark[1]
		case !strings.Contains(line, "#") || len(out) >= mostMark || strings.HasPrefix(strings.TrimSpace(line), ">"):
		default:
			if strings.Contains(line, "`") {
				line = reCode.ReplaceAllString(line, " ")
			}
			out = append(out, line)
		}
	}
	return out
}

func refs(text string) (out []ref) {
	for _, m := range reRef.FindAllString(text, -1) {
		repo, digits, _ := strings.Cut(m, "#")
		if n, err := strconv.Atoi(digits); err == nil && n > 0 {
			out = append(out, ref{repo, n})
		}
	}
	return out
}

// once is each of them once, in their order, and not too many.
func once(list []ref) (out []ref) {
	for _, r := range list {
		if !slices.Contains(out, r) && len(out) < mostRefs {
			out = append(out, r)
		}
	}
	return out
}
