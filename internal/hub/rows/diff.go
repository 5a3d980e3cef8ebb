package rows

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Diff is what has to be written and removed, so that what was before is as now; gone is sorted.
func Diff(before, now map[string][]byte) (put map[string][]byte, gone []string) {
	put = map[string][]byte{}
	for key, v := range now {
		if old, was := before[key]; !was || !bytes.Equal(old, v) {
			put[key] = v
		}
	}
	for key := range before {
		if _, is := now[key]; !is {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return put, gone
}

// Cut says which rows of a host are not told.
type Cut struct {
	Large []string `json:"large,omitempty"` // have too many bytes: the first of them, in order
	Odd   int      `json:"odd,omitempty"`   // how many have no key that Key makes
	More  int      `json:"more,omitempty"`  // how many there are beyond those that a host may have
	Of    int      `json:"of"`              // how many rows there are, with these
}

// mostNamed is how many rows that are too large are named.
const mostNamed = 20

// limit is what is told of rows: all of them, or those that keep the limits and a row that says what is
// cut. What it is given is not changed.
func limit(all map[string][]byte) map[string][]byte {
	cut, bad, size := Cut{Of: len(all)}, 0, 0
	for key, v := range all {
		size += len(v)
		if !isRow(key) {
			cut.Odd++
			bad++
		} else if len(v) > mostRow {
			cut.Large = append(cut.Large, key)
			bad++
		}
	}
	if bad == 0 && len(all) <= mostRows && size <= mostAll {
		return all
	}
	out := kept(all)
	cut.More = len(all) - bad - len(out)
	if bad+cut.More == 0 {
		return all
	}
	slices.Sort(cut.Large)
	cut.Large = cut.Large[:min(len(cut.Large), mostNamed)]
	said, err := json.Marshal(cut)
	if err != nil { // a struct of texts and numbers
		said = []byte("{}")
	}
	out[cutKey] = said
	return out
}

// isRow says whether Key makes a key, most of which are told without reading them as an ID.
func isRow(key string) bool {
	kind, id, is := strings.Cut(key, ".")
	if is && len(kind) <= 64 && len(id) <= mostID && isPlain(kind) && isPlain(id) {
		return true
	}
	_, _, is = Named(key)
	return is
}

func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// kept are the first rows that keep the limits.
func kept(all map[string][]byte) map[string][]byte {
	out, size := map[string][]byte{}, 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if len(out) == mostRows {
			break
		}
		if isRow(key) && len(all[key]) <= mostRow && size+len(all[key]) <= mostAll {
			out[key] = all[key]
			size += len(all[key])
		}
	}
	return out
}
