package plugin

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"custos/internal/nearest"
)

// Parse reads a plugin.md. file is how problems name it. A plugin with an error
// is not to be run. Parse takes any bytes and looks at no other file.
func Parse(file string, data []byte) (Plugin, []Problem) {
	r := &reader{problems: problems{file: file}}
	r.p.File = file
	switch {
	case len(data) > MaxBytes:
		r.wrong(1, "the file is larger than %d MiB", MaxBytes>>20)
	case !utf8.Valid(data):
		r.wrong(1, "the file is no UTF-8 text")
	default:
		r.file(string(data))
	}
	return r.p, r.sorted()
}

// reader reads one file into p.
type reader struct {
	problems
	p    Plugin
	tree tree
}

func (r *reader) file(text string) {
	parts, err := split(text)
	if err != nil {
		r.wrong(1, "%v", err)
		return
	}
	r.p.Body = strings.TrimSpace(parts.body)
	if r.tree, err = read(parts); err != nil {
		var m *mistake
		errors.As(err, &m)
		r.wrong(m.line, "%s", m.text)
		return
	}
	r.p.lines = r.tree.lines
	r.table("", r.tree.doc, r.top())
	r.checkGate()
	r.checkNames()
}

// keys are what a table may have, and how each is read.
type keys map[string]func(at string, v any)

func (r *reader) top() keys {
	return keys{
		"name": r.text(&r.p.Name), "description": r.text(&r.p.Description), "version": r.text(&r.p.Version),
		"gate": r.section(r.gate()), "tracking": r.section(r.tracking()), "execution": r.section(r.execution()),
		"parallel": r.truth(&r.p.Parallel), "disabled": r.truth(&r.p.Disabled),
		"run": r.words(&r.p.Run), "env": r.list(&r.p.Env),
	}
}

func (r *reader) gate() keys {
	g := &r.p.Gate
	return keys{
		"type": r.text((*string)(&g.Type)), "duration": r.duration(&g.Duration), "schedule": r.text(&g.Schedule), "zone": r.text(&g.Zone), "hosts": r.text(&g.Hosts),
		"when": r.text(&g.When), "check": r.words(&g.Check), "timeout": r.duration(&g.Timeout), "on": r.text(&g.On), "disabled": r.truth(&r.p.Disabled),
	}
}

func (r *reader) tracking() keys {
	return keys{"labels": r.list(&r.p.Labels), "digest": r.truth(&r.p.Digest)}
}

func (r *reader) execution() keys {
	return keys{"type": r.how, "timeout": r.duration(&r.p.Timeout), "notify_on_failure": r.truth(&r.p.Notify), "severity": r.severity}
}

// table reads the keys of one table, in the order in which they were written.
func (r *reader) table(at string, doc map[string]any, known keys) {
	names := slices.Sorted(maps.Keys(doc))
	slices.SortStableFunc(names, func(a, b string) int { return r.line(under(at, a)) - r.line(under(at, b)) })
	for _, name := range names {
		key := under(at, name)
		take, ok := known[name]
		switch {
		case !ok:
			r.unknown(key, name, known)
		case doc[name] == nil:
			r.wrong(r.line(key), "%s has no value", key)
		default:
			take(key, doc[name])
		}
	}
}

func (r *reader) line(key string) int { return r.p.Line(key) }

func under(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// unknown guesses among the keys of this table, and then of the others.
func (r *reader) unknown(key, name string, known keys) {
	hint := nearest.Hint(name, slices.Collect(maps.Keys(known)))
	for _, table := range []string{"gate", "tracking", "execution"} {
		of := map[string]keys{"gate": r.gate(), "tracking": r.tracking(), "execution": r.execution()}[table]
		if _, there := of[name]; hint == "" && there {
			hint = fmt.Sprintf("; %s belongs into %s", name, table)
		}
	}
	r.wrong(r.line(key), "unknown key %q%s", key, hint)
}

func (r *reader) section(known keys) func(string, any) {
	return func(at string, v any) {
		doc, ok := v.(map[string]any)
		if !ok {
			r.mismatch(at, v, "a table of keys")
			return
		}
		r.table(at, doc, known)
	}
}

func (r *reader) mismatch(at string, v any, want string) {
	r.wrong(r.line(at), "%s is %s, want %s", at, kindOf(v), want)
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case bool:
		return "a truth value"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date"
}

// text takes numbers too: a version may be one.
func (r *reader) text(into *string) func(string, any) {
	return func(at string, v any) {
		switch x := v.(type) {
		case string:
			*into = strings.TrimSpace(x)
		case int64:
			*into = strconv.FormatInt(x, 10)
		case float64:
			*into = strconv.FormatFloat(x, 'f', -1, 64)
		default:
			r.mismatch(at, v, "a text")
		}
	}
}

// truth is set when any of the places that it may be written at says so.
func (r *reader) truth(into *bool) func(string, any) {
	return func(at string, v any) {
		is, ok := v.(bool)
		if !ok {
			r.mismatch(at, v, "true or false")
		}
		*into = *into || is
	}
}

func (r *reader) list(into *[]string) func(string, any) {
	return func(at string, v any) {
		if one, ok := v.(string); ok {
			v = []any{one}
		}
		r.texts(into, at, v)
	}
}

func (r *reader) texts(into *[]string, at string, v any) {
	items, ok := v.([]any)
	if !ok {
		r.mismatch(at, v, "a list of texts")
		return
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok || strings.ContainsRune(s, 0) {
			r.wrong(r.line(at), "%s has something in it that is no text", at)
			return
		}
		*into = append(*into, s)
	}
}

// plainCommand is a text that means the same to every shell: words, and nothing
// that a shell would act on.
var plainCommand = regexp.MustCompile(`^[A-Za-z0-9_./:,@%+= -]+$`)

// words reads a command. A text of plain words is taken apart; of another one it
// would take a shell to know what it means, and none reads it.
func (r *reader) words(into *[]string) func(string, any) {
	return func(at string, v any) {
		if text, ok := v.(string); ok {
			if !plainCommand.MatchString(text) || len(strings.Fields(text)) == 0 {
				r.wrong(r.line(at), `%s: no shell reads it: write a list of words, as in ["./look.sh", "all"]`, at)
				return
			}
			*into = strings.Fields(text)
			return
		}
		r.texts(into, at, v)
		if len(*into) == 0 || (*into)[0] == "" {
			r.wrong(r.line(at), "%s names no program", at)
		}
	}
}

func (r *reader) duration(into *time.Duration) func(string, any) {
	return func(at string, v any) {
		text, ok := v.(string)
		if !ok {
			r.mismatch(at, v, `a duration like "90s", "12h", "7d" or "2w"`)
			return
		}
		d, err := duration(text)
		if err != nil {
			r.wrong(r.line(at), "%s: %v", at, err)
			return
		}
		*into = d
	}
}

var longTimes = regexp.MustCompile(`^(?:(\d{1,4})w)?(?:(\d{1,5})d)?(.*)$`)

// duration reads "90s", "1h30m", "7d", "2w" and "1w2d12h". A day has 24 hours.
func duration(text string) (time.Duration, error) {
	m := longTimes.FindStringSubmatch(text)
	if m == nil {
		m = []string{"", "", "", text} // it has several lines
	}
	weeks, _ := strconv.Atoi(m[1]) // a few digits, or none
	days, _ := strconv.Atoi(m[2])
	rest := time.Duration(0)
	if m[3] != "" || m[1]+m[2] == "" {
		var err error
		if rest, err = time.ParseDuration(m[3]); err != nil || rest < 0 || strings.HasPrefix(m[3], "+") {
			return 0, fmt.Errorf(`%q is no duration: write it like "90s", "12h", "7d" or "2w"`, text)
		}
	}
	d := time.Duration(weeks*7+days)*24*time.Hour + rest
	if d <= 0 || d > longest {
		return 0, fmt.Errorf("%q is no duration of more than nothing and less than ten years", text)
	}
	return d, nil
}

// longest keeps sums of durations from running over.
const longest = 10 * 365 * 24 * time.Hour

func (r *reader) how(at string, v any) {
	text, _ := v.(string)
	switch how := How(text); how {
	case ByScript, ByAgent:
		r.p.How = how
	case "exec-wrapper":
		r.wrong(r.line(at), "%s: no wrapper is run here: want script or agent", at)
	default:
		r.wrong(r.line(at), "%s is %q, want script or agent%s", at, text, nearest.Hint(text, []string{"script", "agent"}))
	}
}

// grades are the words for severities.
func grades() map[string]string {
	return map[string]string{"critical": "P1", "high": "P2", "medium": "P3", "low": "P4",
		"P0": "P0", "P1": "P1", "P2": "P2", "P3": "P3", "P4": "P4"}
}

func (r *reader) severity(at string, v any) {
	text, _ := v.(string)
	grade, ok := grades()[text]
	if !ok {
		r.wrong(r.line(at), "%s is %q, want P0 to P4, critical, high, medium or low%s", at, text, nearest.Hint(text, slices.Collect(maps.Keys(grades()))))
	}
	r.p.Severity = grade
}
