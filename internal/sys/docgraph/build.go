package docgraph

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// Issue is one issue of the project, as its forge tells of it.
type Issue struct {
	Number    int
	Title     string
	Body      string // Markdown
	Closed    bool
	Labels    []string
	DependsOn []int // numbers the forge itself knows to block it; more are read from Body
}

// Options says of what a graph is made.
type Options struct {
	Dir    string  // folder of the project, raw
	Issues []Issue // nil: there is no forge, or it said nothing
}

// Build reads a project and draws its graph. It fails when the folder cannot be
// read or ctx ends first, and returns nothing then: half a graph would call
// orphans what it did not get to.
func Build(ctx context.Context, o Options) (Graph, error) {
	g, err := build(ctx, o)
	if err != nil {
		return Graph{}, fmt.Errorf("cannot draw the graph of %q: %w", o.Dir, err)
	}
	return g, nil
}

func build(ctx context.Context, o Options) (Graph, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return Graph{}, err
	}
	defer root.Close()
	r := &reader{ctx: ctx, root: root, draft: newDraft(), left: MaxBytes,
		docs: map[string]document{}, formulas: map[string]string{}, evidence: map[string]string{}}
	w := &walker{ctx: ctx, root: root, out: r.out}
	if err := w.walk(); err != nil {
		return Graph{}, err
	}
	if err := r.read(w.files); err != nil {
		return Graph{}, err
	}
	for _, draw := range []func() error{r.drawDocuments, r.drawObjectives, r.drawAgents, r.drawFormulas,
		func() error { return r.drawIssues(o.Issues) }, r.drawReferences, r.drawEvidence} {
		if err := draw(); err != nil {
			return Graph{}, err
		}
	}
	return report(ctx, r.draft)
}

// reader holds what was read. The graph is drawn when all of it is there, for
// what refers to what depends on what there is.
type reader struct {
	*draft
	ctx      context.Context
	root     *os.Root
	left     int64 // bytes that may still be read
	docs     map[string]document
	formulas map[string]string
	evidence map[string]string
	agents   []string
	looked   int // targets of links looked for on the disk
}

func (r *reader) read(files []file) error {
	for _, f := range files {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		text, err := read(r.root, f.name, r.left)
		if err != nil {
			r.out[f.name] = reason(err)
			continue
		}
		r.left -= int64(len(text))
		switch f.kind {
		case kindFormula:
			r.formulas[f.name] = text
		case kindEvidence:
			r.evidence[f.name] = text
		default:
			r.docs[f.name] = parse(text)
		}
	}
	return nil
}

func docID(name string) string { return "doc:" + name }

func (r *reader) drawDocuments() error {
	return each(r.ctx, r.docs, func(name string, d document) {
		title := name
		if i := slices.IndexFunc(d.sections, func(s section) bool { return s.level > 0 }); i >= 0 {
			title = d.sections[i].title
		}
		r.node(Node{ID: docID(name), Type: typeDocument, Title: title, Source: name})
		for _, s := range d.sections[1:] {
			if s.anchor != "" {
				r.node(Node{ID: docID(name) + "#" + s.anchor, Type: typeSection, Title: s.title, Source: name})
				r.edge(docID(name), defines, docID(name)+"#"+s.anchor)
			}
		}
	})
}

// drawReferences joins each section with what it links to, names between
// backticks, or gives the number of.
func (r *reader) drawReferences() error {
	return each(r.ctx, r.docs, func(name string, d document) {
		for _, s := range d.sections {
			from := docID(name)
			if s.anchor != "" {
				from += "#" + s.anchor
			}
			for _, l := range s.links {
				r.follow(from, name, l)
			}
			for _, c := range s.code {
				if to := r.named(name, c); to != "" {
					r.edge(from, references, to)
				}
			}
			for _, n := range s.issues {
				r.edge(from, references, issueID(n))
			}
		}
	})
}

// named returns the ID of what a name between backticks means: a path as seen
// from the document, or from the project; "" when it is none that we know.
func (r *reader) named(from, name string) string {
	name = strings.TrimPrefix(name, "./")
	for _, p := range []string{path.Join(path.Dir(from), name), path.Clean(name)} {
		if id := r.path(p); id != "" {
			return id
		}
	}
	return ""
}

// path returns the ID of a file that was read; "" when it is none.
func (r *reader) path(p string) string {
	for _, id := range []string{docID(p), formulaID(p), evidenceID(p)} {
		if n := r.nodes[id]; n != nil && n.Source == p {
			return id
		}
	}
	return ""
}
