package docgraph

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Missing is a link to what is not there.
type Missing struct {
	From string `json:"from"` // document
	Line int    `json:"line"` // from 1
	To   string `json:"to"`   // path relative to the folder, with #anchor
}

// maxLooks bounds how often the disk is asked whether the target of a link exists.
const maxLooks = 20_000

// follow draws a link, or notes that it leads nowhere. Links that leave the
// project, or go to the web, are not followed.
func (r *reader) follow(from, name string, l link) {
	u, err := url.Parse(l.to)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(l.to, "/") || strings.ContainsAny(l.to, "{}$") {
		return
	}
	to := name
	if u.Path != "" {
		to = path.Join(path.Dir(name), u.Path)
	}
	d, known := r.docs[to]
	switch {
	case strings.HasPrefix(to, ".."):
	case known && (u.Fragment == "" || d.anchors[strings.ToLower(u.Fragment)]):
		r.edge(from, references, r.place(to, u.Fragment))
	case known:
		r.edge(from, references, docID(to))
		r.lost = append(r.lost, Missing{name, l.line, to + "#" + u.Fragment})
	case r.path(to) != "":
		r.edge(from, references, r.path(to))
	case !r.exists(to):
		r.lost = append(r.lost, Missing{name, l.line, to})
	}
}

// place is the section of that anchor, or the document when it has none: an
// anchor may stand anywhere.
func (r *reader) place(doc, anchor string) string {
	if id := docID(doc) + "#" + strings.ToLower(anchor); anchor != "" && r.nodes[id] != nil {
		return id
	}
	return docID(doc)
}

// exists asks the disk. Only what is known not to be there does not exist.
func (r *reader) exists(name string) bool {
	if r.looked++; r.looked > maxLooks {
		r.out["links"] = fmt.Sprintf("not all followed: more than %d leave the documents", maxLooks)
		return true
	}
	_, err := r.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// each goes through a map in the order of its names, until ctx ends.
func each[V any](ctx context.Context, m map[string]V, do func(string, V)) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		do(name, m[name])
	}
	return nil
}
