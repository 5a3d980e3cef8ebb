package docgraph

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// reWord is what may be a path, or the name of an agent, in prose.
var reWord = regexp.MustCompile(`[A-Za-z0-9_.][A-Za-z0-9_./-]*`)

func agentID(name string) string   { return "agent:" + name }
func formulaID(file string) string { return "formula:" + formulaName(file) }

func formulaName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".toml"), ".formula")
}

// drawAgents finds an agent in each folder that has an AGENTS.md, and in each
// heading "… Agent" of one.
func (r *reader) drawAgents() error {
	err := each(r.ctx, r.docs, func(name string, d document) {
		if path.Base(name) != "AGENTS.md" {
			return
		}
		if dir := path.Base(path.Dir(name)); dir != "." {
			r.agent(dir, docID(name), name)
		}
		for _, s := range d.sections[1:] {
			if who, ok := strings.CutSuffix(slug(s.title), "-agent"); ok {
				r.agent(who, docID(name)+"#"+s.anchor, name)
			}
		}
	})
	for _, id := range r.of(typeAgent) {
		r.agents = append(r.agents, strings.TrimPrefix(id, "agent:"))
	}
	return err
}

func (r *reader) agent(name, by, file string) {
	r.node(Node{ID: agentID(slug(name)), Type: typeAgent, Title: name, Source: file})
	r.edge(by, defines, agentID(slug(name)))
}

// drawFormulas draws all formulas before what they refer to: they may refer to
// each other.
func (r *reader) drawFormulas() error {
	err := each(r.ctx, r.formulas, func(name, _ string) {
		if n := r.nodes[formulaID(name)]; n != nil {
			r.out[name] = "there is a formula of this name in " + n.Source
			return
		}
		r.node(Node{ID: formulaID(name), Type: typeFormula, Title: formulaName(name), Source: name})
	})
	if err != nil {
		return err
	}
	return each(r.ctx, r.formulas, func(name, text string) {
		if n := r.nodes[formulaID(name)]; n != nil && n.Source == name {
			r.formula(n, text)
		}
	})
}

func (r *reader) formula(n *Node, text string) {
	var table map[string]any
	if err := toml.Unmarshal([]byte(text), &table); err != nil {
		table = map[string]any{"": text} // formulas with bare backslashes are run, too; see package formula
	}
	r.executor(n, table)
	seen := map[string]bool{}
	for _, s := range values(table, nil) {
		for _, w := range reWord.FindAllString(s, -1) {
			if w = strings.TrimRight(w, "./-"); !seen[w] {
				seen[w] = true
				r.mention(n, w)
			}
		}
		for _, i := range numbers(s) {
			r.edge(n.ID, references, issueID(i))
		}
	}
}

// executor joins a formula with its agent: the one it names, or the one whose
// name is a word of its own, as in run-planner and review-pr.
func (r *reader) executor(n *Node, table map[string]any) {
	words := strings.Split(slug(n.Title), "-")
	if a, ok := table["agent"].(string); ok {
		words = []string{slug(a)}
	}
	for _, a := range r.agents {
		if slices.Contains(words, a) || slices.Contains(words, strings.TrimSuffix(a, "-agent")) {
			r.edge(agentID(a), executes, n.ID)
		}
	}
}

// mention draws what a word of a formula means: a file, however it is reached
// ($PROJECT_REPO_ROOT/VISION.md), another formula, or an agent (dev-agent).
func (r *reader) mention(n *Node, word string) {
	for w := word; w != ""; {
		if id := r.path(w); id != "" {
			r.edge(n.ID, references, id)
			return
		}
		_, after, found := strings.Cut(w, "/")
		if !found {
			break
		}
		w = after
	}
	if a, ok := strings.CutSuffix(strings.ToLower(word), "-agent"); ok {
		r.edge(n.ID, references, agentID(a))
	}
	if strings.Contains(word, "-") { // a single word is hardly meant as the name of a formula
		r.edge(n.ID, references, "formula:"+word)
	}
}

// values returns all texts of a table, in the order of its keys.
func values(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, x := range v {
			out = values(x, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = values(v[k], out)
		}
	}
	return out
}
