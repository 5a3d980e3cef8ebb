package sessiontest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"custos/internal/fleet"
	"custos/internal/session"
)

// Fake is a Viewer of panes that exist only in memory. The zero Fake has none.
// It is safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	started int
	panes   []fleet.Pane
	screens map[fleet.PaneID]string
	err     error
}

// Set replaces all panes and the error that Panes returns with them.
func (f *Fake) Set(panes []fleet.Pane, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.panes, f.err = append([]fleet.Pane(nil), panes...), err
}

// Show sets the screen of a pane.
func (f *Fake) Show(id fleet.PaneID, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.screens == nil {
		f.screens = map[fleet.PaneID]string{}
	}
	f.screens[id] = text
}

// Open adds a session with one pane. It is Stage's.
func (f *Fake) Open(_ *testing.T, name, text string) {
	f.mu.Lock()
	f.started++
	n := f.started
	id := fleet.PaneID{
		Socket: "/fake", Server: fleet.ProcessID{PID: 100, Start: 1, Boot: "fake"},
		Pane: fmt.Sprintf("%%%d", n), Root: fleet.ProcessID{PID: 1000 + n, Start: uint64(n), Boot: "fake"},
	}
	f.panes = append(f.panes, fleet.Pane{ID: id, Session: name, SessionID: fmt.Sprintf("$%d", n), Command: "cat"})
	f.mu.Unlock()
	f.Show(id, text)
}

// Close removes a session. It is Stage's.
func (f *Fake) Close(_ *testing.T, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.panes {
		if p.Session == name {
			f.panes = append(f.panes[:i:i], f.panes[i+1:]...)
			return
		}
	}
}

// Panes is Viewer's.
func (f *Fake) Panes(ctx context.Context) ([]fleet.Pane, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f.err == nil && len(f.panes) == 0 {
		return nil, session.ErrAbsent
	}
	return append([]fleet.Pane(nil), f.panes...), f.err
}

// Screen is Viewer's.
func (f *Fake) Screen(ctx context.Context, id fleet.PaneID, lines int) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.panes {
		if p.ID == id {
			all := strings.Split(strings.TrimRight(fleet.Text(f.screens[id]), " \n"), "\n")
			return strings.Join(all[max(0, len(all)-lines):], "\n"), ctx.Err()
		}
	}
	return "", fmt.Errorf("cannot read pane %s: %w", id.Pane, session.ErrGone)
}

// Screens is as that of a tmux.Viewer.
func (f *Fake) Screens(ctx context.Context, ids []fleet.PaneID, lines int) (map[fleet.PaneID]string, error) {
	all := map[fleet.PaneID]string{}
	for _, id := range ids {
		if text, err := f.Screen(ctx, id, lines); err == nil {
			all[id] = text
		}
	}
	return all, ctx.Err()
}
