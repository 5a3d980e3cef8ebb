package formula

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// spend takes one of the steps and rounds that may be made.
func (r *renderer) spend() bool {
	if r.left--; r.left < 0 {
		r.full = true
	}
	return !r.full
}

// unfold makes plain steps of steps. Who waited for a step that is not there
// any more is reconnected at the end.
func (r *renderer) unfold(steps []Step, values map[string]string, depth int) (out []Step) {
	for _, s := range steps {
		if !r.spend() || len(out) > maxSteps {
			r.full = r.full || len(out) > maxSteps
			return out
		}
		if depth > maxDepth {
			r.wrong(s.Places[""], "loops and children are nested more than %d deep", maxDepth)
			return out
		}
		out = append(out, r.one(copyStep(s), values, depth)...)
	}
	return out
}

func (r *renderer) one(s Step, values map[string]string, depth int) []Step {
	s.Needs, s.WaitsFor = union(slices.Clone(s.Needs), s.WaitsFor.Steps...), Waits{}
	local := r.local(values)
	s.ID = r.text(s.Places.of("id"), braces(s.ID, local), values)
	for i, n := range s.Needs {
		s.Needs[i] = r.text(s.Places.of("needs"), braces(n, local), values)
	}
	if !r.holds(&s, values) {
		r.drop(s)
		return nil
	}
	if s.Loop != nil {
		return r.loop(s, values, depth)
	}
	below := r.children(&s, values, depth)
	r.told(&s)
	r.put(&s, values)
	return append(below, s)
}

// holds decides a condition; one that cannot be told is told to the agent.
func (r *renderer) holds(s *Step, values map[string]string) bool {
	if s.Condition == "" {
		return true
	}
	c, ok := readCondition(s.Condition, func(n string) bool { _, ok := values[n]; return ok })
	if !ok {
		if hasCommands([]Step{*s}) {
			r.wrong(s.Places.of("condition"), "condition %q is not known before the run", s.Condition)
		}
		s.Notes = paragraphs(s.Notes, "Do this only if: "+s.Condition)
	}
	s.Condition = ""
	return !ok || c.holds(values)
}

// drop lets who waited for a step and its children wait for what it needed.
func (r *renderer) drop(s Step) {
	r.instead[s.ID] = s.Needs
	for _, c := range level(s.Children) {
		r.instead[c.ID] = s.Needs
	}
}

// children come after what their parent needs, and before it.
func (r *renderer) children(s *Step, values map[string]string, depth int) []Step {
	if len(s.Children) == 0 {
		return nil
	}
	needs := s.Needs
	kids := copySteps(s.Children)
	for i := range kids {
		kids[i].Needs = union(kids[i].Needs, needs...)
		s.Needs = union(slices.Clone(s.Needs), r.text(kids[i].Places.of("id"), braces(kids[i].ID, r.local(values)), values))
	}
	s.Children = nil
	return r.unfold(kids, values, depth+1)
}

// told turns what only an agent can do into words for it.
func (r *renderer) told(s *Step) {
	if o := s.OnComplete; o != nil {
		s.Notes = paragraphs(s.Notes, fmt.Sprintf("When done, do %q for each of %s.", o.Bond, o.ForEach))
		s.OnComplete = nil
	}
	if s.Gate != nil && s.Gate.Type == "conditional" {
		s.Notes = paragraphs(s.Notes, "Do this only if: "+s.Gate.Condition)
		s.Gate = nil
	}
}

func paragraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// put puts the values into the texts of a step.
func (r *renderer) put(s *Step, values map[string]string) {
	id, needs := s.ID, s.Needs
	r.options(*s, values)
	local := r.local(values)
	s.mapTexts(func(key, text string) string {
		if key == "id" || key == "needs" {
			return text // put in already, and a value is not read again
		}
		return r.filled(s.Places.of(key), key, braces(text, local), values)
	})
	s.ID, s.Needs = id, needs
	if len(local) > 0 {
		if s.Values == nil {
			s.Values = map[string]string{}
		}
		maps.Copy(s.Values, local)
	}
}

// local are the variables of loops: those that the formula does not have.
func (r *renderer) local(values map[string]string) map[string]string {
	out := map[string]string{}
	for name, v := range values {
		if old, ok := r.values[name]; !ok || old != v {
			out[name] = v
		}
	}
	return out
}

// options refuses a value that a program would take for one of its options.
func (r *renderer) options(s Step, values map[string]string) {
	if s.Run == nil {
		return
	}
	for i, a := range s.Run.Argv {
		if a == "--" {
			return
		}
		t, err := readTemplate(a, false)
		if err != nil || i == 0 {
			continue
		}
		name := leading(t)
		v, _ := r.f.variable(name)
		if name != "" && strings.HasPrefix(values[name], "-") && !v.narrow() {
			r.wrong(s.Places.of("run"), `the value %q of %q would be read as an option: put "--" before it, or give the variable an enum or a pattern`, values[name], name)
		}
	}
}

// leading is the variable with which a text begins.
func leading(t template) string {
	for _, p := range t {
		if p.name != "" {
			return p.name
		}
		if p.text != "" {
			return ""
		}
	}
	return ""
}

// loop unfolds the rounds of a loop, each after the one before.
func (r *renderer) loop(s Step, values map[string]string, depth int) (out []Step) {
	l := *s.Loop
	s.Loop = nil
	body := l.Body
	if len(body) == 0 {
		one := copyStep(s)
		one.Needs, one.Gate = nil, nil
		body = []Step{one}
	}
	from, to, err := r.rounds(l, values)
	if err != nil {
		r.wrong(l.Places[""], "%v", err)
		return nil
	}
	if l.Until != "" {
		body = until(body, l)
	}
	before := s.Needs
	for n := from; n <= to && r.spend(); n++ {
		inner := maps.Clone(values)
		if l.Var != "" {
			inner[l.Var] = strconv.Itoa(n)
		}
		round := r.round(s, body, n, before, inner)
		before = ends(flatNeeds(round))
		out = append(out, r.unfold(round, inner, depth+1)...)
		if len(out) > maxSteps {
			r.full = true
			return out
		}
	}
	r.instead[s.ID] = before
	return out
}

// rounds are the first and the last number of a loop; one round of until is
// all that can be made before the run.
func (r *renderer) rounds(l Loop, values map[string]string) (from, to int, err error) {
	switch {
	case l.Until != "":
		return 1, 1, nil
	case l.Range != "":
		text := r.text(l.Places.of("range"), l.Range, values)
		from, to, err = readRange(braces(text, values))
	default:
		from, to = 1, l.Count
	}
	if to-from >= maxIterations {
		err = fmt.Errorf("the loop goes round %d times, at most %d are run", to-from+1, maxIterations)
	}
	return from, to, err
}

// until asks the agent to judge when it is enough.
func until(body []Step, l Loop) []Step {
	body = copySteps(body)
	last := &body[len(body)-1]
	most := l.Max
	if most == 0 {
		most = 10
	}
	last.Notes = paragraphs(last.Notes, fmt.Sprintf("Repeat from step %q until %s, at most %d times.", body[0].ID, l.Until, most))
	return body
}

// round returns the body for one round, its ids made unlike those of others.
func (r *renderer) round(s Step, body []Step, n int, before []string, values map[string]string) []Step {
	prefix := fmt.Sprintf("%s.iter%d.", s.ID, n)
	round := copySteps(body)
	ids := map[string]string{}
	for _, b := range level(round) {
		ids[b.ID] = prefix + r.text(b.Places.of("id"), braces(b.ID, r.local(values)), values)
	}
	rename(round, ids)
	for _, i := range starts(flatNeeds(round)) {
		round[i].Needs = union(round[i].Needs, before...)
		if round[i].Gate == nil && s.Gate != nil {
			round[i].Gate = s.Gate
		}
	}
	return round
}

func rename(steps []Step, ids map[string]string) {
	every(steps, func(s *Step) {
		if to, ok := ids[s.ID]; ok {
			s.ID = to
		}
		for _, list := range [][]string{s.Needs, s.WaitsFor.Steps} {
			for i, n := range list {
				if to, ok := ids[n]; ok {
					list[i] = to
				}
			}
		}
	})
}

// flatNeeds adds to each step what its children wait for.
func flatNeeds(steps []Step) []Step {
	out := copySteps(steps)
	for i := range out {
		for _, c := range level(out[i].Children) {
			out[i].Needs = union(out[i].Needs, c.waits()...)
		}
	}
	return out
}

// reconnect replaces needs on steps that are gone by what they waited for.
func (r *renderer) reconnect(steps []Step) {
	for i := range steps {
		var needs []string
		for _, n := range steps[i].Needs {
			needs = union(needs, r.standing(n, map[string]bool{})...)
		}
		steps[i].Needs = needs
	}
}

// standing are the steps that are there of those one waited for.
func (r *renderer) standing(id string, seen map[string]bool) (out []string) {
	others, gone := r.instead[id]
	if !gone {
		return []string{id}
	}
	if seen[id] {
		return nil
	}
	seen[id] = true
	for _, o := range others {
		out = union(out, r.standing(o, seen)...)
	}
	return out
}
