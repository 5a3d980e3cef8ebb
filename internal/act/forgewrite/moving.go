package forgewrite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// moving closes an issue, or opens it again; why is said under it first, so that
// it is not seen closed without a word.
type moving struct {
	writer Writer
	number int
	open   bool
	why    *saying // nil: nothing is said
}

// moving is for issues only: a pull request is closed by its reviewer.
func (x *Action) moving(a fleet.Action, t target, p Project) (deed, error) {
	if a.Target.Issue == nil {
		return nil, errors.New("only an issue is closed, or opened again")
	}
	m := &moving{writer: p.Writer, number: t.number, open: x.do == ReopenIssue}
	if was, known := a.Target.Issue.Open.Get(); !known || was == m.open {
		return nil, fmt.Errorf("%s was not seen to be %s: %w", t.name, openWord(!m.open), act.ErrRefused)
	}
	if text := strings.TrimSpace(fleet.Redact(fleet.Text(a.Text))); text != "" {
		m.why = &saying{writer: p.Writer, number: t.number, key: x.reasonKey(a, t), text: text}
	}
	return m, nil
}

// reasonKey is, of what somebody asks for, made of the action's ID: what is said of one closing is said
// again of the next one. What a merge closes it closes once, however often that is tried.
func (x *Action) reasonKey(a fleet.Action, t target) keys {
	if a.For.Subject.Kind != fleet.KindMerge {
		return keys{now: x.do + ":" + a.ID}
	}
	t.about = x.do + " " + a.Text
	return keyOf(a, t)
}

// moves says that what is closed already is no obstacle to it.
func (m *moving) moves() {}

func openWord(open bool) string {
	if open {
		return "open"
	}
	return "closed"
}

func (m *moving) left(_ context.Context, now forge.Issue) (bool, error) {
	if now.IsPull {
		return false, fmt.Errorf("it is a pull request: %w", act.ErrRefused)
	}
	return now.Open != m.open, nil
}

func (m *moving) do(ctx context.Context) error {
	if m.why != nil {
		if err := m.why.do(ctx); err != nil {
			return err
		}
	}
	_, err := m.writer.Open(ctx, m.number, m.open)
	return err
}

func (m *moving) effect() string {
	if m.why != nil {
		return "it is " + openWord(m.open) + "; " + m.why.effect()
	}
	return "it is " + openWord(m.open)
}
