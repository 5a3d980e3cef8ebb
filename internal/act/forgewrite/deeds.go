package forgewrite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// deed is one thing to do to one issue.
type deed interface {
	// left says whether anything of it is still to be done, and keeps what.
	left(ctx context.Context, now forge.Issue) (bool, error)
	do(ctx context.Context) error
	effect() string
}

func (x *Action) deed(a fleet.Action, t target, p Project) (deed, error) {
	if x.do == CloseIssue || x.do == ReopenIssue {
		return x.moving(a, t, p)
	}
	if x.do == ClosePull {
		return x.closingPull(a, t, p)
	}
	if x.do == MergePull {
		return x.mergingPull(a, t, p)
	}
	if x.do == DequeuePull {
		return &dequeuing{writer: p.Writer, number: t.number}, nil
	}
	if x.do == Comment {
		text := strings.TrimSpace(fleet.Redact(fleet.Text(a.Text)))
		if text == "" {
			return nil, errors.New("there is nothing to say")
		}
		return &saying{writer: p.Writer, number: t.number, key: keyOf(a, t), text: text}, nil
	}
	list, err := changesOf(a.Text)
	if err != nil {
		return nil, err
	}
	if x.do == Assign {
		return &changing{number: t.number, want: list, what: "assignee", change: p.Writer.Assign,
			has: func(i forge.Issue) []string { return i.Assignees }}, nil
	}
	return &changing{number: t.number, want: p.named(list), what: "label", change: p.Writer.Label,
		has: func(i forge.Issue) []string { return i.Labels }}, nil
}

// keys mark a comment: that by which it is said, and those by which it may have been said before.
type keys struct {
	now, before string
}

// keyOf marks a comment: the same for what is said by one rule about one thing,
// as long as the same agent, or the same commit, is its cause. Each host has a name of its own for
// the project; it had that in the key before several hosts shared one.
func keyOf(a fleet.Action, t target) keys {
	about := a.For.Subject.String()
	if a.For.Subject.Name == t.name {
		about = fmt.Sprintf("%s/%d", a.For.Subject.Kind, t.number)
	}
	return keys{now: marked(a.For.Rule, about, strconv.Itoa(t.number), t.about), before: marked(a.For.Rule, a.For.Subject.String(), t.name, t.about)}
}

func marked(rule string, what ...string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", rule)
	for _, w := range what {
		fmt.Fprintf(h, " %q", w)
	}
	return strings.ReplaceAll(rule, "--", "-") + ":" + hex.EncodeToString(h.Sum(nil)[:8])
}

// saying is a comment.
type saying struct {
	writer Writer
	number int
	key    keys
	text   string
}

func (s *saying) left(ctx context.Context, _ forge.Issue) (bool, error) {
	said, err := s.writer.Said(ctx, s.number, s.key.now)
	if err == nil && !said && s.key.before != "" {
		said, err = s.writer.Said(ctx, s.number, s.key.before)
	}
	return !said, err
}

func (s *saying) do(ctx context.Context) error {
	_, err := s.writer.Comment(ctx, s.number, s.key.now, s.text)
	return err
}

func (s *saying) effect() string { return "said under it: " + fleet.Line(s.text, 120) }

// change is something to be put on, or taken off.
type change struct {
	name string
	on   bool
}

// allNames stands for all that are there.
const allNames = "*"

// changesOf reads "+a, -b".
func changesOf(text string) (list []change, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		name := strings.TrimSpace(strings.TrimLeft(part, "+-"))
		if len(part) < 2 || name == "" || part[0] != '+' && part[0] != '-' || part == "+"+allNames {
			return nil, fmt.Errorf("cannot read %q: want something like \"+ready, -in-progress\"", fleet.Line(text, 80))
		}
		list = append(list, change{name, part[0] == '+'})
	}
	return list, nil
}

// named puts the project's own labels for the words that stand for them. What the
// project has no label for is left out.
func (p Project) named(list []change) (out []change) {
	for _, c := range list {
		labels, stands := p.Labels[c.name]
		switch {
		case !stands:
			out = append(out, c)
		case c.on && len(labels) > 0:
			out = append(out, change{labels[0], true})
		case !c.on:
			for _, l := range labels {
				out = append(out, change{l, false})
			}
		}
	}
	return out
}

// changing puts labels or assignees on and takes them off.
type changing struct {
	number int
	what   string
	want   []change
	has    func(forge.Issue) []string
	change func(ctx context.Context, number int, name string, on bool) (bool, error)

	todo, done []change
}

func (c *changing) left(_ context.Context, now forge.Issue) (bool, error) {
	c.todo = nil
	there := c.has(now)
	for _, w := range c.want {
		if w.name == allNames {
			for _, name := range there {
				c.todo = append(c.todo, change{name, false})
			}
			continue
		}
		if w.on != slices.ContainsFunc(there, func(s string) bool { return strings.EqualFold(s, w.name) }) {
			c.todo = append(c.todo, w)
		}
	}
	return len(c.todo) > 0, nil
}

func (c *changing) do(ctx context.Context) error {
	for _, w := range c.todo {
		if _, err := c.change(ctx, c.number, w.name, w.on); err != nil {
			return err
		}
		c.done = append(c.done, w)
	}
	return nil
}

func (c *changing) effect() string {
	var words []string
	for _, w := range c.done {
		way := "off"
		if w.on {
			way = "on"
		}
		words = append(words, c.what+" "+fleet.Line(w.name, nameRunes)+" "+way)
	}
	return strings.Join(words, ", ")
}
