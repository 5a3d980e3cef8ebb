package agents

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// name gives every agent its stable name: the tmux session when it holds one
// agent, else session:window.pane; outside of tmux kind@folder. Those that would
// share a name are numbered by start. A number once given stays with its agent:
// when another of the same name ends, its alerts must not move to this one. A
// name that was recorded with an agent that is gone is kept, and so is that of one
// whose pane is not seen any more.
func (l *look) name(agents []fleet.Agent) {
	base := l.baseNames(agents)
	used, last := map[string]bool{}, map[string]int{}
	for _, a := range agents {
		if a.Registered { // its name is given, whatever others would be called
			used[a.Name] = true
		}
	}
	var rest []int
	for i := range agents {
		if a := &agents[i]; !a.Registered {
			if before := l.nameBefore(a.Process); (numbered(before, base[i]) || l.isVeiled(a)) && before != "" && !used[before] {
				a.Name, used[before] = before, true
			} else {
				rest = append(rest, i)
			}
		}
	}
	for _, i := range rest {
		name := base[i]
		for last[base[i]] = max(1, last[base[i]]); used[name]; {
			last[base[i]]++
			name = fmt.Sprintf("%s#%d", base[i], last[base[i]])
		}
		agents[i].Name, used[name] = name, true
	}
}

// baseNames returns what each agent would be called if it were the only one.
func (l *look) baseNames(agents []fleet.Agent) []string {
	nested, perSession := l.nested(), map[string]int{}
	for _, a := range agents {
		if a.Pane != nil && !nested[a.Process] {
			perSession[sessionKey(a.Pane)]++
		}
	}
	out := make([]string, len(agents))
	for i, a := range agents {
		switch {
		case a.Name != "": // registered, or recorded
			out[i] = a.Name
		case a.Pane != nil && !nested[a.Process] && perSession[sessionKey(a.Pane)] == 1:
			out[i] = a.Pane.Session
		case a.Pane != nil && !nested[a.Process]:
			out[i] = a.Pane.Name()
		default:
			out[i] = a.Kind + "@" + path.Base(a.CWD.Or("?"))
		}
	}
	return out
}

// nested lists the agents that another agent started.
func (l *look) nested() map[fleet.ProcessID]bool {
	out := map[fleet.ProcessID]bool{}
	for _, r := range l.runs {
		out[r.Process.ID] = r.Parent.PID != 0
	}
	return out
}

// nameBefore returns what a living agent was called when it was last seen, by
// this probe or by the one before; "" for one that was not.
func (l *look) nameBefore(id fleet.ProcessID) string {
	if id.PID == 0 {
		return ""
	}
	if s, ok := l.seen[key(id)]; ok && sameProcess(s.agent.Process, id) {
		return s.agent.Name
	}
	rec, _ := l.recordOf(id)
	return rec.Name
}

// isVeiled says whether an agent was in a pane, and none is seen now: it is called
// as it was. Servers that do not answer at once, as when Custos itself has just been
// started again, must not make another agent of it, with other alerts.
func (l *look) isVeiled(a *fleet.Agent) bool {
	return a.Pane == nil && a.Process.PID != 0 && l.lastPane(a.Process) != nil
}

// numbered says whether a name is a base name, or that with a number.
func numbered(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base)
	if !ok || rest == "" {
		return ok
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "#"))
	return err == nil && n > 1 && rest[0] == '#'
}

func sessionKey(p *fleet.Pane) string { return p.ID.Socket + "\x00" + p.SessionID }
