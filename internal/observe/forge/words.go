package forge

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ref is an issue that a text names: "#12", "acme/shop#12", or "acme/web/shop#12" where groups
// lie within groups.
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

const (
	repoText = `[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)+`
	refText  = `(?:` + repoText + `)?#\d{1,9}\b`
)

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
	reStruck   = regexp.MustCompile(`~~[^~\n]+~~`)
	reLeading  = regexp.MustCompile(`^[*_ \t]*((?:` + refText + `(?:\s*(?:,|;|&|\band\b)\s*|[ \t]+)?)+)`)
	reLabel    = regexp.MustCompile(`(?i)^[*_ \t]*(?:dependencies|depends on|blocked by|prerequisites)[*_ \t]*:?[*_ \t]*$`)
	reAddress  = regexp.MustCompile(`(?i)\bhttps?://[^\s)>]+`)
	reNegation = regexp.MustCompile(`(?i)\b(?:not|no longer|never|isn't)\s*$`)
)

// waitsFor lists what a text says that its issue waits for: "Depends on #12",
// "blocked by #3 and acme/shop#4", or what stands under a heading such as
// "Dependencies": the open points of a list, and lines that begin with an issue. An
// issue may be named by its address at the forge. Code, quotes, comments and what is
// struck through say nothing.
func waitsFor(text, forge string) (out []ref) {
	var under section
	for _, line := range spoken(plain(text, forge)) {
		under = under.then(line)
		for _, m := range reWaits.FindAllStringSubmatchIndex(line, mostRefs) {
			if !reNegation.MatchString(line[max(0, m[0]-20):m[0]]) {
				out = append(out, refs(line[m[2]:m[3]])...)
			}
		}
		if under != other {
			out = append(out, listed(line)...)
		}
	}
	return once(out)
}

// section is where in a text a line stands.
type section int

const (
	other   section = iota
	heading         // below a heading such as "## Depends on": until the next heading
	label           // below a line such as "Depends on:": until a line that names nothing
)

func (s section) then(line string) section {
	if h := reHeading.FindStringSubmatch(line); h != nil {
		if reNeeds.MatchString(h[1]) {
			return heading
		}
		return other
	}
	switch {
	case s == other && reLabel.MatchString(line):
		return label
	case s == label && strings.TrimSpace(line) != "" && !reItem.MatchString(line) && !reLeading.MatchString(line):
		return other
	}
	return s
}

// listed is what a line under such a heading names: the first of an open point, or
// all that it begins with.
func listed(line string) []ref {
	if item := reItem.FindStringSubmatch(line); item != nil {
		if strings.EqualFold(item[1], "x") {
			return nil
		}
		if reLeading.MatchString(item[2]) {
			line = item[2]
		} else {
			return refs(reRef.FindString(item[2]))
		}
	}
	if m := reLeading.FindStringSubmatch(line); m != nil {
		return refs(m[1])
	}
	return nil
}

// closes lists what a pull request says that it closes.
func closes(text, forge string) (out []ref) {
	for _, line := range spoken(plain(text, forge)) {
		for _, m := range reCloses.FindAllStringSubmatch(line, mostRefs) {
			out = append(out, refs(m[1])...)
		}
	}
	return once(out)
}

// plain is a text in which the address of an issue at this forge, alone or behind
// words in brackets, is its name; of other addresses nothing is left, for their "#3"
// is no issue. GitLab has a /-/ in them, and calls issues work items, too; its merge requests
// have other numbers.
func plain(text, forge string) string {
	text = text[:min(len(text), mostText)]
	if !strings.Contains(text, "://") {
		return text
	}
	at := regexp.QuoteMeta(strings.TrimSuffix(forge, "/")) + `/(` + repoText + `?)(?:/-)?/(?:issues|work_items|pulls?)/(\d{1,9})\b(?:[/?#][^\s)>]*)?`
	text = regexp.MustCompile(`(?i)\[[^\]\n]*\]\(`+at+`\)`).ReplaceAllString(text, "$1#$2")
	text = regexp.MustCompile(`(?i)<?`+at+`>?`).ReplaceAllString(text, "$1#$2")
	return reAddress.ReplaceAllString(text, " ")
}

// spoken is the lines of a Markdown text without code, quotes, comments and what is
// struck through.
func spoken(text string) (out []string) {
	marked := 0
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
		case strings.HasPrefix(strings.TrimSpace(line), ">"):
		case !strings.Contains(line, "#"):
			out = append(out, line)
		case marked < mostMark:
			marked++
			out = append(out, reStruck.ReplaceAllString(reCode.ReplaceAllString(line, " "), " "))
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
