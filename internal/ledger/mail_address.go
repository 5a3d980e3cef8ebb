package ledger

import (
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// Addresses that are no name of an agent. One that is called like one of them is not
// reached by it, but by its kind and name (AddressOf).
const (
	toParent  = "parent"    // of the agent that writes; without one: the overseer
	toAll     = "@all"      // every agent
	toProject = "@project/" // every agent of a project
	toHolders = "@role/"    // every agent of a role
	toRole    = "role/"     // one agent of a role
	ownName   = "custos"    // Custos itself
)

// Addresses is whom mail can be written to: what the ledger knows of agents, by where
// their mail lies (AddressOf).
type Addresses struct {
	all   []fleet.Registration
	At    map[string]*fleet.Registration
	watch fleet.CoordinationPolicy // who watches projects; see Watched
}

// AddressOf is where the mail of an agent lies: its name, and of one whose name means
// somebody else its kind and name. So no agent ever has what people or Custos get.
func AddressOf(agent string) string {
	if meaning(agent) != "" {
		return fleet.ByAgent(agent)
	}
	return agent
}

// InboxAt is where mail lies that is written to an address: agent/NAME is the agent of
// that name, whatever the name alone would mean.
func InboxAt(address string) string {
	if agent, is := fleet.AgentOf(address); is {
		return AddressOf(agent)
	}
	return address
}

// AddressesOf are those of all agents on record.
func AddressesOf(all []fleet.Registration) Addresses {
	c := Addresses{all: all, At: map[string]*fleet.Registration{}}
	for i := range all {
		c.At[AddressOf(all[i].Name)] = &all[i]
	}
	return c
}

// Gone says why an agent will never read mail again; "" while it may: it runs, is
// started, or has merely crashed.
func (c Addresses) Gone(address string) string {
	r := c.At[address]
	switch {
	case r == nil:
		return "there is no such agent any more"
	case r.Desired == fleet.DesiredRetired:
		return "it is retired"
	case r.Exit == nil && r.Instance != "":
		return ""
	case r.Desired == fleet.DesiredStopped:
		return "it was stopped by " + fleet.Line(r.DesiredBy, 60)
	case isFinished(r):
		return "it has ended its work"
	}
	return ""
}

// isFinished says whether an agent ended by itself, in order, and is not started
// again after that.
func isFinished(r *fleet.Registration) bool {
	return r.Exit != nil && r.Exit.Asked == "" && !r.Exit.Rebooted() && !r.Exit.Failed() && r.Restart != fleet.RestartAlways
}

// reader is whom a mail is for, and whether it was meant by name: what a group is
// told does not come back for each of it that is gone.
type reader struct {
	name  string
	group bool
}

// readers are whom an address means when self writes to it, never self. An address
// that means nobody is an error; a name that is known is not, though it be of one
// that is gone.
func (c Addresses) readers(address, self string) (out []reader, err error) {
	const what = "write mail"
	written := address
	address = InboxAt(address)
	role, toOne := strings.CutPrefix(address, toRole)
	other, isOther := readElsewhere(address)
	switch {
	case address == fleet.Overseer:
		out = []reader{{name: fleet.Overseer}}
	case address == toParent:
		out = []reader{{name: c.Above(self)}}
	case isCustos(address):
		return nil, Unfit(what, "Custos reads no mail: write to %s, whom people read, or to an agent by its name; a mail of type %s is answered", fleet.Overseer, fleet.MailWitnessPing)
	case toOne:
		out = c.holder(role, self)
	case c.At[address] != nil:
		out = []reader{{name: address}}
	case isOwnGroup(address), strings.HasPrefix(address, "@") && !isOther:
		return c.group(address, self)
	case isOther && written == address:
		if out, err = c.of(other, address, self); err != nil {
			return nil, err
		}
	case slices.ContainsFunc(foreignLists(), func(p string) bool { return strings.HasPrefix(address, p) }):
		return nil, Unfit(what, "Custos keeps no lists of readers, and %s is one: write to each, joined by commas, or to @role/ROLE", fleet.Line(address, 80))
	default:
		return nil, Unfit(what, "nobody is called %q%s", fleet.Line(address, 80), nearest.Hint(address, c.names()))
	}
	if len(out) == 0 {
		return nil, Unfit(what, "no agent has the role %q%s", fleet.Line(role, 80), nearest.Hint(role, c.words(roleOf)))
	}
	if out[0].name == self {
		return nil, Unfit(what, "%s would be writing to itself", fleet.Line(self, 80))
	}
	return out, nil
}

// CheckTaker says whether somebody who is named to have work is known: an agent on
// record, or one of others.
func (c Addresses) CheckTaker(name string, others ...string) error {
	if c.At[InboxAt(name)] != nil || slices.Contains(others, name) {
		return nil
	}
	return Unfit("take work", "nobody is called %q%s", fleet.Line(name, 80), nearest.Hint(name, append(others, c.words(nameOf)...)))
}

// isCustos says whether an address means Custos itself.
func isCustos(address string) bool { return address == fleet.ByCustos || address == ownName }

// isOwnGroup says whether an address is a group as Custos writes it.
func isOwnGroup(address string) bool {
	return address == toAll || strings.HasPrefix(address, toProject) || strings.HasPrefix(address, toHolders)
}

// group is everybody of a group that may still read, but for self.
func (c Addresses) group(address, self string) (out []reader, err error) {
	const what = "write mail"
	project, ofProject := strings.CutPrefix(address, toProject)
	role, ofRole := strings.CutPrefix(address, toHolders)
	if !isOwnGroup(address) {
		return nil, Unfit(what, "there is no group %q: it is @all, @project/NAME or @role/NAME", fleet.Line(address, 80))
	}
	for _, r := range c.all {
		to := AddressOf(r.Name)
		if (!ofProject || r.Project == project) && (!ofRole || r.Role == role) && to != self && c.Gone(to) == "" {
			out = append(out, reader{to, true})
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	hint := ""
	if ofProject {
		hint = nearest.Hint(project, c.words(projectOf))
	} else if ofRole {
		hint = nearest.Hint(role, c.words(roleOf))
	}
	return nil, Unfit(what, "%s has no other agent that could read it%s", fleet.Line(address, 80), hint)
}

// holder is the one agent of a role that is written to: one that can read, the
// first by name.
func (c Addresses) holder(role, self string) []reader {
	var all []string
	for _, r := range c.all {
		if to := AddressOf(r.Name); r.Role == role && role != "" && to != self {
			all = append(all, to)
		}
	}
	slices.Sort(all)
	i := slices.IndexFunc(all, func(n string) bool { return c.Gone(n) == "" })
	switch {
	case len(all) == 0:
		return nil
	case i < 0:
		return []reader{{name: all[0]}}
	}
	return []reader{{name: all[i]}}
}

// Above is the address of the nearest agent above another that can read; without one, the
// people. Who works for the overseer works for people, though an agent be called so.
func (c Addresses) Above(address string) string {
	for range len(c.all) {
		r := c.At[address]
		if r == nil || r.Parent == "" || r.Parent == fleet.Overseer {
			break
		}
		if address = AddressOf(r.Parent); c.Gone(address) == "" {
			return address
		}
	}
	return fleet.Overseer
}

func (c Addresses) names() []string {
	out := []string{fleet.Overseer, toParent, toAll}
	for _, r := range c.all {
		out = append(out, AddressOf(r.Name))
	}
	return out
}

func (c Addresses) words(of func(fleet.Registration) string) (out []string) {
	for _, r := range c.all {
		out = append(out, of(r))
	}
	return out
}

func nameOf(r fleet.Registration) string    { return r.Name }
func roleOf(r fleet.Registration) string    { return r.Role }
func projectOf(r fleet.Registration) string { return r.Project }

// WriterOf is the address at which an author gets mail: an agent's own, or the
// people's. Custos reads none.
func WriterOf(by string) string {
	if agent, is := fleet.AgentOf(by); is {
		return AddressOf(agent)
	}
	if by == fleet.ByCustos {
		return ""
	}
	return fleet.Overseer
}

// withReader adds a copy for a reader that has none.
func withReader(list []fleet.MailCopy, r reader, at fleet.Instant) []fleet.MailCopy {
	if r.name == "" || slices.ContainsFunc(list, func(c fleet.MailCopy) bool { return c.To == r.name }) {
		return list
	}
	return append(list, newCopy(r, at))
}

func newCopy(r reader, at fleet.Instant) fleet.MailCopy {
	c := fleet.MailCopy{To: r.name, State: fleet.CopyNew, Since: at}
	if r.group {
		c.Why = OfGroup
	}
	return c
}

// isName says whether an address is the name of one agent.
func isName(address string) bool {
	return address != "" && address[0] != '@' && address != toParent && address != fleet.Overseer && !strings.HasPrefix(address, toRole)
}

// OfGroup is why a copy is there that nobody meant by name.
const OfGroup = "one of a group"

// Copies are those of the readers of a mail that Custos wrote. What was addressed to
// somebody who went away meanwhile still has that reader, so that it comes back; what
// nobody is left for is the people's.
func (c Addresses) Copies(m fleet.Mail, at fleet.Instant) (out []fleet.MailCopy) {
	for _, to := range m.To {
		list, err := c.readers(to, WriterOf(m.From))
		if err != nil && isName(to) {
			list = []reader{{name: InboxAt(to)}}
		}
		for _, r := range list {
			out = withReader(out, r, at)
		}
	}
	if len(out) == 0 {
		out = withReader(out, reader{name: fleet.Overseer}, at)
	}
	return out
}
