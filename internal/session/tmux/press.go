package tmux

import (
	"context"
	"fmt"
	"strings"

	"custos/internal/fleet"
	"custos/internal/session"
)

var _ session.Keyboard = (*Provider)(nil)

// mostPressed is how many bytes of characters are pressed at once: each takes three of a
// command, of which tmux takes 16 KiB.
const mostPressed = 4 << 10

// Press gives a pane keys as a person does. See session.Keyboard.
func (p *Provider) Press(ctx context.Context, id fleet.PaneID, agent fleet.ProcessID, strokes []session.Stroke) error {
	for len(strokes) > 0 {
		if text := strokes[0].Paste; text != "" {
			if err := p.Type(ctx, id, session.Input{Text: text, Agent: agent}); err != nil {
				return err
			}
			strokes = strokes[1:]
			continue
		}
		n := 0
		for n < len(strokes) && strokes[n].Paste == "" {
			n++
		}
		if err := p.pressed(ctx, id, agent, strokes[:n]); err != nil {
			return fmt.Errorf("cannot type into pane %s: %w", id.Pane, err)
		}
		strokes = strokes[n:]
	}
	return nil
}

func (p *Provider) pressed(ctx context.Context, id fleet.PaneID, agent fleet.ProcessID, strokes []session.Stroke) error {
	if err := p.ours(id); err != nil {
		return err
	}
	command, err := pressing(id.Pane, strokes)
	if err != nil {
		return err
	}
	scrolled, err := p.ready(ctx, id, agent)
	if err != nil {
		return err
	}
	return p.act(ctx, id, command, scrolled)
}

// pressing is the command that presses keys. Characters are in it by their bytes: no text
// becomes a part of a command.
func pressing(pane string, strokes []session.Stroke) (string, error) {
	var commands []string
	bytes := 0
	for _, s := range strokes {
		switch {
		case s.Text != "":
			bytes += len(s.Text)
			commands = append(commands, fmt.Sprintf("send-keys -H -t %s % x", pane, s.Text))
		case s.Key == "" || strings.ContainsFunc(s.Key, func(c rune) bool { return c > 0x7f || c != '-' && !isPlainByte(byte(c)) }) || s.Key[0] == '-':
			return "", fmt.Errorf("%q is no key that may be pressed", fleet.Line(s.Key, 20))
		default:
			bytes += len(s.Key) + 8
			commands = append(commands, "send-keys -t "+pane+" "+s.Key)
		}
	}
	if bytes > mostPressed {
		return "", fmt.Errorf("%d bytes at once are more than %d", bytes, mostPressed)
	}
	return strings.Join(commands, " ; "), nil
}
