package docgraph

import (
	"path"
	"slices"
	"strings"
)

func evidenceID(file string) string {
	name := strings.TrimSuffix(file, path.Ext(file))
	if _, below, found := strings.Cut("/"+name, "/evidence/"); found {
		name = below
	}
	return "evidence:" + name
}

// drawEvidence joins each piece of evidence with the objectives and prerequisites
// it names, by their words or by the number of their issue.
func (r *reader) drawEvidence() error {
	proved := r.provable()
	return each(r.ctx, r.evidence, func(name, text string) {
		id := evidenceID(name)
		if n := r.nodes[id]; n != nil {
			r.out[name] = "there is evidence of this name in " + n.Source
			return
		}
		r.node(Node{ID: id, Type: typeEvidence, Title: name, Source: name})
		words := "-" + fullSlug(text) + "-"
		for _, p := range proved {
			if strings.Contains(words, "-"+p.words+"-") {
				r.edge(id, evidences, p.id)
			}
		}
		for _, i := range slices.Concat(numbers(text), keyed(text)) {
			r.edge(id, evidences, issueID(i))
		}
	})
}

type claim struct{ id, words string }

func (r *reader) provable() (out []claim) {
	for _, t := range []Type{typeObjective, typePrerequisite} {
		for _, id := range r.of(t) {
			_, words, _ := strings.Cut(id, ":")
			out = append(out, claim{id, words})
		}
	}
	return out[:min(len(out), maxClaims)]
}

// maxClaims bounds what each piece of evidence is compared with.
const maxClaims = 1000
