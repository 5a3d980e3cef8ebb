package agents

import (
	"fmt"
	"path"

	"custos/internal/fleet"
)

// name gives every agent its stable name: the tmux session when it holds one
// agent, else session:window.pane; outside of tmux kind@folder. Those that would
// share a name are numbered by start. A name that was recorded with an agent
// that is gone is kept.
func (l *look) name(agents []fleet.Agent) {
	perSession := map[string]int{}
	nested := map[fleet.ProcessID]bool{}
	for _, r := range l.runs {
		nested[r.Process.ID] = r.Parent.PID != 0
	}
	for _, a := range agents {
		if a.Pane != nil && !nested[a.Process] {
			perSession[sessionKey(a.Pane)]++
		}
	}
	used := map[string]int{}
	for _, a := range agents {
		if a.Registered { // its name is given, whatever others would be called
			used[a.Name]++
		}
	}
	for i := range agents {
		a := &agents[i]
		if a.Registered {
			continue
		}
		switch {
		case a.Name != "": // recorded
		case a.Pane != nil && !nested[a.Process] && perSession[sessionKey(a.Pane)] == 1:
			a.Name = a.Pane.Session
		case a.Pane != nil && !nested[a.Process]:
			a.Name = a.Pane.Name()
		default:
			a.Name = a.Kind + "@" + path.Base(a.CWD.Or("?"))
		}
		base := a.Name
		for used[a.Name] > 0 {
			used[base]++
			a.Name = fmt.Sprintf("%s#%d", base, used[base])
		}
		used[a.Name]++
	}
}

func sessionKey(p *fleet.Pane) string { return p.ID.Socket + "\x00" + p.SessionID }
