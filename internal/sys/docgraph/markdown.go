package docgraph

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	markdown "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// document is what was read of one Markdown text: never an error, for every text
// is Markdown.
type document struct {
	sections []section // the first has level 0: what stands before any heading
	anchors  map[string]bool
}

type section struct {
	level  int
	title  string // without its marks
	anchor string // as forges make it: lower case, hyphens, -1 for the second of its name
	links  []link
	code   []string // what stands between backticks
	items  []item
	text   []text // a paragraph each, without code and the targets of links
	issues []int  // #N, as often as it is there
	status string // the word after "Status:"
}

type link struct {
	to   string // as it was written, decoded
	line int    // from 1
}

type item struct {
	text      string // its first line, as it is read
	box, done bool   // has a box to tick; it is ticked
	depth     int    // columns of the items that it is in
	issues    []int
}

type text struct {
	s      string
	issues []int
}

// How much of one line and of one paragraph is looked at as a whole, how deep a
// line may nest, and how long a link may be: what is beyond was written by no
// person, and would cost time.
const (
	maxLine  = 16 << 10
	maxBlock = 8 << 10
	maxLink  = 1000
)

var (
	reDeep    = regexp.MustCompile(`^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){100}`)
	reBox     = regexp.MustCompile(`^\[([ xX])\][ \t]+`)
	reStatus  = regexp.MustCompile(`^[ \t>*_-]*Status[*_]*:[*_]*[ \t]*[*_]*([A-Za-z][A-Za-z_-]*)`)
	reIssue   = regexp.MustCompile(`(?:^|[^\w&/#?=.-])#(\d{1,9})\b`)
	reAnchor  = regexp.MustCompile(`<[a-zA-Z][^<>]*\b(?:id|name)=["']([^"'<>]+)["']`)
	reHref    = regexp.MustCompile(`<(?:a|img)\b[^<>]*\b(?:href|src)=["']([^"'<>]+)["']`)
	reComment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
)

// commonMark reads no emphasis, which tells nothing here, and takes a time that
// grows with the square of the text.
var commonMark = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithInlineParsers(util.Prioritized(parser.NewCodeSpanParser(), 1), util.Prioritized(parser.NewLinkParser(), 2), util.Prioritized(parser.NewRawHTMLParser(), 3)),
	parser.WithParagraphTransformers(util.Prioritized(pieces{}, 1)))

// pieces cuts a paragraph that is too long, for the time to read one grows with
// its square, and takes the definitions of links out of it.
type pieces struct{}

func (pieces) Transform(p *ast.Paragraph, r markdown.Reader, pc parser.Context) {
	lines, from := p.Lines(), 0
	for i := range lines.Len() {
		if lines.At(i).Stop-lines.At(from).Start > maxBlock && i > from {
			piece := ast.NewParagraph()
			piece.Lines().AppendAll(lines.Sliced(from, i))
			p.Parent().InsertBefore(p.Parent(), p, piece)
			parser.LinkReferenceParagraphTransformer.Transform(piece, r, pc)
			from = i
		}
	}
	lines.SetSliced(from, lines.Len())
	parser.LinkReferenceParagraphTransformer.Transform(p, r, pc)
}

// parse reads a Markdown text: headings, links, lists, code between backticks and
// the numbers of issues. Other code, comments and front matter are passed over.
func parse(src string) document {
	p := &reading{src: bounded(src), doc: document{sections: []section{{}}, anchors: map[string]bool{}}, count: map[string]int{}}
	for i, b := range p.src {
		if b == '\n' {
			p.ends = append(p.ends, i)
		}
	}
	p.blocks(commonMark.Parse(markdown.NewReader(p.src)), 0)
	return p.doc
}

// bounded is a text of the same lines, without what is too long, too deep or
// front matter.
func bounded(src string) []byte {
	lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	clear(lines[:frontMatter(lines)])
	for n, l := range lines {
		if lines[n] = cut(l, maxLine); reDeep.MatchString(l) {
			lines[n] = ""
		}
	}
	return []byte(strings.Join(lines, "\n"))
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

// reading is a text while it is gone through.
type reading struct {
	src   []byte
	ends  []int // of its lines
	doc   document
	count map[string]int // of each anchor
}

func (p *reading) section() *section { return &p.doc.sections[len(p.doc.sections)-1] }

// line is the number of the line at an offset.
func (p *reading) line(at int) int {
	n, _ := slices.BinarySearch(p.ends, at)
	return n + 1
}

// blocks reads what stands in a block that lies in list items of depth columns.
func (p *reading) blocks(in ast.Node, depth int) {
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			p.heading(n)
		case *ast.Paragraph, *ast.TextBlock:
			words, rest := p.prose(n)
			p.section().text = append(p.section().text, text{rest, numbers(rest)})
			if li, ok := in.(*ast.ListItem); ok && n == li.FirstChild() {
				p.item(words, rest, depth-li.Offset)
			}
		case *ast.ListItem:
			p.blocks(n, depth+n.Offset)
		case *ast.HTMLBlock:
			p.html(n)
		case *ast.LinkReferenceDefinition:
			p.section().add(string(n.Destination), p.line(n.Lines().At(0).Start))
		default:
			p.blocks(n, depth)
		}
	}
}

func (p *reading) heading(n *ast.Heading) {
	p.doc.sections = append(p.doc.sections, section{level: n.Level})
	s := p.section()
	words, _ := p.prose(n)
	s.title = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(words, "**", ""), "\n", " "))
	s.anchor = p.anchor(s.title)
	p.doc.anchors[s.anchor] = true
}

// anchor is what forges make of a title.
func (p *reading) anchor(title string) string {
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

func (s *section) add(to string, line int) {
	if len(to) <= maxLink {
		s.links = append(s.links, link{to, line})
	}
}

// item reads the first line of a list item: the rest tells about it.
func (p *reading) item(words, rest string, depth int) {
	words, _, _ = strings.Cut(words, "\n")
	rest, _, _ = strings.Cut(rest, "\n")
	i := item{text: words, depth: depth, issues: numbers(rest)}
	if m := reBox.FindStringSubmatch(words); m != nil {
		i.text, i.box, i.done = words[len(m[0]):], true, m[1] != " "
	}
	p.section().items = append(p.section().items, i)
}

// prose reads a paragraph or a heading, and returns it as it is read, and without
// code.
func (p *reading) prose(n ast.Node) (words, rest string) {
	var w, r strings.Builder
	p.inline(n, &w, &r)
	s := p.section()
	s.issues = append(s.issues, numbers(r.String())...)
	for i := 0; i < n.Lines().Len() && s.status == ""; i++ {
		at := n.Lines().At(i)
		if m := status(string(at.Value(p.src))); m != nil {
			s.status = strings.ToUpper(cut(m[1], 30))
		}
	}
	return w.String(), r.String()
}

func (p *reading) inline(in ast.Node, words, rest *strings.Builder) {
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			t := string(n.Segment.Value(p.src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				t += "\n"
			}
			words.WriteString(t)
			rest.WriteString(t)
			continue
		case *ast.CodeSpan:
			var code strings.Builder
			p.inline(n, &code, &strings.Builder{})
			p.section().code = append(p.section().code, strings.TrimSpace(strings.ReplaceAll(code.String(), "\n", " ")))
			words.WriteString(code.String())
		case *ast.RawHTML:
			p.tags(string(n.Segments.Value(p.src)), p.line(n.Pos()))
		case *ast.Link:
			p.link(n, n.Destination, n.Reference)
			p.inline(n, words, rest)
		case *ast.Image:
			p.link(n, n.Destination, n.Reference)
			p.inline(n, words, rest)
		}
		rest.WriteByte(' ')
	}
}

// link notes the target of one. What leads to a definition counts where that stands.
func (p *reading) link(n ast.Node, to []byte, definition *ast.ReferenceLink) {
	if definition == nil {
		p.section().add(string(to), p.line(n.Pos()))
	}
}

// html reads a block of tags, without its comments.
func (p *reading) html(n *ast.HTMLBlock) {
	text := string(n.Lines().Value(p.src))
	if n.HasClosure() {
		text += string(n.ClosureLine.Value(p.src))
	}
	text = reComment.ReplaceAllStringFunc(text, func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) })
	first := p.line(n.Pos())
	for i, l := range strings.Split(text, "\n") {
		p.tags(l, first+i)
	}
}

// tags reads what HTML leads to, and what may be led to.
func (p *reading) tags(html string, line int) {
	for _, m := range reAnchor.FindAllStringSubmatch(html, -1) {
		p.doc.anchors[strings.ToLower(m[1])] = true
	}
	for _, m := range reHref.FindAllStringSubmatch(html, -1) {
		p.section().add(m[1], line)
	}
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
