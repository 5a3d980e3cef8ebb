package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custos/internal/fleet"
	"custos/internal/session"
)

// batch is how many screens one client asks for: tmux refuses a command line of
// more than 16 KiB, and one screen takes about 90 bytes of it.
const batch = 100

// Screen returns the text of one pane. See session.Viewer.
func (v *Viewer) Screen(ctx context.Context, id fleet.PaneID, lines int) (string, error) {
	got, err := v.capture(ctx, []fleet.PaneID{id}, lines)
	if err != nil {
		return "", err
	}
	text, ok := got[id]
	if !ok {
		return "", fmt.Errorf("cannot read pane %s of %s: %w", id.Pane, id.Socket, session.ErrGone)
	}
	return text, nil
}

// Screens returns the text of many panes, with one client per hundred panes of
// a server. A pane that is gone is missing from the answer and is no error; an
// error names the servers that did not answer.
func (v *Viewer) Screens(ctx context.Context, ids []fleet.PaneID, lines int) (map[fleet.PaneID]string, error) {
	bySocket := map[string][]fleet.PaneID{}
	for _, id := range ids {
		bySocket[id.Socket] = append(bySocket[id.Socket], id)
	}
	all := map[fleet.PaneID]string{}
	var errs []error
	for _, ids := range bySocket {
		for len(ids) > 0 {
			n := min(batch, len(ids))
			got, err := v.capture(ctx, ids[:n], lines)
			for id, text := range got {
				all[id] = text
			}
			ids = ids[n:]
			if err != nil && !errors.Is(err, session.ErrGone) {
				errs = append(errs, err)
				break // the other batches of this server would wait as long
			}
		}
	}
	return all, errors.Join(errs...)
}

// capture reads panes of one server. tmux stops at the first pane it cannot
// find, so what is missing is asked for again without it.
func (v *Viewer) capture(ctx context.Context, ids []fleet.PaneID, lines int) (map[fleet.PaneID]string, error) {
	got := map[fleet.PaneID]string{}
	for len(ids) > 0 {
		sep := nonce()
		out, err := v.ask(ctx, fleet.RawPath(ids[0].Socket), captureArgs(sep, ids)...)
		if errors.Is(err, session.ErrAbsent) {
			return got, fmt.Errorf("cannot read panes of %s: %w", ids[0].Socket, session.ErrGone)
		}
		sections := strings.Split(string(out), sep)[1:]
		if err != nil && len(sections) == 0 {
			return got, err
		}
		for i, section := range sections[:min(len(sections), len(ids))] {
			head, text, _ := strings.Cut(section, "\n")
			last := err != nil && i == len(sections)-1 // the one tmux stumbled over
			if !last && v.same(ids[i], head) {
				got[ids[i]] = bottom(text, lines)
			}
		}
		if err == nil {
			break
		}
		ids = ids[min(len(sections), len(ids)):]
	}
	return got, nil
}

func captureArgs(sep string, ids []fleet.PaneID) []string {
	var args []string
	for _, id := range ids {
		if len(args) > 0 {
			args = append(args, ";")
		}
		args = append(args, "display-message", "-p", "-t", id.Pane, sep+"#{pid} #{pane_id} #{pane_pid}",
			";", "capture-pane", "-p", "-t", id.Pane)
	}
	return args
}

// same checks, in the very command that captured the pane, that it still is the
// pane it was: same server, same pane, same first process.
func (v *Viewer) same(id fleet.PaneID, head string) bool {
	var server, root int
	var pane string
	if n, _ := fmt.Sscanf(head, "%d %s %d", &server, &pane, &root); n != 3 {
		return false
	}
	return pane == id.Pane && v.identity(server) == id.Server && v.identity(root) == id.Root
}

// bottom returns the last n lines that are not empty space at the end of the
// screen, made safe to show.
func bottom(text string, n int) string {
	lines := strings.Split(strings.TrimRight(fleet.Text(text), " \n\t"), "\n")
	return strings.Join(lines[max(0, len(lines)-max(n, 0)):], "\n")
}
