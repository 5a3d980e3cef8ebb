package docgraph

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// document is what was read of one Markdown text: never an error, for every text
// is Markdown.
type document struct {
	sections []section // the first has level 0: what stands before any heading
	anchors  map[string]bool
}

type section struct {
	level   int
	title   string // without its marks
	anchor  string // as forges make it: lower case, hyphens, -1 for the second of its name
	links   []link
	code    []string // what stands between backticks
	items   []item
	text    []text // what is neither heading, code nor the target of a link
	issues  []int  // #N, as often as it is there
	status  string // the word after "Status:"
	pending string // the line above, which an underline makes a heading
}

type link struct {
	to   string // as it was written, decoded
	line int    // from 1
}

type item struct {
	text      string
	box, done bool // has a box to tick; it is ticked
	depth     int  // columns before its mark
	issues    []int
}

type text struct {
	s      string
	issues []int
}

// How much of one line is looked at inside, and how long a link may be: what is
// longer was written by no person, and would cost time.
const (
	maxLine = 16 << 10
	maxLink = 1000
)

var (
	reHeading = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*))?$`)
	reUnder   = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	reFence   = regexp.MustCompile("^(?:[ \t]*[-*+>] *)*[ \t]*(`{3,}|~{3,})(.*)$")
	reItem    = regexp.MustCompile(`^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*)$`)
	reDefine  = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:[ \t]*<?([^\s>]+)`)
	reStatus  = regexp.MustCompile(`^[ \t>*_-]*Status[*_]*:[*_]*[ \t]*[*_]*([A-Za-z][A-Za-z_-]*)`)
	reIssue   = regexp.MustCompile(`(?:^|[^\w&/#?=.-])#(\d{1,9})\b`)
	reAnchor  = regexp.MustCompile(`<[a-zA-Z][^<>]*\b(?:id|name)=["']([^"'<>]+)["']`)
	reHref    = regexp.MustCompile(`<(?:a|img)\b[^<>]*\b(?:href|src)=["']([^"'<>]+)["']`)
)

// parse reads a Markdown text: headings, links, lists, code between backticks and
// the numbers of issues. Fenced code, comments and front matter are passed over.
func parse(src string) document {
	p := &parser{doc: document{sections: []section{{}}, anchors: map[string]bool{}}, count: map[string]int{}}
	lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	for n := frontMatter(lines); n < len(lines); n++ {
		p.line(lines[n], n+1)
	}
	return p.doc
}

// frontMatter returns how many lines at the start are settings between lines of ---.
func frontMatter(lines []string) int {
	if strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	for n, l := range lines[1:] {
		if strings.TrimRight(l, " \t") == "---" {
			return n + 2
		}
	}
	return 0
}

type parser struct {
	doc     document
	count   map[string]int // of each anchor
	fence   string         // of the code we are in
	comment bool
}

func (p *parser) line(l string, n int) {
	s := &p.doc.sections[len(p.doc.sections)-1]
	above := s.pending
	s.pending = ""
	if p.fenced(l) {
		return
	}
	l = p.uncomment(cut(l, maxLine))
	if m := reHeading.FindStringSubmatch(l); m != nil {
		p.heading(len(m[1]), strings.TrimRight(strings.TrimRight(strings.TrimSpace(m[2]), "#"), " \t"), n)
		return
	}
	if m := reUnder.FindStringSubmatch(l); m != nil && above != "" {
		p.heading(map[byte]int{'=': 1, '-': 2}[m[1][0]], above, n)
		return
	}
	if m := reDefine.FindStringSubmatch(l); m != nil {
		s.add(m[1], n)
		return
	}
	p.prose(s, l, n)
	if !reItem.MatchString(l) {
		s.pending = strings.TrimSpace(l)
	}
}

// fenced says whether a line is code, or the fence of it.
func (p *parser) fenced(l string) bool {
	if p.comment || p.fence == "" && !strings.Contains(l, "```") && !strings.Contains(l, "~~~") {
		return p.fence != ""
	}
	m := reFence.FindStringSubmatch(cut(l, maxLine))
	switch {
	case p.fence == "" && m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
		p.fence = m[1]
		return true
	case p.fence != "" && m != nil && m[1][0] == p.fence[0] && len(m[1]) >= len(p.fence) && strings.TrimSpace(m[2]) == "":
		p.fence = ""
		return true
	}
	return p.fence != ""
}

// uncomment takes <!-- comments --> out of a line.
func (p *parser) uncomment(l string) string {
	var b strings.Builder
	for l != "" {
		mark := "<!--"
		if p.comment {
			mark = "-->"
		}
		before, after, found := strings.Cut(l, mark)
		if !p.comment {
			b.WriteString(before)
		}
		if !found {
			break
		}
		p.comment, l = !p.comment, after
	}
	return b.String()
}

func (p *parser) heading(level int, title string, n int) {
	p.doc.sections = append(p.doc.sections, section{level: level})
	s := &p.doc.sections[len(p.doc.sections)-1]
	p.prose(s, title, n)
	s.text, s.items = nil, nil
	s.title = strings.TrimSpace(unmark(title))
	s.anchor = p.anchor(s.title)
	p.doc.anchors[s.anchor] = true
}

// anchor is what forges make of a title.
func (p *parser) anchor(title string) string {
	a := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, cut(title, maxTitle))
	n := p.count[a]
	p.count[a]++
	if n > 0 {
		return a + "-" + strconv.Itoa(n)
	}
	return a
}

// unmark is a title as it is read: [text](link) is text, marks are gone.
func unmark(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "](")
		b.WriteString(strings.ReplaceAll(before, "[", ""))
		if !found {
			break
		}
		_, length := target(after)
		s = after[length:]
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "`", ""), "**", "")
}

func (s *section) add(to string, line int) {
	if len(to) <= maxLink {
		s.links = append(s.links, link{to, line})
	}
}

// prose reads the inside of a line.
func (p *parser) prose(s *section, l string, n int) {
	if strings.TrimSpace(l) == "" {
		return
	}
	rest, code := uncode(l)
	s.code = append(s.code, code...)
	p.tags(s, rest, n)
	rest, links := unlink(rest)
	for _, to := range links {
		s.add(to, n)
	}
	issues := numbers(rest)
	s.issues = append(s.issues, issues...)
	if m := status(l); m != nil && s.status == "" {
		s.status = strings.ToUpper(cut(m[1], 30))
	}
	if m := reItem.FindStringSubmatch(l); m != nil {
		s.items = append(s.items, item{text: m[3], box: m[2] != "", done: strings.EqualFold(m[2], "x"), depth: len(m[1]), issues: issues})
	}
	s.text = append(s.text, text{rest, issues})
}

// tags reads what HTML there is in a line.
func (p *parser) tags(s *section, l string, n int) {
	if !strings.Contains(l, "<") {
		return
	}
	for _, m := range reAnchor.FindAllStringSubmatch(l, -1) {
		p.doc.anchors[strings.ToLower(m[1])] = true
	}
	for _, m := range reHref.FindAllStringSubmatch(l, -1) {
		s.add(m[1], n)
	}
}

// uncode takes what stands between backticks out of a line.
func uncode(l string) (rest string, code []string) {
	var b strings.Builder
	for {
		i := strings.IndexByte(l, '`')
		if i < 0 {
			b.WriteString(l)
			return b.String(), code
		}
		b.WriteString(l[:i])
		l = l[i:]
		mark := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		end := closing(l[len(mark):], mark)
		if end < 0 {
			b.WriteString(mark)
			l = l[len(mark):]
			continue
		}
		code = append(code, strings.TrimSpace(l[len(mark):len(mark)+end]))
		b.WriteByte(' ')
		l = l[2*len(mark)+end:]
	}
}

// closing finds a run of backticks that is exactly as long as mark.
func closing(l, mark string) int {
	for at := 0; ; {
		i := strings.Index(l[at:], mark)
		if i < 0 {
			return -1
		}
		at += i
		run := len(l[at:]) - len(strings.TrimLeft(l[at:], "`"))
		if run == len(mark) {
			return at
		}
		at += run
	}
}

// unlink takes the targets of [text](target) out of a line.
func unlink(l string) (rest string, links []string) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(l, "](")
		b.WriteString(before)
		if !found {
			return b.String(), links
		}
		to, length := target(after)
		if length > 0 {
			links = append(links, to)
		}
		b.WriteString("] ")
		l = after[length:]
	}
}

// target reads a link from behind its opening parenthesis, and says how long it
// is with the closing one; 0 when it is none.
func target(s string) (to string, length int) {
	s = cut(s, maxLink)
	if strings.HasPrefix(s, "<") {
		if end := strings.Index(s, ">"); end > 0 && strings.Contains(s[end:], ")") {
			return s[1:end], end + strings.Index(s[end:], ")") + 1
		}
		return "", 0
	}
	depth, end := 0, -1
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')' && depth == 0:
			if end < 0 {
				end = i
			}
			return s[:end], i + 1
		case r == ')':
			depth--
		case (r == ' ' || r == '\t') && end < 0:
			end = i // a title follows
		}
	}
	return "", 0
}

func status(l string) []string {
	if !strings.Contains(l, "Status") {
		return nil
	}
	return reStatus.FindStringSubmatch(l)
}

// numbers returns the issues a text refers to.
func numbers(s string) (out []int) {
	if !strings.Contains(s, "#") {
		return nil
	}
	for _, m := range reIssue.FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			out = append(out, n)
		}
	}
	return out
}
