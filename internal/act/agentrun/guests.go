package agentrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
)

// serverName is the name of every tmux server's process.
const serverName = "tmux: server"

// Hosted lists the panes of a tmux server, by the server's pid.
type Hosted func(ctx context.Context, server int) ([]session.Hosted, error)

// guests are what is not the agent's on a tmux server that the agent started:
// sessions that a person made there. They are its children like the agent's own, and
// carry its marker; only the server can tell them apart, and only as long as it lives.
type guests struct {
	own map[int]bool // first processes of the panes that are the agent's
	why string       // what is left alone, for people; "" when all is the agent's
}

// theirs asks a server, once, what on it is the agent's.
func (t *Tree) theirs(ctx context.Context, server proc.ID) guests {
	if g, asked := t.hosts[server]; asked {
		return g
	}
	g := guests{why: "it cannot be told who uses its tmux server"}
	if t.Hosted != nil {
		if panes, err := t.Hosted(ctx, server.PID); err == nil {
			g = sortOut(panes, t.Folder)
		} else {
			g.why += ": " + fleet.Line(err.Error(), 200)
		}
	}
	if t.hosts == nil {
		t.hosts = map[proc.ID]guests{}
	}
	t.hosts[server] = g
	return g
}

// sortOut separates the agent's sessions on its server from others: the one that the
// server was started with, and those that were made in the agent's folder, as long
// as no person has ever looked at them. Whose any other is cannot be told.
func sortOut(panes []session.Hosted, folder string) guests {
	g := guests{own: map[int]bool{}}
	var left []string
	for _, p := range panes {
		inside := folder != "" && (p.Folder == folder || strings.HasPrefix(p.Folder, strings.TrimSuffix(folder, "/")+"/"))
		if !p.Visited && (p.First || inside) {
			g.own[p.PID] = true
		} else {
			left = append(left, fleet.Line(p.Session, 40))
		}
	}
	slices.Sort(left)
	if left = slices.Compact(left); len(left) > 0 {
		g.why = fmt.Sprintf("a person may use %s on its tmux server", strings.Join(left, ", "))
	}
	return g
}

// withoutGuests leaves out, of what belongs to a tree by descent and marker, what is
// other people's: their panes on the agent's tmux servers, all below those, and the
// servers that they live on.
func (t *Tree) withoutGuests(ctx context.Context, members []proc.Member) []proc.Member {
	out := map[int]bool{}
	for _, m := range members {
		if !isServer(m, members) {
			continue
		}
		g := t.theirs(ctx, m.ID)
		if m.Hosts {
			g.why = cmp.Or(g.why, "another agent runs on its tmux server")
		}
		if g.why != "" {
			out[m.PID] = true
			t.leaveAlone(g.why)
			keepOut(out, m.PID, g.own, members)
		}
	}
	return slices.DeleteFunc(members, func(m proc.Member) bool { return out[m.PID] })
}

// isServer says whether a process is a tmux server. A child of one that has the same name
// is its fork, about to become what runs in a pane.
func isServer(m proc.Member, members []proc.Member) bool {
	return m.Name == serverName && !slices.ContainsFunc(members, func(p proc.Member) bool { return p.PID == m.PPID && p.Name == serverName })
}

// keepOut adds all below a server to out, but for the panes that are the agent's.
func keepOut(out map[int]bool, server int, own map[int]bool, members []proc.Member) {
	for more := true; more; {
		more = false
		for _, m := range members {
			below := m.PPID == server && !own[m.PID] || m.PPID != server && out[m.PPID]
			theirs := m.SID != server && out[m.SID] || m.PGID != server && out[m.PGID]
			if !out[m.PID] && (below || theirs) {
				out[m.PID], more = true, true
			}
		}
	}
}

func (t *Tree) leaveAlone(why string) {
	if !slices.Contains(t.Left, why) {
		t.Left = append(t.Left, why)
	}
}

// Begin takes hold of the first process known to be in the tree that lives, and of
// all that belongs to it. Without one, Root is nil.
func (t *Tree) Begin(ctx context.Context) error {
	for _, id := range t.Also {
		h, err := proc.Open(id)
		if err != nil {
			if isGone(err) {
				continue
			}
			return err
		}
		t.Take(h)
		members, err := t.Look(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(members, func(m proc.Member) bool { return m.ID == id }) {
			return t.Hold(members)
		}
		h.Close() // it is a guest, or has just ended
		t.root, t.held = nil, nil
	}
	return nil
}
