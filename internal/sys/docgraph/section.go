package docgraph

import (
	"bytes"
	"encoding/json"
)

// Section returns the report as a fenced block of JSON, at most maxBytes long, for
// a prompt; the heading is the caller's. Lists that do not fit are cut, with the
// number of what was cut. It is "" when there is nothing to tell, or no room.
func (g Graph) Section(maxBytes int) string {
	if len(g.Nodes) == 0 {
		return ""
	}
	for _, most := range []int{50, 20, 10, 5, 2, 1} {
		if s := g.section(most); s != "" && len(s) <= maxBytes {
			return s
		}
	}
	return ""
}

// shown is the report as it is printed: its characters can all be seen, and the
// lists are cut.
type shown struct {
	Report
	Cut map[string]int `json:"cut,omitempty"`
}

func (g Graph) section(most int) string {
	s := shown{Report: g.Report, Cut: map[string]int{}}
	s.Orphans = first(s.Cut, "orphans", g.Orphans, most)
	s.Cycles = first(s.Cut, "cycles", g.Cycles, most)
	s.Disconnected = first(s.Cut, "disconnected", g.Disconnected, most)
	s.Thin = first(s.Cut, "thin_objectives", g.Thin, most)
	s.Bottlenecks = first(s.Cut, "bottlenecks", g.Bottlenecks, most)
	s.Missing = first(s.Cut, "missing", g.Missing, most)
	s.LeftOut = first(s.Cut, "left_out", g.LeftOut, most)
	s.readable()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // an arrow stays an arrow; no line of JSON can end the fence
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		return ""
	}
	return "```json\n" + b.String() + "```\n"
}

// first copies the first of a list; none is an empty list, not null.
func first[T any](cut map[string]int, name string, list []T, most int) []T {
	if len(list) > most {
		cut[name] = len(list) - most
		list = list[:most]
	}
	return append([]T{}, list...)
}

func (s *shown) readable() {
	for i := range s.Orphans {
		s.Orphans[i].ID = plain(s.Orphans[i].ID)
	}
	for i := range s.Cycles {
		s.Cycles[i].Chain = plains(s.Cycles[i].Chain, maxChain)
	}
	for i := range s.Disconnected {
		s.Disconnected[i].Cluster = plains(s.Disconnected[i].Cluster, maxMembers)
	}
	for i := range s.Thin {
		s.Thin[i].ID, s.Thin[i].Status = plain(s.Thin[i].ID), plain(s.Thin[i].Status)
	}
	for i := range s.Bottlenecks {
		s.Bottlenecks[i].ID = plain(s.Bottlenecks[i].ID)
	}
	for i := range s.Missing {
		s.Missing[i].From, s.Missing[i].To = plain(s.Missing[i].From), plain(s.Missing[i].To)
	}
	for i := range s.LeftOut {
		s.LeftOut[i] = LeftOut{plain(s.LeftOut[i].What), plain(s.LeftOut[i].Why)}
	}
}

// plains is a list in which all can be seen; what is cut from its end is said.
func plains(list []string, most int) []string {
	out := []string{}
	for _, s := range list[:min(len(list), most)] {
		out = append(out, plain(s))
	}
	if len(list) > most {
		out = append(out, "…")
	}
	return out
}
