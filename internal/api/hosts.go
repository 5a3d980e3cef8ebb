package api

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// OnBehalf is the header of a request that a process of an agent makes to the Custos of
// another machine, which cannot see that by itself. It takes power away and gives none.
const OnBehalf = "Custos-On-Behalf"

// ForHost is the header of a request that this Custos is to hand on to another host of its hub.
const ForHost = "Custos-Host"

// PersonLooks are the paths of what changes nothing, and is shown to persons alone all the same.
func PersonLooks() []string { return []string{"/v1/orders/{id}/offer", "/v1/web"} }

// IsPersonLook says whether a path is one of them.
func IsPersonLook(path string) bool {
	parts := strings.Split(path, "/")
	return slices.ContainsFunc(PersonLooks(), func(look string) bool {
		return slices.EqualFunc(strings.Split(look, "/"), parts, func(want, is string) bool { return want == is || want == "{id}" })
	})
}

// Caller is who asks, as the Custos of this machine tells it.
type Caller struct {
	Person bool   `json:"person"`          // no agent
	Agent  string `json:"agent,omitempty"` // that it belongs to; empty where it is not told which one
	Why    string `json:"why,omitempty"`   // why it counts as no person
}

// HostSeen is how another machine was seen.
type HostSeen struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok or unknown; of a HostLook pending, too
	Why    string `json:"why,omitempty"`
	Cut    string `json:"cut,omitempty"` // why not all of it is shown; empty: all is
}

// HostLook is what another machine has answered or told last, and since when it is silent. What it
// tells is the text of a stranger: its methods say what may be made of it here.
type HostLook struct {
	HostSeen
	Got    time.Time `json:"got,omitzero"`    // when it was heard last, by the clock of this machine; zero: never
	Silent time.Time `json:"silent,omitzero"` // since when it does not answer; zero: it answers
	// AsOf is the moment that ages in what follows end at; zero: Got.
	AsOf    time.Time `json:"as_of,omitzero"`
	Look    FirstLook `json:"look"`
	Offers  Offers    `json:"offers"`            // of a host of the hub
	Alerts  []Alert   `json:"alerts,omitempty"`  // nil where they were not asked for
	Pending []Pending `json:"pending,omitempty"` // of a host of the hub
	Kept    []string  `json:"kept,omitempty"`    // of a host of the hub
	Same    bool      `json:"same,omitempty"`    // only how it was heard is said: all else is as before
	// Lacks is what it cannot be asked for, as its version has no such thing; empty: nothing.
	Lacks []string `json:"lacks,omitempty"`
}

// HubLooks are the other hosts of a hub, as they tell of themselves.
type HubLooks struct {
	Number int64      `json:"number"` // larger whenever one has told something newer
	Hosts  []HostLook `json:"hosts"`  // by name
}

// IsSilent says whether it does not answer: what it has is unknown then.
func (h HostLook) IsSilent() bool { return h.Status == "unknown" }

// asOf is the moment that ages in what it says end at.
func (h HostLook) asOf() time.Time { return cmp.Or(h.AsOf, h.Got) }

// Says is what a person must know of the machine before they believe what they see of it, at
// a moment by the clock of this machine; "" when that is nothing.
func (h HostLook) Says(now time.Time) string {
	switch {
	case h.IsSilent() && h.Got.IsZero():
		return fmt.Sprintf("host %s is silent, its agents are unknown: %s", h.Name, h.Why)
	case h.IsSilent():
		return fmt.Sprintf("host %s is silent for %s, its agents are unknown: %s", h.Name, age(now.Sub(h.Silent)), h.Why)
	case h.Got.IsZero():
		return fmt.Sprintf("host %s is being asked", h.Name)
	case h.Status != "ok":
		return fmt.Sprintf("host %s is being asked, its agents are unknown: what is shown of it is %s old", h.Name, age(now.Sub(h.Got)))
	case h.Look.Frozen != "":
		return fmt.Sprintf("host %s: FROZEN by %s", h.Name, h.Look.Frozen)
	case len(h.Lacks) > 0:
		return fmt.Sprintf("host %s has another version of Custos, which does not tell: %s", h.Name, strings.Join(h.Lacks, ", "))
	case h.Cut != "":
		return fmt.Sprintf("host %s: not all is shown: %s", h.Name, h.Cut)
	}
	return ""
}

// Beyond says of which machines no agent is shown as nothing was ever heard of them: a count of
// agents is without theirs. "": of none.
func Beyond(list []HostLook) string {
	var out []string
	for _, h := range list {
		switch {
		case !h.Got.IsZero():
		case h.IsSilent():
			out = append(out, "those of "+h.Name+", which is not reached")
		default:
			out = append(out, "those of "+h.Name+", which is being asked")
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "and " + strings.Join(out, ", and ")
}

// age is a duration in whole seconds.
func age(d time.Duration) string { return max(0, d).Truncate(time.Second).String() }

// On is a name of another machine as commands of this one take it.
func On(host, name string) string { return host + "/" + name }

// Own is the name of the agent on its own machine.
func (a AgentRow) Own() string {
	if a.Host == "" {
		return a.Name
	}
	return strings.TrimPrefix(a.Name, a.Host+"/")
}

// states are words of which an agent's state is one, and kinds are longer ones; what another machine tells that is
// none is not shown as it stands.
var (
	states = regexp.MustCompile(`^[a-z_-]{1,20}$`)
	kinds  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,40}$`)
	ranks  = regexp.MustCompile(`^P[0-4]$`)
)

// wordOr is a word as another machine tells it, where it is one; instead otherwise.
func wordOr(is *regexp.Regexp, word, instead string) string {
	if word == "" || is.MatchString(word) {
		return word
	}
	return instead
}

// AgentsOn are agents as another machine tells of them, by the names that commands of this one take.
func AgentsOn(host string, list []AgentRow) []AgentRow {
	out := make([]AgentRow, 0, len(list))
	for _, g := range list {
		g.Host, g.Name = host, On(host, g.Name)
		g.State, g.Kind, g.Owner, g.Source = wordOr(states, g.State, "unknown"), wordOr(kinds, g.Kind, "unknown"), wordOr(states, g.Owner, "unknown"), wordOr(kinds, g.Source, "none")
		out = append(out, g)
	}
	return out
}

// Agents are its agents as they are known at a moment by the clock of this machine. Of a machine
// that is silent, or is being asked anew, each is unknown since then, and not gone.
func (h HostLook) Agents(now time.Time) []AgentRow {
	out := AgentsOn(h.Name, h.Look.Agents)
	for i, g := range out {
		if h.Status != "ok" {
			out[i] = h.unknown(g, now)
		} else {
			out[i].Since = Longer(g.Since, now.Sub(h.asOf()))
		}
	}
	return out
}

// unknown is an agent of a machine that does not answer now: what it is stays, what it does is
// not known.
func (h HostLook) unknown(g AgentRow, now time.Time) AgentRow {
	since, how := h.Silent, "silent"
	if !h.IsSilent() {
		since, how = h.Got, "being asked"
	}
	return AgentRow{Name: g.Name, Host: g.Host, Kind: g.Kind, Owner: g.Owner, CWD: g.CWD, Project: g.Project, Role: g.Role, Task: g.Task, Registered: g.Registered, Instance: g.Instance,
		State: "unknown", Since: age(now.Sub(since)), Source: "none",
		Reason: fmt.Sprintf("was %s %s ago; host %s is %s", g.State, age(now.Sub(h.Got)), h.Name, how)}
}

// Longer is a duration in words that has lasted longer since; one that cannot be read stays.
func Longer(since string, by time.Duration) string {
	d, err := time.ParseDuration(since)
	if err != nil {
		return since
	}
	return age(d + max(0, by))
}

// Needs are what of it needs a person, each with its machine, its moment by the clock of this
// one, and a command that acts on that machine only. Those of a silent one say how old they are.
func (h HostLook) Needs(now time.Time) []Need {
	out := make([]Need, 0, len(h.Look.NeedsYou))
	for _, n := range h.Look.NeedsYou {
		lasted := max(0, h.Look.At.Sub(n.Since))
		n.Host, n.Command, n.Priority = h.Name, CommandOn(h.Name, n.Command), wordOr(ranks, n.Priority, "P?")
		n.Since, n.For = h.asOf().Add(-lasted), age(lasted+now.Sub(h.asOf()))
		if h.IsSilent() {
			n.Summary += fmt.Sprintf(" (as it was %s ago: host %s is silent)", age(now.Sub(h.Got)), h.Name)
		} else if h.Status != "ok" {
			n.Summary += fmt.Sprintf(" (as it was %s ago: host %s is being asked)", age(now.Sub(h.Got)), h.Name)
		}
		out = append(out, n)
	}
	return out
}

// AlertsOn are its alerts, as Needs are.
func (h HostLook) AlertsOn(now time.Time) []Alert {
	out := make([]Alert, 0, len(h.Alerts))
	for _, a := range h.Alerts {
		a.Priority, a.Status = wordOr(ranks, a.Priority, "P?"), wordOr(states, a.Status, "unknown")
		a.Host, a.For = h.Name, Longer(a.For, now.Sub(h.asOf()))
		a.Next = HintsOn(h.Name, a.Next)
		if h.IsSilent() {
			a.Blind = fmt.Sprintf("host %s is silent for %s", h.Name, age(now.Sub(h.Silent)))
		} else if h.Status != "ok" {
			a.Blind = fmt.Sprintf("host %s is being asked: this is %s old", h.Name, age(now.Sub(h.Got)))
		}
		out = append(out, a)
	}
	return out
}

// SortAgents sorts agents by Attention; of equals the order stays.
func SortAgents(list []AgentRow) {
	slices.SortStableFunc(list, func(a, b AgentRow) int { return cmp.Compare(Attention(a.State), Attention(b.State)) })
}

// SortNeeds sorts what needs a person by how urgent it is; of equals the order stays. A
// priority that is none comes last: no machine puts itself in front of all others by one.
func SortNeeds(list []Need) {
	slices.SortStableFunc(list, func(a, b Need) int { return cmp.Compare(urgency(a.Priority), urgency(b.Priority)) })
}

// SortAlerts sorts alerts as SortNeeds does.
func SortAlerts(list []Alert) {
	slices.SortStableFunc(list, func(a, b Alert) int { return cmp.Compare(urgency(a.Priority), urgency(b.Priority)) })
}

func urgency(priority string) int {
	all := []string{"P0", "P1", "P2", "P3", "P4"}
	if i := slices.Index(all, priority); i >= 0 {
		return i
	}
	return len(all)
}

// HintsOn are what another machine proposes to type, as CommandOn says it.
func HintsOn(host string, list []Hint) []Hint {
	out := make([]Hint, 0, len(list))
	for _, h := range list {
		out = append(out, Hint{Command: CommandOn(host, h.Command), What: h.What})
	}
	return out
}

// Merged adds to the rows of this machine those of others, and sorts them where there are others.
func Merged[T any](own []T, others []HostLook, of func(HostLook) []T, order func([]T)) []T {
	if len(others) == 0 {
		return own
	}
	own = slices.Clone(own)
	for _, h := range others {
		own = append(own, of(h)...)
	}
	order(own)
	return own
}
