// Package source reads policies as people write them, in sections of TOML, and holds those that
// come with Custos. In go sections, out come rules with what they are based on put in front.
package source

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/config"
	"custos/internal/nearest"
	"custos/internal/policy"
)

// Section is [policy.NAME].
type Section struct {
	BasedOn string   `toml:"based_on"` // whose rules come first: default, read-only, or another one of the file
	Without []string `toml:"without"`  // rules of that which are left out
	Rule    []Rule   `toml:"rule"`
}

// Rule is [[policy.NAME.rule]].
type Rule struct {
	ID      string `toml:"id"`
	Verdict string `toml:"verdict"`
	Why     string `toml:"why"`
	Instead string `toml:"instead"`
	Except  []When `toml:"except"`
	// The keys of When: a section of TOML has no parts that it shares.
	Tool      []string `toml:"tool"`
	Program   []string `toml:"program"`
	Args      []string `toml:"args"`
	Flags     []string `toml:"flags"`
	Git       []string `toml:"git"`
	Ref       []string `toml:"ref"`
	Force     bool     `toml:"force"`
	In        []string `toml:"in"`
	Access    []string `toml:"access"`
	Path      []string `toml:"path"`
	Recursive bool     `toml:"recursive"`
	Host      []string `toml:"host"`
	Opaque    []string `toml:"opaque"`
}

func (r Rule) about() When {
	return When{r.Tool, r.Program, r.Args, r.Flags, r.Git, r.Ref, r.Force, r.In, r.Access, r.Path, r.Recursive, r.Host, r.Opaque}
}

// When is what a rule is about.
type When struct {
	Tool      []string `toml:"tool"`
	Program   []string `toml:"program"`
	Args      []string `toml:"args"`
	Flags     []string `toml:"flags"`
	Git       []string `toml:"git"`
	Ref       []string `toml:"ref"`
	Force     bool     `toml:"force"`
	In        []string `toml:"in"`
	Access    []string `toml:"access"`
	Path      []string `toml:"path"`
	Recursive bool     `toml:"recursive"`
	Host      []string `toml:"host"`
	Opaque    []string `toml:"opaque"`
}

//go:embed default.toml
var defaultText []byte

//go:embed read-only.toml
var readOnlyText []byte

// BuiltIn are the policies that come with Custos, by name.
func BuiltIn() (map[string]Section, error) {
	all := map[string]Section{}
	for name, text := range map[string][]byte{"default": defaultText, "read-only": readOnlyText} {
		var s Section
		d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			return nil, fmt.Errorf("cannot read the built-in policy %s: %w", name, err)
		}
		all[name] = s
	}
	return all, nil
}

// Wrong is what is wrong with one policy.
type Wrong struct {
	Policy string
	Rule   int // from 0; -1 is not about a rule
	Err    error
}

func (w Wrong) Error() string { return w.Err.Error() }

// Policies makes policies of sections, and of those that come with Custos. What is wrong with
// the sections is handed back, and those policies are not.
func Policies(own map[string]Section) (map[string]policy.Policy, []Wrong, error) {
	all, err := BuiltIn()
	if err != nil {
		return nil, nil, err
	}
	var wrong []Wrong
	for name, s := range own {
		if _, taken := all[name]; taken {
			wrong = append(wrong, Wrong{name, -1, fmt.Errorf("a policy %s comes with Custos: give yours another name, and say based_on = %q", name, name)})
			continue
		}
		all[name] = s
	}
	out := map[string]policy.Policy{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p, bad := made(name, all, nil)
		wrong = append(wrong, bad...)
		if len(bad) == 0 {
			out[name] = p
		}
	}
	return out, wrong, nil
}

// Of reads the sections [policy.NAME] of custos.toml. Out come those that are right, and those
// that come with Custos; each mistake has its line.
func Of(cfg config.Config) (map[string]policy.Policy, error) {
	sections := map[string]Section{}
	if err := cfg.Section("policy", &sections); err != nil {
		return nil, err
	}
	all, wrong, err := Policies(sections)
	errs := []error{err}
	for _, w := range wrong {
		at := "policy." + w.Policy
		if w.Rule >= 0 {
			at = fmt.Sprintf("%s.rule.%d", at, w.Rule)
		}
		errs = append(errs, cfg.Misread(at, w.Err))
	}
	return all, errors.Join(errs...)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// made is a policy with what it is based on.
func made(name string, all map[string]Section, through []string) (policy.Policy, []Wrong) {
	s := all[name]
	p := policy.Policy{Name: name}
	if !plainName.MatchString(name) {
		return p, []Wrong{{name, -1, errors.New("its name may have letters, digits, and . _ -, 64 at most: it is a word of commands")}}
	}
	base, err := based(name, s, all, through)
	if err != nil {
		return p, []Wrong{{name, -1, err}}
	}
	var wrong []Wrong
	if p.Rules, err = without(base, s.Without); err != nil {
		wrong = append(wrong, Wrong{name, -1, err})
	}
	for i, r := range s.Rule {
		rule, err := r.rule(i)
		if err == nil && slices.ContainsFunc(p.Rules, func(o policy.Rule) bool { return o.ID == rule.ID }) {
			err = fmt.Errorf("id: there are two rules %q: leave the other one out by without, or name this one otherwise", rule.ID)
		}
		if err != nil {
			wrong = append(wrong, Wrong{name, i, err})
			continue
		}
		p.Rules = append(p.Rules, rule)
	}
	if len(p.Rules) == 0 && len(wrong) == 0 {
		wrong = append(wrong, Wrong{name, -1, errors.New(`rule: it has none, and is not based_on any`)})
	}
	return p, wrong
}

func based(name string, s Section, all map[string]Section, through []string) ([]policy.Rule, error) {
	if s.BasedOn == "" {
		return nil, nil
	}
	if _, ok := all[s.BasedOn]; !ok {
		return nil, fmt.Errorf("based_on: %s", unknown("policy", s.BasedOn, slices.Sorted(maps.Keys(all))))
	}
	through = append(through, name)
	if slices.Contains(through, s.BasedOn) {
		return nil, fmt.Errorf("based_on: %s is based on itself", strings.Join(append(through, s.BasedOn), " → "))
	}
	p, wrong := made(s.BasedOn, all, through)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("based_on: policy %s is wrong itself: %w", s.BasedOn, wrong[0].Err)
	}
	return slices.Clone(p.Rules), nil
}

func without(rules []policy.Rule, ids []string) ([]policy.Rule, error) {
	for _, id := range ids {
		at := slices.IndexFunc(rules, func(r policy.Rule) bool { return r.ID == id })
		if at < 0 {
			var names []string
			for _, r := range rules {
				names = append(names, r.ID)
			}
			return rules, fmt.Errorf("without: %s", unknown("rule", id, names))
		}
		rules = slices.Delete(slices.Clone(rules), at, at+1)
	}
	return rules, nil
}

// unknown says that there is no such thing, and which one may be meant.
func unknown(what, name string, names []string) string {
	return fmt.Sprintf("there is no %s %q%s", what, name, nearest.Choice(name, names))
}

func (r Rule) rule(i int) (policy.Rule, error) {
	id := r.ID
	if id == "" {
		id = fmt.Sprintf("rule-%d", i+1)
	}
	out := policy.Rule{ID: id, Verdict: policy.Verdict(r.Verdict), When: r.about().when(), Why: oneLine(r.Why), Instead: oneLine(r.Instead)}
	for _, e := range r.Except {
		out.Except = append(out.Except, e.when())
	}
	return out, check(out)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (w When) when() policy.When {
	return policy.When{Tools: w.Tool, Programs: w.Program, Args: w.Args, Flags: w.Flags, Git: w.Git, Refs: w.Ref, Force: w.Force,
		In: typed[policy.Class](w.In), Access: typed[policy.Access](w.Access), Paths: w.Path, Recursive: w.Recursive, Hosts: w.Host, Opaque: w.Opaque}
}

func typed[T ~string](list []string) (out []T) {
	for _, s := range list {
		out = append(out, T(s))
	}
	return out
}
