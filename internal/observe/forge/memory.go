package forge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"custos/internal/sys/forge"
)

// memoryFormat counts the shapes of what is remembered; another shape is not read.
const memoryFormat = 1

// memory is what one project remembers of its answers from one process to the next:
// without it, each single look at a large project would ask the same first questions.
type memory struct {
	Format  int        `json:"format"`
	URL     string     `json:"url"`
	Repo    string     `json:"repo"`
	Answers []recalled `json:"answers"`
}

// recalled is one answer.
type recalled struct {
	Kind    string          `json:"kind"`
	Number  int             `json:"number,omitempty"`
	Name    string          `json:"name,omitempty"`
	Version string          `json:"version,omitempty"`
	Tried   time.Time       `json:"tried"`
	Status  int             `json:"status,omitempty"` // of the forge's refusal
	Failed  string          `json:"failed,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

// Answers returns what is to be remembered of each project that was asked, by name.
func (p *Probe) Answers() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range p.order {
		text, err := p.projects[name].answers()
		if err != nil {
			return nil, fmt.Errorf("cannot write down the answers of project %s: %w", name, err)
		}
		if text != nil {
			out[name] = text
		}
	}
	return out, nil
}

func (p *project) answers() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen.IsZero() {
		return nil, nil // no look was good: what was remembered stays
	}
	m := memory{Format: memoryFormat, URL: p.URL, Repo: p.Repo}
	for q, a := range p.asked {
		r, err := remember(q, a)
		if err != nil {
			return nil, err
		}
		m.Answers = append(m.Answers, r)
	}
	slices.SortFunc(m.Answers, func(a, b recalled) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	return json.Marshal(m)
}

func remember(q question, a *answer) (recalled, error) {
	r := recalled{Kind: q.kind, Number: q.number, Name: q.name, Version: a.version, Tried: a.tried}
	if a.err != nil {
		r.Failed = reason(a.err)
		if e := (*forge.Error)(nil); errors.As(a.err, &e) {
			r.Status = e.Status
		}
		return r, nil
	}
	value, err := json.Marshal(a.value)
	r.Value = value
	return r, err
}

// recall reads what was remembered, once. What cannot be read, or is of another
// repository, is as if nothing was ever asked.
func (p *project) recall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recalled || p.remembered == nil {
		return
	}
	p.recalled = true
	text, err := p.remembered(p.Name)
	var m memory
	if err != nil || json.Unmarshal(text, &m) != nil || m.Format != memoryFormat || m.URL != p.URL || m.Repo != p.Repo {
		return
	}
	for _, r := range m.Answers {
		q := question{r.Kind, r.Number, r.Name}
		if a, err := r.answer(); err == nil && p.asked[q] == nil {
			p.asked[q] = a
		}
	}
}

func (r recalled) answer() (*answer, error) {
	a := &answer{version: r.Version, tried: r.Tried, old: true}
	var err error
	switch {
	case r.Status != 0:
		a.err = &forge.Error{Status: r.Status}
	case r.Failed != "":
		a.err = errors.New(r.Failed)
	default:
		a.value, err = r.value()
	}
	return a, err
}

// value reads what was answered to a question of its kind.
func (r recalled) value() (any, error) {
	switch r.Kind {
	case askIssue:
		return as[forge.Issue](r.Value)
	case askBlockers:
		return as[[]forge.Issue](r.Value)
	case askChecks:
		return as[forge.Checks](r.Value)
	case askReviews:
		return as[[]forge.Review](r.Value)
	case askMerges, askPrimary:
		return as[string](r.Value)
	case askCommit:
		return as[time.Time](r.Value)
	case askRequired:
		return as[[]string](r.Value)
	case askEnded:
		return as[[]forge.Ended](r.Value)
	}
	return nil, errors.New("no such question")
}

func as[T any](text json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(text, &v)
	return v, err
}

// rememberedFor is how long a remembered answer is good that is about a version which
// is still the same. Of anything else it is good until it would be asked again.
const rememberedFor = day

// isExpired says whether a remembered answer is too old to be told. It is kept to
// know what was asked the longest time ago.
func isExpired(q asking, a *answer, now time.Time) bool {
	good := q.every
	if q.version != "" {
		good = max(good, rememberedFor)
	}
	age := now.Sub(a.tried)
	return a.old && (age > good || age < 0)
}

// expire marks the remembered answers that are too old. The mutex is held; an answer
// that views share is not changed.
func (p *project) expire(all []asking) {
	for _, q := range all {
		if a := p.asked[q.question]; a != nil && !a.expired && isExpired(q, a, p.now()) {
			gone := *a
			gone.expired = true
			p.asked[q.question] = &gone
		}
	}
}
