package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
)

var (
	_ session.Painter = (*Viewer)(nil)
	_ session.Painter = (*Provider)(nil)
)

// lookFormat is what is asked of a pane besides its lines.
const lookFormat = "#{pid} #{pane_id} #{pane_pid} #{cursor_x} #{cursor_y} #{cursor_flag} #{pane_in_mode}"

// Paint asks by a client of its own. See session.Painter.
func (v *Viewer) Paint(ctx context.Context, id fleet.PaneID) (session.Painting, error) {
	if !isPane(id.Pane) {
		return session.Painting{}, fmt.Errorf("cannot look at pane %q: %w", fleet.Line(id.Pane, 20), session.ErrGone)
	}
	sep := nonce()
	out, err := v.ask(ctx, fleet.RawPath(id.Socket), "display-message", "-p", "-t", id.Pane, sep+lookFormat, ";", "capture-pane", "-p", "-e", "-t", id.Pane)
	head, text, _ := strings.Cut(strings.TrimPrefix(string(out), sep), "\n")
	switch {
	case errors.Is(err, session.ErrAbsent), err != nil && strings.Contains(err.Error(), "can't find"):
		return session.Painting{}, fmt.Errorf("cannot look at pane %s of %s: %w", id.Pane, id.Socket, session.ErrGone)
	case err != nil:
		return session.Painting{}, err
	}
	return v.painted(id, head, text)
}

// painted is a painting, if it is of that very pane.
func (v *Viewer) painted(id fleet.PaneID, head, text string) (p session.Painting, err error) {
	var server, root, cursor, mode int
	var pane string
	n, _ := fmt.Sscanf(head, "%d %s %d %d %d %d %d", &server, &pane, &root, &p.X, &p.Y, &cursor, &mode)
	if n != 7 || !v.same(id, head) {
		return session.Painting{}, fmt.Errorf("cannot look at pane %s of %s: %w", id.Pane, id.Socket, session.ErrGone)
	}
	if cursor == 0 || mode != 0 {
		p.X = -1
	}
	p.Text = strings.TrimRight(text, "\n")
	return p, nil
}

// Paint asks by the client in control mode, where the server is listened to: a client for
// each picture, ten times a second, would take most of a processor. A client in control mode
// is only told of what is written (%output) in the session that it is in, and to be in that
// of an agent would tell its program of focus; so a pane is asked for what it shows. There is
// no second such client: two that wait in a stopped server end it. See session.Painter.
func (p *Provider) Paint(ctx context.Context, id fleet.PaneID) (session.Painting, error) {
	if err := p.ours(id); err != nil {
		return session.Painting{}, fmt.Errorf("cannot look at pane %s: %w", id.Pane, err)
	}
	if !p.listened.Load() {
		return p.Viewer.Paint(ctx, id)
	}
	s := newShot(id.Pane)
	late := time.NewTimer(p.deadline)
	defer late.Stop()
	for asks := p.shots; ; asks = nil {
		select {
		case asks <- s:
		case got := <-s.done:
			if got.err != nil {
				return session.Painting{}, fmt.Errorf("cannot look at pane %s of %s: %w", id.Pane, id.Socket, got.err)
			}
			return p.painted(id, got.head, got.text)
		case <-late.C:
			return session.Painting{}, fmt.Errorf("cannot look at pane %s of %s: %w", id.Pane, id.Socket, errNoAnswer)
		case <-ctx.Done():
			return session.Painting{}, ctx.Err()
		}
	}
}

// shot is one picture that is asked for in control mode. What a pane shows may be lines that
// look like the protocol's: its end is known by a random text that no program has seen.
type shot struct {
	pane, nonce string
	done        chan shotResult // takes one

	head  string
	stage shotStage
	block string // of the answer that the picture is in
	lines []string
	bytes int
}

type shotResult struct {
	head, text string
	err        error
}

type shotStage int

const (
	shotAsked  shotStage = iota // its head is to come
	shotBegins                  // the answer with its lines is to come
	shotDraws                   // its lines come
	shotEnds                    // its end has come
)

// mostShot is how large a picture may be, in bytes: a pane of 400×1000 with a look for each
// cell has less.
const mostShot = 16 << 20

func newShot(pane string) *shot {
	return &shot{pane: pane, nonce: nonce(), done: make(chan shotResult, 1)}
}

// question asks in two commands: when the first fails, the second still tells so.
func (s *shot) question() string {
	return fmt.Sprintf("display-message -p -t %s \"%sA %s\" ; capture-pane -p -e -t %s\ndisplay-message -p %sB\n", s.pane, s.nonce, lookFormat, s.pane, s.nonce)
}

// take takes a line, and says whether the picture is over. What is not of it goes to other.
func (s *shot) take(line string, r *reading, other func(line string)) (over bool, err error) {
	switch s.stage {
	case shotBegins:
		if block, ok := strings.CutPrefix(line, "%begin "); ok {
			s.block, s.stage = block, shotDraws
			return false, nil
		}
	case shotDraws:
		return false, s.draw(line, r, other)
	}
	if r.block == "" && strings.HasPrefix(line, "%") && !strings.HasPrefix(line, "%begin ") {
		other(line)
		return false, nil
	}
	t := r.take(line)
	if t.kind != answered || len(t.body) == 0 {
		return false, nil // a refusal: its end comes all the same
	}
	if head, ok := strings.CutPrefix(t.body[0], s.nonce+"A "); ok {
		s.head, s.stage = head, shotBegins
	}
	return t.body[0] == s.nonce+"B", nil
}

// draw keeps a line of the picture. When the end has come, those before it are told apart:
// the lines, how they ended, and what the server said until it began to tell of the end.
func (s *shot) draw(line string, r *reading, other func(line string)) error {
	if line != s.nonce+"B" {
		if s.bytes += len(line); s.bytes > mostShot {
			return fmt.Errorf("a picture of more than %d bytes: %w", mostShot, errRefused)
		}
		s.lines = append(s.lines, line)
		return nil
	}
	all := s.lines
	s.stage, s.lines = shotEnds, nil
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] != "%end "+s.block && all[i] != "%error "+s.block {
			continue
		}
		if all[i] == "%end "+s.block {
			s.lines = all[:i]
		} else {
			s.head = "" // it went between the two
		}
		for _, l := range all[i+1:] {
			if strings.HasPrefix(l, "%begin ") {
				r.take(l)
			} else {
				other(l)
			}
		}
		r.take(line)
		return nil
	}
	return fmt.Errorf("a picture without an end: %w", errRefused)
}

// end tells who asked.
func (s *shot) end(err error) {
	if err == nil && s.head == "" {
		err = session.ErrGone
	}
	s.done <- shotResult{s.head, strings.Join(s.lines, "\n"), err}
}
