package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// Entry is one key as it is in force, to be shown to people.
type Entry struct {
	Key    string // dotted
	Value  string // as in TOML; "" where it is hidden
	Hidden bool   // it may be secret
	Line   int    // of the file that says it; 0: it is the default
}

// Shown lists the keys at the top of the file with their defaults, and then what its tables
// say, in the order of the file. No secret is in it: what may be one is hidden.
func (c Config) Shown() []Entry {
	out := c.top()
	known := map[string]bool{}
	for _, e := range out {
		known[e.Key] = true
	}
	var given []Entry
	for key, value := range c.all {
		if !known[key] {
			given = c.shown(given, key, key, value)
		}
	}
	slices.SortFunc(given, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key)) })
	return append(out, given...)
}

// top are the keys of Custos itself, as they were understood.
func (c Config) top() (out []Entry) {
	add := func(key string, value any) {
		out = append(out, Entry{Key: key, Value: shownValue(value), Line: c.lines[key]})
	}
	add("mode", c.Mode)
	add("state_dir", c.StateDir)
	add("runtime_dir", c.RuntimeDir)
	add("journal_dir", c.JournalDir)
	add("log_dir", c.LogDir)
	add("active", c.Active)
	add("patrol_every", c.PatrolEvery)
	add("patrol_idle_max", c.PatrolIdle)
	add("grace", c.Grace)
	add("action_budget", c.Budget)
	add("blast", c.Blast)
	add("workers", c.Workers)
	add("fail_on", c.FailOn)
	if line := c.lines["budget"]; line > 0 { // as action_budget was called before
		if _, isTable := c.all["budget"].(map[string]any); !isTable {
			i := slices.IndexFunc(out, func(e Entry) bool { return e.Key == "action_budget" })
			out[i].Key, out[i].Line = "budget", line
		}
	}
	return out
}

// shown appends what a value of the file says; at is the path that its line is known by.
func (c Config) shown(out []Entry, key, at string, value any) []Entry {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = c.shown(out, key+"."+name, at+"."+name, v[name])
		}
		return out
	case []any:
		if slices.ContainsFunc(v, tabular) {
			for i, one := range v {
				out = c.shown(out, fmt.Sprintf("%s[%d]", key, i), fmt.Sprintf("%s.%d", at, i), one)
			}
			return out
		}
	}
	e := Entry{Key: key, Line: c.lineOf(at), Hidden: isSecret(key, value)}
	if !e.Hidden {
		e.Value = shownValue(value)
	}
	return append(out, e)
}

func tabular(v any) bool { _, ok := v.(map[string]any); return ok }

// secretKey is the last part of a key whose value is a secret itself. What names a file, a
// command or a variable that has the secret is none.
var secretKey = regexp.MustCompile(`(?i)token|secret|passw|passphrase|credential|authorization|cookie|webhook|topic|^(?:.*_)?key$|^headers?$`)

// isSecret says whether a value may be one. All variables of an environment may.
func isSecret(key string, value any) bool {
	words := texts(value)
	if said := strings.Join(words, " "); len(words) == 0 || fleet.Redact(said) != said {
		return len(words) > 0
	}
	parts := strings.Split(key, ".")
	last := parts[len(parts)-1]
	for _, place := range []string{"_file", "_env", "_command"} {
		if strings.HasSuffix(last, place) {
			return false
		}
	}
	return secretKey.MatchString(last) || slices.ContainsFunc(parts[:len(parts)-1], func(p string) bool { return p == "env" || p == "headers" || p == "vars" })
}

// texts are those that a value has.
func texts(value any) (out []string) {
	switch v := value.(type) {
	case string:
		return []string{withoutPath(v)}
	case []any:
		for _, one := range v {
			out = append(out, texts(one)...)
		}
	}
	return out
}

// longestShown is how much of a value is shown.
const longestShown = 1000

// shownValue is a value, no secret, as it is written in TOML.
func shownValue(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(fleet.Line(withoutPath(v), longestShown))
	case time.Duration:
		return strconv.Quote(v.String())
	case Budget:
		return strconv.Quote(v.String())
	case []any:
		words := make([]string, 0, len(v))
		for _, one := range v {
			words = append(words, shownValue(one))
		}
		return fleet.Line("["+strings.Join(words, ", ")+"]", longestShown)
	}
	return fmt.Sprint(value)
}

// withoutPath is a URL as far as its host: what follows is a secret of many services.
func withoutPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.User == nil && u.Fragment == "" {
		return s
	}
	return u.Scheme + "://" + u.Host + "/…"
}
