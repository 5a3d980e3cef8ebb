package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is what speaks against a call. There is none that allows.
type Verdict string

// Verdicts, from the weakest.
const (
	None Verdict = ""
	Warn Verdict = "warn" // it goes on, and the agent is told
	Ask  Verdict = "ask"  // a person is asked
	Deny Verdict = "deny"
)

func (v Verdict) rank() int { return slices.Index([]Verdict{None, Warn, Ask, Deny}, v) }

// When says which deeds a rule is about: all that it names must be so at once. What it does
// not name it does not ask.
type When struct {
	Tools     []string `json:"tool,omitempty"`    // patterns of the CLI's name of the tool
	Programs  []string `json:"program,omitempty"` // patterns of the base name
	Args      []string `json:"args,omitempty"`    // patterns, each of which some argument fits; "a|b" are two ways to say one
	Flags     []string `json:"flags,omitempty"`   // each there; "-r|-R|--recursive" are three ways to say one
	Git       []string `json:"git,omitempty"`     // verbs: "reset", "stash drop"
	Refs      []string `json:"ref,omitempty"`     // patterns of the branches a push writes; "default" is the project's
	Force     bool     `json:"force,omitempty"`   // a push over what was there
	In        []Class  `json:"in,omitempty"`      // where git works
	Access    []Access `json:"access,omitempty"`
	Paths     []string `json:"path,omitempty"` // classes, and patterns of paths: /…, ~/…, ./… of the worktree
	Recursive bool     `json:"recursive,omitempty"`
	Hosts     []string `json:"host,omitempty"`
	Opaque    []string `json:"opaque,omitempty"` // reasons; "any"
}

// Rule is one line of a policy.
type Rule struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	When    When    `json:"when"`
	Except  []When  `json:"except,omitempty"`
	Why     string  `json:"why,omitempty"`
	Instead string  `json:"instead,omitempty"`
}

// Policy is a list of rules with a name.
type Policy struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
}

// Hit is a rule that speaks against a deed.
type Hit struct {
	Verdict Verdict
	Rule    string
	Why     string
	Instead string
	Deed    string
}

// Decision is what speaks against a call: the strongest verdict, the rule that is first among
// those, and all that was found.
type Decision struct {
	Hit
	Hits []Hit
}

// Said are its rules, each with its verdict.
func (p Policy) Said() (list []string) {
	for _, r := range p.Rules {
		list = append(list, string(r.Verdict)+" "+r.ID)
	}
	return list
}

// Without is the policy without one of its rules.
func (p Policy) Without(rule string) Policy {
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(r Rule) bool { return r.ID == rule })
	return p
}

// Decide judges a call.
func (p Policy) Decide(c Call) Decision { return p.Judge(c.Deeds(), c.Places) }

// Judge judges what a call would do.
func (p Policy) Judge(deeds []Deed, l Places) (d Decision) {
	l.classed = map[Touch][]Class{}
	for _, r := range p.Rules {
		for _, deed := range deeds {
			if !r.hits(deed, l) {
				continue
			}
			h := Hit{Verdict: r.Verdict, Rule: r.ID, Why: r.Why, Instead: r.Instead, Deed: deed.String()}
			d.Hits = append(d.Hits, h)
			if h.Verdict.rank() > d.Verdict.rank() {
				d.Hit = h
			}
			break
		}
	}
	return d
}

// hits says whether a rule is about a deed: where it is about paths, about one of them that no
// exception is about.
func (r Rule) hits(d Deed, l Places) bool {
	if !r.When.about(d, l, true) {
		return false
	}
	except := slices.DeleteFunc(slices.Clone(r.Except), func(e When) bool { return !e.about(d, l, false) })
	if !r.When.onPaths() {
		return !slices.ContainsFunc(except, func(e When) bool { return e.ofAll(d.Touches, l) })
	}
	return slices.ContainsFunc(d.Touches, func(t Touch) bool {
		return r.When.touches(t, l, true) && !slices.ContainsFunc(except, func(e When) bool { return !e.onPaths() || e.touches(t, l, false) })
	})
}

// Empty says whether it names nothing: then it is about nothing.
func (w When) Empty() bool {
	return len(w.Tools)+len(w.Programs)+len(w.Args)+len(w.Flags)+len(w.Git)+len(w.Refs)+len(w.In)+len(w.Hosts)+len(w.Opaque) == 0 && !w.Force && !w.onPaths()
}

// onPaths says whether it is about what is touched.
func (w When) onPaths() bool { return len(w.Access)+len(w.Paths) > 0 || w.Recursive }

// about says whether a deed is what is meant, but for its paths. Against is that of a rule:
// what may be meant counts. An exception must be certain.
func (w When) about(d Deed, l Places, against bool) bool {
	return !w.Empty() &&
		(len(w.Tools) == 0 || matchAny(w.Tools, d.Tool)) &&
		(len(w.Programs) == 0 || d.Program != "" && matchAny(w.Programs, d.Program)) &&
		w.hasArgs(d, against) && w.hasGit(d, l) &&
		(len(w.Hosts) == 0 || slices.ContainsFunc(d.Hosts, func(h string) bool { return matchAny(w.Hosts, h) })) &&
		(len(w.Opaque) == 0 || d.Opaque != "" && (slices.Contains(w.Opaque, "any") || slices.Contains(w.Opaque, d.Opaque)))
}

// ofAll says whether an exception is certain of all paths.
func (w When) ofAll(touches []Touch, l Places) bool {
	return !w.onPaths() || len(touches) > 0 && !slices.ContainsFunc(touches, func(t Touch) bool { return !w.touches(t, l, false) })
}

func (w When) hasArgs(d Deed, against bool) bool {
	for _, glob := range w.Args {
		globs := strings.Split(glob, "|")
		if !slices.ContainsFunc(d.Args, func(a Word) bool { return (against || a.Known()) && matchAny(globs, a.Text) }) {
			return false
		}
	}
	for _, flag := range w.Flags {
		if !slices.ContainsFunc(strings.Split(flag, "|"), func(f string) bool { return hasFlag(d.Args, f, against) }) {
			return false
		}
	}
	return true
}

// hasFlag finds an option, among others of one letter, too, and as git and GNU let it be shortened.
func hasFlag(args []Word, flag string, against bool) bool {
	for _, a := range args {
		name, _, _ := strings.Cut(a.Text, "=")
		switch {
		case a.Text == "--":
			return false
		case name == flag:
			return true
		case !against:
		case strings.HasPrefix(flag, "--"):
			if len(name) > 3 && strings.HasPrefix(flag, name) {
				return true
			}
		case len(flag) == 2 && len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.IndexByte(a.Text[1:], flag[1]) >= 0:
			return true
		}
	}
	return false
}

func (w When) hasGit(d Deed, l Places) bool {
	if len(w.Git)+len(w.Refs) == 0 && !w.Force && len(w.In) == 0 {
		return true
	}
	if d.Git == nil {
		return false
	}
	verb, _, _ := strings.Cut(d.Git.Verb, " ")
	in := NotKnown
	if d.Git.Dir != "" {
		in = l.ClassOf(d.Git.Dir)
	}
	return (len(w.Git) == 0 || slices.Contains(w.Git, d.Git.Verb) || slices.Contains(w.Git, verb)) &&
		(!w.Force || d.Git.Force) &&
		(len(w.In) == 0 || slices.Contains(w.In, in)) &&
		(len(w.Refs) == 0 || slices.ContainsFunc(d.Git.Refs, func(ref string) bool { return w.hasRef(ref, l) }))
}

func (w When) hasRef(ref string, l Places) bool {
	if slices.Contains(w.Refs, "default") && slices.Contains(l.defaults(), ref) {
		return true
	}
	return ref != gap && matchAny(w.Refs, ref)
}

// touches says whether a path is what is meant. One that may be of several classes must be of
// one of those that a rule names, and of no other than those that an exception does.
func (w When) touches(t Touch, l Places, against bool) bool {
	if len(w.Access) > 0 && !slices.Contains(w.Access, t.Access) || w.Recursive && !t.Recursive {
		return false
	}
	if len(w.Paths) == 0 {
		return true
	}
	named := func(c Class) bool { return slices.Contains(w.Paths, string(c)) }
	byPattern := !t.Unknown && slices.ContainsFunc(w.Paths, func(p string) bool { return strings.Contains(p, "/") && matchPath(l.pattern(p), t.at()) })
	classes := t.classes(l)
	if against {
		return byPattern || slices.ContainsFunc(classes, named)
	}
	if byPattern {
		classes = l.more(t)
	}
	return !slices.ContainsFunc(classes, func(c Class) bool { return !named(c) })
}

// pattern is a pattern of a rule as one of absolute paths.
func (l Places) pattern(p string) string {
	for mark, dir := range map[string]string{"~/": l.Home, "./": l.Worktree} {
		if rest, ok := strings.CutPrefix(p, mark); ok && dir != "" {
			return strings.TrimSuffix(dir, "/") + "/" + rest
		}
	}
	return p
}

// at is the path of a touch; of something below a folder, one that stands for it.
func (t Touch) at() string {
	if t.Below {
		return strings.TrimSuffix(t.Path, "/") + "/" + gap
	}
	return t.Path
}

// classes are all that a touch may be of.
func (t Touch) classes(l Places) []Class {
	if list, known := l.classed[t]; known {
		return list
	}
	list := t.classify(l)
	if l.classed != nil {
		l.classed[t] = list
	}
	return list
}

func (t Touch) classify(l Places) []Class {
	if t.Unknown {
		return []Class{NotKnown}
	}
	list := []Class{l.ClassOf(t.Path)}
	if t.Below {
		list = append(list, l.ClassOf(t.at()))
	}
	return append(list, l.more(t)...)
}

func matchAny(globs []string, s string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return match(g, s) })
}

// match is whether a text fits a pattern, in which * stands for anything and ? for one byte.
func match(glob, s string) bool {
	star, from := -1, 0
	i, j := 0, 0
	for i < len(s) {
		switch {
		case j < len(glob) && glob[j] == '*':
			star, from = j, i
			j++
		case j < len(glob) && (glob[j] == '?' || glob[j] == s[i]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	return strings.Trim(glob[j:], "*") == ""
}

// matchPath is match for paths: * stays within one name, ** is any number of them.
func matchPath(glob, p string) bool {
	return matchNames(strings.Split(glob, "/"), strings.Split(p, "/"))
}

func matchNames(glob, names []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			for i := range len(names) + 1 {
				if matchNames(glob[1:], names[i:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 || !match(glob[0], names[0]) {
			return false
		}
		glob, names = glob[1:], names[1:]
	}
	return len(names) == 0
}

// Told is what an agent is told of a verdict, in one line.
func (h Hit) Told(policy string) string {
	s := fmt.Sprintf("Policy %s, rule %s: %s", policy, h.Rule, strings.TrimSuffix(h.Why, "."))
	if h.Why == "" {
		s = fmt.Sprintf("Policy %s, rule %s", policy, h.Rule)
	}
	if h.Instead != "" {
		s += ". Instead: " + strings.TrimSuffix(h.Instead, ".")
	}
	return s + "."
}

// Said is a touch in words: what is done, to what, and where that lies.
func (t Touch) Said(l Places) string {
	if t.Unknown {
		return string(t.Access) + " what is not known"
	}
	s := fmt.Sprintf("%s %s", t.Access, t.at())
	if t.Recursive {
		s += " with all below"
	}
	names := make([]string, 0, 4)
	for _, c := range t.classes(l) {
		if !slices.Contains(names, string(c)) {
			names = append(names, string(c))
		}
	}
	return s + " (" + strings.Join(names, ", ") + ")"
}
