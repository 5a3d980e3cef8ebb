package cli

import (
	"path"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"custos/docs"
)

// markdown writes a page of ours for a terminal: wrapped to its width, commands whole, and
// a link to another page as the command that shows it.
func (p *page) markdown(pg docs.Page, where string) {
	m := written{page: p, source: []byte(pg.Text), where: where}
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(m.source))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHTMLBlock {
			continue
		}
		if n.PreviousSibling() != nil {
			p.line("")
		}
		m.block(n, 0)
	}
}

// written is a page that is being written; where is the folder that it lies in.
type written struct {
	*page
	source []byte
	where  string
}

func (m written) block(n ast.Node, indent int) {
	switch b := n.(type) {
	case *ast.Heading:
		m.line("%s", m.paint(bold, m.inline(b)))
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		m.code(b, indent)
	case *ast.List:
		m.items(b, indent)
	case *tables.Table:
		m.rows(b)
	case *ast.Paragraph, *ast.TextBlock:
		m.text(indent, m.inline(b))
	default:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			m.block(c, indent+2)
		}
	}
}

// code stays as it is: it is to be copied.
func (m written) code(n ast.Node, indent int) {
	for i := range n.Lines().Len() {
		l := n.Lines().At(i)
		m.line("%s    %s", strings.Repeat(" ", indent), clean(strings.TrimRight(string(l.Value(m.source)), "\n")))
	}
}

func (m written) items(list *ast.List, indent int) {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if list.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		for b := item.FirstChild(); b != nil; b = b.NextSibling() {
			if b != item.FirstChild() {
				m.block(b, indent+len(mark))
				continue
			}
			lines := wrap(m.inline(b), m.width-indent-len(mark))
			m.line("%s%s%s", strings.Repeat(" ", indent), mark, lines[0])
			for _, l := range lines[1:] {
				m.line("%s%s", strings.Repeat(" ", indent+len(mark)), l)
			}
		}
	}
}

// rows writes a table, each row as a paragraph: its cells are sentences, and too long to
// stand beside each other.
func (m written) rows(table *tables.Table) {
	var heads []string
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, m.inline(c))
		}
		if row == table.FirstChild() {
			heads = cells
			continue
		}
		for i, c := range cells {
			switch {
			case i == 0:
				m.text(2, c)
			case c != "" && c != "–":
				m.text(6, heads[i]+": "+c)
			}
		}
	}
}

// inline is the text of a paragraph, a heading or a cell on one line.
func (m written) inline(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch t := c.(type) {
		case *ast.Text:
			b.Write(t.Value(m.source))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.AutoLink:
			b.Write(t.URL(m.source))
		case *ast.CodeSpan:
			b.WriteString("`" + m.inline(t) + "`")
		case *ast.Link:
			b.WriteString(m.link(m.inline(t), string(t.Destination)))
		default:
			b.WriteString(m.inline(c))
		}
	}
	return flat(b.String())
}

// link says behind its text where a link leads: to a command where that shows the page.
func (m written) link(text, to string) string {
	if strings.Contains(to, "://") {
		return text + " (" + to + ")"
	}
	to, _, _ = strings.Cut(to, "#")
	switch to = pageCommand(path.Join(m.where, to)); {
	case to == "":
		return text
	case strings.HasSuffix(text, ".md"):
		return "`" + to + "`"
	}
	return text + " (`" + to + "`)"
}

// pageCommand is the command that shows a file below docs; "" where none does.
func pageCommand(file string) string {
	name := strings.TrimSuffix(path.Base(file), ".md")
	if _, ok := docs.Runbook(name); ok && path.Dir(file) == "runbooks" {
		return "custos runbook " + name
	}
	if _, ok := docs.Get(name); ok && path.Dir(file) == "." {
		return "custos help " + name + ".md"
	}
	return ""
}
