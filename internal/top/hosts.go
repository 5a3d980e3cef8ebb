package top

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// target is an agent that something goes to: its machine ("" is this one), and its name there.
// The two are kept apart: an agent of this machine that is called like one of another is not it.
// What was shown of it is of one instance, and so is what is done to it.
type target struct{ host, agent, instance string }

// String is the name as commands take it, safe to show.
func (t target) String() string { return on(t.host, flat(t.agent)) }

// key tells one target from all others.
func (t target) key() string {
	if t.host == "" {
		return t.agent
	}
	return t.host + "\x00" + t.agent
}

func (r row) target() target { return target{host: r.host, agent: r.agent} }

// on is what is shown of a thing that may be of another machine.
func on(host, thing string) string {
	if host == "" {
		return thing
	}
	return api.On(flat(host), thing)
}

// numbered is the number of an alert as commands take it.
func numbered(host string, number int64) string {
	if host == "" {
		return fmt.Sprintf("#%d", number)
	}
	return on(host, fmt.Sprint(number))
}

// hintOn is what a machine proposes to type.
func hintOn(host, command string) string {
	if host == "" || command == "" {
		return command
	}
	return api.CommandOn(host, command)
}

// storyOn is a story whose commands go to the machine that told it.
func storyOn(host string, s api.Story) api.Story {
	if host != "" {
		s.Next = api.HintsOn(host, s.Next)
	}
	return s
}

func (m Model) orderWords(host string, o api.Order) string {
	if host != "" {
		o.Agent, o.Next, o.Hint = api.On(host, o.Agent), api.HintsOn(host, o.Next), hintOn(host, o.Hint)
	}
	return m.o.Words.Order(o)
}

// hostsMsg is what other machines answered last.
type hostsMsg struct {
	list   []api.HostLook
	number int64
}

func (msg hostsMsg) tell(m Model) (Model, tea.Cmd) {
	m.hosts, m.hostsNumber = msg.list, msg.number
	return m, nil
}

// dueHosts asks each second what is known of the other machines. It is known without asking
// them: no machine is waited for.
func (m Model) dueHosts(asks []tea.Cmd) (Model, []tea.Cmd) {
	if m.o.Hosts == nil || m.now.Sub(m.hostsAsked) < second {
		return m, asks
	}
	m.hostsAsked = m.now
	ask, wants := m.o.Hosts, m.pane == alerts
	return m, append(asks, func() tea.Msg {
		list, number := ask(wants)
		return hostsMsg{list, number}
	})
}

// base is the moment up to which it was counted how long something lasts.
func (m Model) base() time.Time {
	if m.look.at.IsZero() {
		return m.now
	}
	return m.look.at
}

func (m Model) alertsBase() time.Time {
	if m.alerts.at.IsZero() {
		return m.now
	}
	return m.alerts.at
}

// agents are those of all machines: what may wait for a person first.
func (m Model) agents() []api.AgentRow {
	return api.Merged(m.look.v.look.Agents, m.hosts, func(h api.HostLook) []api.AgentRow { return h.Agents(m.base()) }, api.SortAgents)
}

// needs are those of all machines, the most urgent first.
func (m Model) needs() []api.Need {
	return api.Merged(m.look.v.look.NeedsYou, m.hosts, func(h api.HostLook) []api.Need { return h.Needs(m.base()) }, api.SortNeeds)
}

// allAlerts are those of all machines, the most urgent first.
func (m Model) allAlerts() []api.Alert {
	return api.Merged(m.alerts.v.Alerts, m.hosts, func(h api.HostLook) []api.Alert { return h.AlertsOn(m.alertsBase()) }, api.SortAlerts)
}

// isBlind says whether others are shown, and this machine never answered.
func (m Model) isBlind() bool { return m.o.Hosts != nil && m.look.at.IsZero() && m.look.err != nil }

// isPartial says whether one of the machines is not known now.
func (m Model) isPartial() bool {
	return slices.ContainsFunc(m.hosts, func(h api.HostLook) bool { return h.Status != "ok" })
}

func hostColour(h api.HostLook) string {
	switch {
	case h.IsSilent():
		return red
	case h.Got.IsZero():
		return faint
	}
	return yellow
}

// mostBanners is how many they are, where there is room.
const mostBanners = 3

// room is the first of the banners, line by line, and says how many there are more.
func (m Model) room(all [][]string) []string {
	most := mostBanners
	if m.height >= roomForOutcomes {
		most += len(m.hosts)
	}
	if len(all) > most {
		more := m.paint(red, cut(fmt.Sprintf("! and %d more", len(all)-most+1), m.width))
		all = append(slices.Clip(all[:most-1]), []string{more})
	}
	return slices.Concat(all...)
}
