package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Seen is what a look found that setup asks about.
type Seen struct {
	Agents  []Agent  `json:"agents"`
	Places  []Place  `json:"places"`
	Servers []string `json:"tmux_servers"` // sockets of the tmux servers with panes
	NotSeen []string `json:"not_seen"`     // what could not be looked at, and why: it may be there
}

// Agent is one agent that runs, and was not started by Custos.
type Agent struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Version string `json:"version,omitempty"`
	Folder  string `json:"folder,omitempty"` // empty where it is not known
	Mine    bool   `json:"mine"`             // known to run as this user
}

// Place is a repository, or a folder that belongs to none, in which agents work.
type Place struct {
	Path       string `json:"path"`
	Repository bool   `json:"repository"`
	Worktrees  int    `json:"worktrees,omitempty"`
	Agents     int    `json:"agents"`
	// Elsewhere are folders of its worktrees outside of it in which agents work.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Mine says that agents work there and all of them are known to run as this user.
	Mine bool `json:"mine"`
	// Wide says that the home lies in it: it is yours only where a person says so, for whatever
	// is below would be.
	Wide bool `json:"wide,omitempty"`
	// Unfit is why it cannot be named in custos.toml; empty where it can.
	Unfit string `json:"unfit,omitempty"`
}

// known is a value of a recording, or {"unknown": why}, which leaves it empty.
type known string

func (k *known) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*k = known(s)
	}
	return nil
}

type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

type sight struct {
	Status string `json:"status"`
	Why    string `json:"why"`
}

// recording is as much of one as is asked about here.
type recording struct {
	Snapshot struct {
		From struct {
			UID int `json:"uid"`
		} `json:"from"`
		Processes struct {
			Sight sight `json:"sight"`
			Value []struct {
				ID  process `json:"id"`
				UID int     `json:"uid"`
			} `json:"value"`
		} `json:"processes"`
		Sessions struct {
			Sight sight `json:"sight"`
			Value []struct {
				ID struct {
					Socket string `json:"socket"`
				} `json:"id"`
			} `json:"value"`
		} `json:"sessions"`
		Agents struct {
			Sight sight `json:"sight"`
			Value []struct {
				Name    string  `json:"name"`
				Kind    string  `json:"kind"`
				Version string  `json:"version"`
				Owner   string  `json:"owner"`
				Process process `json:"process"`
				CWD     known   `json:"cwd"`
			} `json:"value"`
		} `json:"agents"`
		Repos struct {
			Sight sight `json:"sight"`
			Value struct {
				Repos []struct {
					Path string `json:"path"`
				} `json:"repos"`
				Worktrees []struct {
					Path string `json:"path"`
					Repo string `json:"repo"`
				} `json:"worktrees"`
			} `json:"value"`
		} `json:"repos"`
	} `json:"snapshot"`
}

// Read takes from a recording what setup asks about; home is the person's.
func Read(text []byte, home string) (Seen, error) {
	var r recording
	if err := json.Unmarshal(text, &r); err != nil {
		return Seen{}, fmt.Errorf("cannot read what was seen: %w", err)
	}
	s := Seen{Agents: r.agents(), Servers: r.servers(), NotSeen: r.notSeen()}
	s.Places = r.places(s.Agents)
	for i := range s.Places {
		p := &s.Places[i]
		p.Wide = p.Repository && within(home, p.Path)
		p.Mine = p.Mine && !p.Wide
	}
	return s, nil
}

// agents are those that run and are not of Custos.
func (r recording) agents() []Agent {
	of := map[process]int{}
	for _, p := range r.Snapshot.Processes.Value {
		of[p.ID] = p.UID
	}
	list := []Agent{}
	for _, a := range r.Snapshot.Agents.Value {
		uid, seen := of[a.Process]
		if a.Process.PID != 0 && a.Owner != "custos" {
			list = append(list, Agent{Name: a.Name, Kind: a.Kind, Version: a.Version, Folder: string(a.CWD), Mine: seen && uid == r.Snapshot.From.UID})
		}
	}
	return list
}

func (r recording) servers() []string {
	list := []string{}
	for _, p := range r.Snapshot.Sessions.Value {
		if p.ID.Socket != "" && !slices.Contains(list, p.ID.Socket) {
			list = append(list, p.ID.Socket)
		}
	}
	return list
}

func (r recording) notSeen() []string {
	list := []string{}
	s := r.Snapshot
	for _, part := range []struct {
		name  string
		sight sight
	}{{"agents", s.Agents.Sight}, {"processes", s.Processes.Sight}, {"repositories", s.Repos.Sight}, {"tmux", s.Sessions.Sight}} {
		if st := part.sight.Status; st != "ok" && st != "absent" {
			list = append(list, strings.TrimSuffix(fmt.Sprintf("%s: %s, %s", part.name, cmp.Or(st, "unknown"), part.sight.Why), ", "))
		}
	}
	return list
}

// places are the repositories that are seen, and where agents work outside of them.
func (r recording) places(agents []Agent) []Place {
	list := []Place{}
	tops := map[string]int{} // of each folder that a place has, which place
	for _, repo := range r.Snapshot.Repos.Value.Repos {
		tops[repo.Path] = len(list)
		list = append(list, Place{Path: repo.Path, Repository: true, Mine: true})
	}
	for _, w := range r.Snapshot.Repos.Value.Worktrees {
		if i, ok := tops[w.Repo]; ok {
			tops[w.Path] = i
			list[i].Worktrees++
		}
	}
	for _, a := range agents {
		if a.Folder == "" {
			continue
		}
		top, i, ok := above(tops, a.Folder)
		if !ok {
			top, i = a.Folder, len(list)
			tops[top] = i
			list = append(list, Place{Path: top, Mine: true})
		}
		p := &list[i]
		p.Agents++
		p.Mine = p.Mine && a.Mine
		if !within(top, p.Path) && !slices.Contains(p.Elsewhere, top) {
			p.Elsewhere = append(p.Elsewhere, top)
		}
	}
	for i := range list {
		list[i].Mine = list[i].Mine && list[i].Agents > 0
		list[i].Unfit = unfit(append(list[i].Elsewhere, list[i].Path))
		list[i].Mine = list[i].Mine && list[i].Unfit == ""
	}
	return list
}

// above is the nearest of some folders that a folder is, or lies in.
func above(tops map[string]int, folder string) (top string, i int, ok bool) {
	for dir := path.Clean(folder); ; dir = path.Dir(dir) {
		if i, ok := tops[dir]; ok {
			return dir, i, true
		}
		if dir == "/" || dir == "." {
			return "", 0, false
		}
	}
}

func within(folder, of string) bool { return folder == of || strings.HasPrefix(folder, of+"/") }

// unfit says why folders cannot be named: what stands in custos.toml is a glob.
func unfit(folders []string) string {
	for _, f := range folders {
		if strings.ContainsAny(f, `*?[]{}\`) || !strings.HasPrefix(f, "/") || f == "/" {
			return "its path cannot be named in custos.toml by itself: " + f
		}
	}
	return ""
}
