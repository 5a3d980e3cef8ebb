package policy

import "cmp"

// Explanation is what is said of a judged call: by which policy, what of it speaks against the
// call, and what the call would do, as far as can be told.
type Explanation struct {
	Policy  string      `json:"policy"`
	Verdict string      `json:"verdict"` // none, warn, ask or deny
	Rule    string      `json:"rule,omitempty"`
	Told    string      `json:"told,omitempty"` // to the agent
	Hits    []Against   `json:"hits"`
	Deeds   []Explained `json:"deeds"`
}

// Against is a rule that speaks against a deed.
type Against struct {
	Verdict string `json:"verdict"`
	Rule    string `json:"rule"`
	Deed    string `json:"deed"`
}

// Explained is a deed, what it touches, and why no more can be told of it.
type Explained struct {
	Deed    string   `json:"deed"`
	Touches []string `json:"touches,omitempty"`
	Opaque  string   `json:"opaque,omitempty"`
}

// Unjudged is the rule, by which is denied what cannot be judged; NoVerdict is what is said of a fault of ours.
const (
	Unjudged  = "cannot-judge"
	NoVerdict = "Custos could not judge this call: a fault of Custos. Tell a person."
)

// Explain judges a call, and says why.
func (p Policy) Explain(c Call) (e Explanation) {
	defer func() {
		if recover() != nil {
			e = Explanation{Policy: p.Name, Verdict: string(Deny), Rule: Unjudged, Told: NoVerdict, Hits: []Against{}, Deeds: []Explained{}}
		}
	}()
	deeds := c.Deeds()
	d := p.Judge(deeds, c.Places)
	e = Explanation{Policy: p.Name, Verdict: cmp.Or(string(d.Verdict), "none"), Rule: d.Rule, Hits: []Against{}, Deeds: []Explained{}}
	if d.Verdict != None {
		e.Told = d.Told(p.Name)
	}
	for _, h := range d.Hits {
		e.Hits = append(e.Hits, Against{string(h.Verdict), h.Rule, h.Deed})
	}
	for _, deed := range deeds {
		row := Explained{Deed: deed.String(), Opaque: deed.Opaque}
		for _, t := range deed.Touches {
			row.Touches = append(row.Touches, t.Said(c.Places))
		}
		e.Deeds = append(e.Deeds, row)
	}
	return e
}
