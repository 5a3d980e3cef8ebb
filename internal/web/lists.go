package web

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"custos/internal/api"
)

// rowsAPage is how many rows of a list are shown at once.
const rowsAPage = 200

// list is a part of a page: the rows of a list that it shows, or why there are none.
type list[T any] struct {
	Rows       []T
	First      int         // number of the first one shown, from 1
	Of         int         // how many there are
	Next, Back string      // addresses of the pages beside it; "" for none
	Counts     []wordCount // of Rows
	Trouble    string      // why it is not known what there is
}

// wordCount is how many of the rows shown are called so.
type wordCount struct {
	Word  string
	Count int
}

// listed is the page of a list that an address asks for by a key of its query, or why the
// list is not known; at is that address. States are how rows are called, in
// the order that is shown; that of what is not known comes first, and is always counted. Nothing
// is counted without them.
func listed[T any](rows []T, err error, at url.URL, key string, states []string, stateOf func(T) string) list[T] {
	if err != nil {
		return list[T]{Trouble: api.ErrorOf(err).Message}
	}
	q := at.Query()
	from, _ := strconv.Atoi(q.Get(key)) // what is no number is the beginning
	from = max(0, min(from, (len(rows)-1)/rowsAPage*rowsAPage))
	to := min(len(rows), from+rowsAPage)
	l := list[T]{Rows: rows[from:to], First: from + 1, Of: len(rows)}
	beside := func(from int) string {
		q.Set(key, strconv.Itoa(from))
		return at.Path + "?" + q.Encode()
	}
	if to < len(rows) {
		l.Next = beside(to)
	}
	if from > 0 {
		l.Back = beside(max(0, from-rowsAPage))
	}
	if states != nil {
		l.Counts = counted(l.Rows, states, stateOf)
	}
	return l
}

func counted[T any](rows []T, states []string, stateOf func(T) string) (out []wordCount) {
	count := map[string]int{}
	for _, r := range rows {
		count[stateOf(r)]++
	}
	for i, state := range states {
		if count[state] > 0 || i == 0 {
			out = append(out, wordCount{state, count[state]})
		}
		delete(count, state)
	}
	for _, state := range slices.Sorted(maps.Keys(count)) { // of a daemon that knows more
		out = append(out, wordCount{state, count[state]})
	}
	return out
}

// address is that of a page with what of its query it knows: nothing else of it is led to.
func address(path string, asked url.Values, known ...string) url.URL {
	q := url.Values{}
	for _, key := range known {
		if v := asked.Get(key); v != "" {
			q.Set(key, v)
		}
	}
	return url.URL{Path: path, RawQuery: q.Encode()}
}

// oldest is when the oldest of several answers was given; those that were not are zero.
func oldest(all ...time.Time) (at time.Time) {
	for _, t := range all {
		if at.IsZero() || !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// age is for how long something is so, at a moment.
func age(at, since time.Time) string {
	if at.IsZero() || since.IsZero() {
		return "unknown"
	}
	return api.Span(max(at.Sub(since), 0).String())
}

// tone is how a state is coloured, beside its word: bad, note, good or plain.
func tone(state string) string {
	switch state {
	case "failed", "overdue", "needs a person", "in a circle", "stop", "pause", "bounced":
		return "bad"
	case "unknown", "not seen", "due", "warn", "hold", "cancelled", "new", "told", "unread":
		return "note"
	case "ready", "running", "done", "passed", "under":
		return "good"
	}
	return "plain"
}
