package docgraph

import (
	"path"
	"regexp"
	"strings"
)

var (
	reObjective = regexp.MustCompile(`(?i)^objective:\s*(.+)$`)
	reTail      = regexp.MustCompile(`\s*\((?:#\d{1,9}[,\s]*)+\)\s*$`) // the numbers behind a name
	reGoals     = regexp.MustCompile(`(?i)\b(?:objectives|goals|milestones)\b`)
)

// drawObjectives reads the objectives of all documents first, for an objective
// may be the prerequisite of one in an earlier document.
func (r *reader) drawObjectives() error {
	var all []objective
	err := each(r.ctx, r.docs, func(name string, d document) {
		all = append(all, stated(name, d)...)
		if strings.EqualFold(path.Base(name), "VISION.md") {
			all = append(all, envisioned(name, d)...)
		}
	})
	if err != nil {
		return err
	}
	byIssue := map[int]string{}
	for _, o := range all {
		r.objective(o, byIssue)
	}
	for _, o := range all {
		for _, i := range o.needs {
			r.prerequisite(o, i, byIssue)
		}
	}
	return r.ctx.Err()
}

type objective struct {
	name, source, section string
	status                string
	issues                []int // that implement it
	needs                 []item
}

func (o objective) id() string { return "objective:" + slug(o.name) }

// stated are the sections with the heading "Objective: NAME (#N)", with their
// lists of boxes and their "Status: WORD".
func stated(file string, d document) (out []objective) {
	level := 0 // of the objective we are in; 0 when in none
	for _, s := range d.sections[1:] {
		m := reObjective.FindStringSubmatch(s.title)
		switch {
		case m != nil:
			level = s.level
			out = append(out, objective{name: reTail.ReplaceAllString(m[1], ""), source: file, section: s.anchor, issues: numbers(m[1])})
		case s.level <= level:
			level = 0
		}
		if level > 0 {
			o := &out[len(out)-1]
			if o.status == "" {
				o.status = s.status
			}
			o.needs = append(o.needs, boxes(s.items)...)
		}
	}
	return out
}

func boxes(items []item) (out []item) {
	for _, i := range items {
		if i.box {
			out = append(out, i)
		}
	}
	return out
}

// envisioned are the headings below Objectives, Goals or Milestones; where there
// are none, the items of that section.
func envisioned(file string, d document) (out []objective) {
	for n, s := range d.sections {
		if s.level == 0 || !reGoals.MatchString(s.title) || reObjective.MatchString(s.title) {
			continue
		}
		below := children(d.sections[n+1:], s.level)
		for _, c := range below {
			if !reObjective.MatchString(c.title) {
				out = append(out, objective{name: reTail.ReplaceAllString(c.title, ""), source: file, section: c.anchor,
					issues: numbers(c.title), needs: boxes(c.items), status: c.status})
			}
		}
		for _, i := range s.items {
			if len(below) == 0 && i.depth < 2 {
				out = append(out, objective{name: lead(i.text), source: file, section: s.anchor, issues: i.issues})
			}
		}
	}
	return out
}

// children are the sections one level below, up to the next of the same level.
func children(rest []section, level int) (out []section) {
	for _, s := range rest {
		if s.level <= level {
			break
		}
		if s.level == level+1 {
			out = append(out, s)
		}
	}
	return out
}

// lead is what an item is about: its words in bold, or up to a dash or colon.
func lead(s string) string {
	if rest, bold := strings.CutPrefix(s, "**"); bold {
		if name, _, closed := strings.Cut(rest, "**"); closed {
			return strings.TrimRight(name, ":")
		}
	}
	for _, stop := range []string{" — ", " – ", " - ", ": "} {
		s, _, _ = strings.Cut(s, stop)
	}
	return reTail.ReplaceAllString(s, "")
}

// objective draws one objective, and remembers which issues are its own.
func (r *reader) objective(o objective, byIssue map[int]string) {
	if slug(o.name) == "" {
		return
	}
	n := r.node(Node{ID: o.id(), Type: typeObjective, Title: o.name, Source: o.source, Status: "UNKNOWN"})
	if n != nil && o.status != "" {
		n.Status = o.status
	}
	from := docID(o.source)
	if o.section != "" {
		from += "#" + o.section
	}
	r.edge(from, defines, o.id())
	for _, i := range o.issues {
		r.node(Node{ID: issueID(i), Type: typeIssue, Source: o.source})
		r.edge(issueID(i), implements, o.id())
		byIssue[i] = o.id()
	}
}

// prerequisite draws what an objective needs. Who names the issue of another
// objective needs that objective, which is how objectives come to wait for each
// other in a circle.
func (r *reader) prerequisite(o objective, i item, byIssue map[int]string) {
	id := "prereq:" + slug(reTail.ReplaceAllString(i.text, ""))
	if id == "prereq:" {
		return
	}
	r.node(Node{ID: id, Type: typePrerequisite, Title: i.text, Source: o.source, Done: i.done})
	if i.done {
		r.edge(id, implements, o.id())
	} else {
		r.edge(id, blocks, o.id())
	}
	for _, n := range i.issues {
		r.node(Node{ID: issueID(n), Type: typeIssue, Source: o.source})
		r.edge(issueID(n), implements, id)
		if other := r.nodes[byIssue[n]]; other != nil && other.Status != "DONE" && !i.done {
			r.edge(other.ID, blocks, o.id())
		}
	}
}
