package web

import "strings"

// menuLink is an entry of the menu.
type menuLink struct{ Name, Path string }

// menu lists the pages that a person goes to, in the order in which they are shown: one
// line for each. What lies below a path belongs to its entry.
func menu() []menuLink {
	return []menuLink{
		{"Needs you", "/"},
		{"Agents", "/agents"},
		{"Alerts", "/alerts"},
		{"Work", "/work"},
		{"Mail", "/mail"},
		{"Runs", "/runs"},
		{"Costs", "/costs"},
		{"Plan", "/plan"},
		{"Host", "/host"},
		{"Timeline", "/timeline"},
		{"Morning", "/morning"},
		{"Journal", "/journal"},
		{"Doctor", "/doctor"},
		{"Settings", "/settings"},
	}
}

// menuEntry is one of them, as a page shows it.
type menuEntry struct {
	menuLink
	Current string // "page": it is shown; "true": what is shown belongs to it; "" else
}

// Menu marks where in the menu the page is.
func (p page) Menu() []menuEntry {
	var out []menuEntry
	for _, l := range menu() {
		e := menuEntry{menuLink: l}
		switch {
		case p.Path == l.Path:
			e.Current = "page"
		case l.Path != "/" && strings.HasPrefix(p.Path, l.Path+"/"):
			e.Current = "true"
		}
		out = append(out, e)
	}
	return out
}
