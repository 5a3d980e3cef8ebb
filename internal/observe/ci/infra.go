package ci

import (
	_ "embed" // for the built-in rules
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/fleet"
	"custos/internal/sys/ci"
)

//go:embed infra.toml
var builtin string

// Rule tells a failure of the machinery by a failed step. All that it says must
// hold of one and the same step.
type Rule struct {
	Name  string `toml:"name"`
	Step  string `toml:"step" is:"regexp"`  // regular expression: JOB/STEP
	Log   string `toml:"log" is:"regexp"`   // of the last 64 KiB
	Error string `toml:"error" is:"regexp"` // what the server says about the step
	Exit  []int  `toml:"exit" is:"0..255"`  // any of these statuses

	step, log, err *regexp.Regexp
}

// Rules are those of a person, and then the built-in ones. One with the name of a
// built-in rule takes its place; when it says nothing else, there is no such rule.
func Rules(own []Rule) ([]Rule, error) {
	var file struct{ Infra []Rule }
	if err := toml.Unmarshal([]byte(builtin), &file); err != nil {
		return nil, fmt.Errorf("cannot read the built-in rules: %w", err)
	}
	all := slices.Clone(own)
	for _, r := range file.Infra {
		if !slices.ContainsFunc(own, func(o Rule) bool { return o.Name == r.Name }) {
			all = append(all, r)
		}
	}
	var wrong []error
	out := make([]Rule, 0, len(all))
	for _, r := range all {
		if err := r.compile(); err != nil {
			wrong = append(wrong, fmt.Errorf("infra %q: %w", r.Name, err))
		}
		if !r.says() && !slices.ContainsFunc(file.Infra, func(b Rule) bool { return b.Name == r.Name }) {
			wrong = append(wrong, fmt.Errorf("infra %q: want at least one of step, log, error and exit", r.Name))
		}
		if r.says() {
			out = append(out, r)
		}
	}
	return out, errors.Join(wrong...)
}

func (r *Rule) says() bool { return r.Step+r.Log+r.Error != "" || len(r.Exit) > 0 }

func (r *Rule) compile() (err error) {
	if strings.TrimSpace(r.Name) == "" {
		return errors.New("name: want one")
	}
	for _, x := range []struct {
		key, text string
		into      **regexp.Regexp
	}{{"step", r.Step, &r.step}, {"log", r.Log, &r.log}, {"error", r.Error, &r.err}} {
		if x.text == "" {
			continue
		}
		var bad error
		if *x.into, bad = regexp.Compile(x.text); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", x.key, bad))
		}
	}
	return err
}

// Judge says whether a failure is the machinery's: when every failed step is. One
// step that no rule knows is the code's; where its log could not be read, nothing
// is known. The cause names the rule and what told it.
func Judge(rules []Rule, failed []ci.Step) (fleet.Leaf[bool], string) {
	if len(failed) == 0 {
		return fleet.Unknown[bool]("its CI does not say which step failed"), ""
	}
	cause, unread := "", ""
	for _, s := range failed {
		said, ok := match(rules, s)
		switch {
		case ok && cause == "":
			cause = said
		case ok:
		case s.Unread != "":
			unread = fmt.Sprintf("the log of %s cannot be read: %s", fleet.PipelineText(s.Name), fleet.PipelineText(s.Unread))
		default:
			return fleet.Known(false), ""
		}
	}
	if unread != "" {
		return fleet.Unknown[bool](fleet.Line(unread, 200)), ""
	}
	return fleet.Known(true), cause
}

// match finds the first rule that holds of a step, and says what told it.
func match(rules []Rule, s ci.Step) (string, bool) {
	for _, r := range rules {
		if told, ok := r.holds(s); ok {
			return fleet.Line(fmt.Sprintf("%s: %s: %s", fleet.PipelineText(r.Name), fleet.PipelineText(s.Name), told), 300), true
		}
	}
	return "", false
}

func (r *Rule) holds(s ci.Step) (told string, ok bool) {
	if r.step != nil && !r.step.MatchString(s.Name) {
		return "", false
	}
	if len(r.Exit) > 0 {
		if !slices.Contains(r.Exit, s.Exit) {
			return "", false
		}
		told = fmt.Sprintf("exit status %d", s.Exit)
	}
	for _, x := range []struct {
		re   *regexp.Regexp
		text string
	}{{r.err, s.Error}, {r.log, s.Log}} {
		if x.re == nil {
			continue
		}
		at := x.re.FindStringIndex(x.text)
		if at == nil {
			return "", false
		}
		told = lineAt(x.text, at[0])
	}
	return told, true
}

// lineAt is the line in which something stands, safe to show: secrets are sought
// before it is cut.
func lineAt(text string, at int) string {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	to := len(text)
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		to = at + n
	}
	return fleet.Line(fleet.Redact(fleet.Text(text[from:to])), 160)
}
