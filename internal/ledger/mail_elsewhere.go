package ledger

import (
	"cmp"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// meant is whom an address of another system means: one agent, or every one of a group.
type meant struct {
	project string   // of these; "" those of none. Any: whichever
	any     bool     // of every project
	roles   []string // they have one of these, the first before the others; nil: any
	name    string   // and are called so
	all     bool     // every one of them
	instead string   // who does their part where no agent does: fleet.Overseer, byWatcher; "" for nobody
}

// byWatcher says that Custos itself does a part: who watches the project for it is written to.
const byWatcher = "watcher"

// foreignLists are what addresses begin with that mean a list kept by another system's own settings
// (gastown, internal/mail/resolve.go at 04bcb543).
func foreignLists() []string { return []string{"list:", "queue:", "announce:", "channel:", "group:"} }

// partOf is the part that a word means with Legio (katyella/legio 0.1.0 and jayminwest/overstory,
// src/mail/broadcast.ts at b0085367) and with Gas Town (steveyegge/gastown, internal/mail/router.go at
// 04bcb543 and types.go at 175535ff): the roles of agents that have it here, and who has it where none does.
func partOf(word string) (roles []string, instead string, known bool) {
	switch word {
	case "mayor", "coordinator", "orchestrator":
		return []string{word, "coordinator", "mayor", "orchestrator"}, fleet.Overseer, true
	case "gateway", "cto":
		return []string{word}, fleet.Overseer, true
	case "human":
		return []string{}, fleet.Overseer, true
	case "witness", "monitor", "deacon", "refinery", "merger":
		return []string{word}, byWatcher, true
	case "polecat":
		return []string{word, "builder"}, "", true
	case "supervisor":
		return []string{word, "lead"}, "", true
	case "crew", "dog", "builder", "scout", "reviewer", "lead":
		return []string{word}, "", true
	}
	return nil, "", false
}

// readElsewhere reads an address as Legio and Gas Town write it; false for one that neither has.
func readElsewhere(address string) (meant, bool) {
	if group, is := strings.CutPrefix(address, "@"); is {
		return groupElsewhere(group)
	}
	parts := strings.Split(strings.TrimSuffix(address, "/"), "/")
	if len(parts) > 3 || slices.Contains(parts, "") {
		return meant{}, false
	}
	rig, last := parts[0], parts[len(parts)-1]
	m := meant{project: rig, any: rig == "*", all: rig == "*"}
	switch roles, instead, known := partOf(last); {
	case len(parts) == 1 && known && instead != "":
		return meant{any: true, roles: roles, instead: instead}, true
	case len(parts) == 1: // NAME/ is everybody of a rig
		m.all = true
		return m, address != last
	case len(parts) == 3 && rig == "deacon" && parts[1] == "dogs":
		m.any = true
	case len(parts) == 3 && parts[1] != "crew" && parts[1] != "polecats":
		return m, false
	case len(parts) == 3 && last == "*", len(parts) == 2 && last == "crew", len(parts) == 2 && last == "polecats":
		m.roles, _, _ = partOf(strings.TrimSuffix(parts[1], "s"))
		last = "*"
	case len(parts) == 2 && instead == byWatcher:
		m.roles, m.instead, last = roles, instead, ""
	}
	m.all = m.all || last == "*"
	m.name = strings.TrimPrefix(last, "*")
	return m, true
}

// groupElsewhere reads what stands behind the @ of a group: a word, in singular or plural, and, with Gas
// Town, its rig.
func groupElsewhere(group string) (meant, bool) {
	word, rig, inRig := strings.Cut(group, "/")
	word = strings.ToLower(word)
	m := meant{all: true, project: rig, any: !inRig}
	roles, instead, known := partOf(word)
	for _, end := range []struct{ many, one string }{{"ies", "y"}, {"sses", "ss"}, {"s", ""}} {
		if stem, is := strings.CutSuffix(word, end.many); is && !known {
			roles, instead, known = partOf(stem + end.one)
		}
	}
	switch {
	case inRig && rig == "":
		return m, false
	case word == "rig" && inRig:
		return m, true
	case inRig:
	case word == "all", word == "workspace":
		return m, true
	case word == "town":
		return meant{all: true, instead: fleet.Overseer}, true
	case word == "overseer":
		return meant{any: true, roles: []string{}, instead: fleet.Overseer}, true
	}
	m.roles, m.instead = roles, instead
	return m, known
}

// Watched are the same addresses, with who watches which project.
func (c Addresses) Watched(by fleet.CoordinationPolicy) Addresses {
	c.watch = by
	return c
}

// of are the readers that such an address means, never self: the living first. The error says why there is
// none.
func (c Addresses) of(m meant, address, self string) (out []reader, err error) {
	const what = "write mail"
	if !m.any && m.project != "" && !slices.Contains(c.projects(), m.project) {
		return nil, Unfit(what, "there is no project %q that %s could be of%s", fleet.Line(m.project, 80), fleet.Line(address, 80), nearest.Hint(m.project, c.projects()))
	}
	live, gone := c.fitting(m, self)
	switch {
	case m.name != "" && len(live)+len(gone) > 1:
		return nil, Unfit(what, "%s may mean each of %s: write to one by its name", fleet.Line(address, 80), strings.Join(append(live, gone...), ", "))
	case len(live) > 0 && m.all:
		for _, to := range live {
			out = append(out, reader{to, true})
		}
	case len(live) > 0:
		out = []reader{{name: live[0]}}
	case m.instead == byWatcher:
		out = []reader{{name: c.watcher(m.project, self)}}
	case m.instead != "":
		out = []reader{{name: m.instead}}
	case len(gone) > 0 && !m.all:
		out = []reader{{name: gone[0]}}
	default:
		return nil, Unfit(what, "%s means no other agent that could read it%s", fleet.Line(address, 80), nearest.Hint(m.name, c.words(nameOf)))
	}
	return out, nil
}

// fitting are the addresses of agents that fit, by role and then by name: those that may still read, and
// those that are gone. An agent that is called exactly as was written is the only one; one of no project
// may be of any that is named.
func (c Addresses) fitting(m meant, self string) (live, gone []string) {
	all := slices.Clone(c.all)
	slices.SortFunc(all, func(a, b fleet.Registration) int {
		return cmp.Or(slices.Index(m.roles, a.Role)-slices.Index(m.roles, b.Role), strings.Compare(a.Name, b.Name))
	})
	exact := slices.ContainsFunc(all, func(r fleet.Registration) bool { return m.has(r) && r.Name == m.name })
	for _, r := range all {
		to := AddressOf(r.Name)
		switch {
		case !m.has(r) || to == self && m.name == "" || exact && r.Name != m.name:
		case c.Gone(to) == "":
			live = append(live, to)
		default:
			gone = append(gone, to)
		}
	}
	return live, gone
}

func (m meant) has(r fleet.Registration) bool {
	return (m.any || r.Project == m.project || m.name != "" && r.Project == "") && (m.roles == nil || slices.Contains(m.roles, r.Role)) &&
		(m.name == "" || fleet.MeansAgent(m.name, r.Name))
}

// watcher is who watches a project, where it may still read; else people.
func (c Addresses) watcher(project, self string) string {
	name := cmp.Or(c.watch.Watchers[project], c.watch.Watcher)
	if role, is := strings.CutPrefix(name, toRole); is {
		for _, of := range []string{project, ""} {
			if live, _ := c.fitting(meant{project: of, roles: []string{role}}, self); len(live) > 0 {
				return live[0]
			}
		}
	} else if to := InboxAt(name); name != "" && to != self && c.Gone(to) == "" {
		return to
	}
	return fleet.Overseer
}

// projects are those of the agents on record, and those that somebody watches.
func (c Addresses) projects() []string {
	out := c.words(projectOf)
	for p := range c.watch.Watchers {
		out = append(out, p)
	}
	return slices.DeleteFunc(out, func(p string) bool { return p == "" })
}
