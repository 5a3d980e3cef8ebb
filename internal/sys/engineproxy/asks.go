package engineproxy

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ask is one thing that may be asked of an engine.
type ask struct {
	what    string // as people read it
	methods []string
	path    string // with {id} in place of a container
	query   map[string]func(string) bool
	must    string // the key that has to be there; "" for none
	show    fields
	stream  bool // the answer is lines, without an end
	needs   need
}

// need is what must have been allowed for an ask.
type need int

const (
	nothing need = iota
	restart
	pruneImages
	pruneCache
)

// reading are the methods of a look.
var reading = []string{"GET", "HEAD"}

// asks lists all that is let through, in the paths of the Docker Engine API without their
// version.
func asks() []ask {
	return []ask{
		{what: "ping", methods: reading, path: "/_ping"},
		{what: "the version", methods: reading, path: "/version", show: versionFields()},
		{what: "the engine itself", methods: reading, path: "/info", show: infoFields()},
		{what: "the events", methods: reading, path: "/events", stream: true, show: eventFields(),
			query: map[string]func(string) bool{"filters": isFilters, "since": isMoment, "until": isMoment}},
		{what: "the list of containers", methods: reading, path: "/containers/json", show: listFields(),
			query: map[string]func(string) bool{"all": isFlag, "limit": isCount, "filters": isFilters}},
		{what: "a container", methods: reading, path: "/containers/{id}/json", show: inspectFields()},
		{what: "what a container uses", methods: reading, path: "/containers/{id}/stats", show: statsFields(), must: "stream",
			query: map[string]func(string) bool{"stream": isNo, "one-shot": isFlag}},
		{what: "the images", methods: reading, path: "/images/json", show: imageFields(),
			query: map[string]func(string) bool{"all": isFlag, "filters": isFilters, "shared-size": isFlag}},
		{what: "the size of the build cache", methods: reading, path: "/system/df", show: cacheFields(), must: "type",
			query: map[string]func(string) bool{"type": is("build-cache"), "verbose": isFlag}},
		{what: "a restart", methods: []string{"POST"}, path: "/containers/{id}/restart", needs: restart},
		{what: "to remove images that nothing names", methods: []string{"POST"}, path: "/images/prune", show: prunedFields(), needs: pruneImages, must: "filters",
			query: map[string]func(string) bool{"filters": isUnnamed}},
		{what: "to remove build cache", methods: []string{"POST"}, path: "/build/prune", show: prunedFields(), needs: pruneCache, must: "filters",
			query: map[string]func(string) bool{"filters": isUnused}},
	}
}

// reference is a container as it is named in a path: its ID, a part of it, or a name.
var reference = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$`)

// version is how a path may begin.
var version = regexp.MustCompile(`^/v1\.[0-9]{1,3}(/.*)$`)

// find returns what a path asks for, the container it names, and the version of the API
// that it begins with, as "/v1.41"; ok is false where the table has nothing of it.
func find(method, path string) (a ask, id, prefix string, ok bool) {
	rest := path
	if m := version.FindStringSubmatch(path); m != nil {
		rest = m[1]
		prefix = strings.TrimSuffix(path, rest)
	}
	for _, a := range asks() {
		id, fits := match(a.path, rest)
		if fits && slices.Contains(a.methods, method) {
			return a, id, prefix, true
		}
	}
	return ask{}, "", "", false
}

// match holds a path against that of an ask.
func match(pattern, path string) (id string, ok bool) {
	before, after, named := strings.Cut(pattern, "{id}")
	if !named {
		return "", path == pattern
	}
	rest, begins := strings.CutPrefix(path, before)
	id, ends := strings.CutSuffix(rest, after)
	return id, begins && ends && reference.MatchString(id)
}

// wrong says what of a query is not let through; "" when all is.
func (a ask) wrong(q url.Values) string {
	for _, key := range sorted(q) {
		good, known := a.query[key]
		switch {
		case !known:
			return strconv.Quote(key) + " may not be asked there"
		case len(q[key]) != 1 || len(q[key][0]) > longestValue || !good(q[key][0]):
			return strconv.Quote(key) + " may not have this value there"
		}
	}
	if a.must != "" && len(q[a.must]) == 0 {
		return strconv.Quote(a.must) + " must be said there"
	}
	return ""
}

func sorted(q url.Values) []string {
	keys := make([]string, 0, len(q))
	for key := range q {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// longestValue of a query, in bytes: Custos's own have some hundred.
const longestValue = 4 << 10

func is(want string) func(string) bool { return func(v string) bool { return v == want } }

func isFlag(v string) bool { return slices.Contains([]string{"0", "1", "true", "false"}, v) }

func isNo(v string) bool { return v == "0" || v == "false" }

func isCount(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n >= 0
}

// isMoment takes seconds since 1970 with their fraction, as the client of Docker writes them.
func isMoment(v string) bool {
	f, err := strconv.ParseFloat(v, 64)
	return err == nil && f >= 0
}

// isFilters takes {"key":{"value":true}}.
func isFilters(v string) bool { return filters(v) != nil }

// filters reads what Docker calls filters; nil where they are none. A key that is written
// twice is none: who reads it next might take the other one.
func filters(v string) map[string]map[string]bool {
	var out map[string]map[string]bool
	if json.Unmarshal([]byte(v), &out) != nil || out == nil {
		return nil
	}
	again, err := json.Marshal(out)
	if err != nil || len(again) != len(compact(v)) {
		return nil
	}
	return out
}

// compact is v without the blanks outside of texts; v as it is where it cannot be told.
func compact(v string) string {
	var raw json.RawMessage
	if json.Unmarshal([]byte(v), &raw) != nil {
		return v
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return v
	}
	return string(b)
}

// isUnnamed takes the one filter by which no image goes that anything names.
func isUnnamed(v string) bool {
	f := filters(v)
	return len(f) == 1 && len(f["dangling"]) == 1 && f["dangling"]["true"]
}

// leastUnused is how long no build must have used what of the build cache goes.
const leastUnused = time.Hour

func isUnused(v string) bool {
	f := filters(v)
	if len(f) != 1 || len(f["until"]) != 1 {
		return false
	}
	for text, on := range f["until"] {
		d, err := time.ParseDuration(text)
		return on && err == nil && d >= leastUnused
	}
	return false
}
