package control

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// The limits of a message to people.
const (
	longestMessage = 16 << 10 // bytes
	messagesOfOne  = 10       // by one agent within an hour: one that loops wakes no person all night
)

// people are sent what is said by one who calls. An agent may, in its own name, and not as if the house
// burnt.
func people() Noun {
	return Noun{"people", []Verb{{Name: "tell", Access: Author, Do: given((*Control).tell)}}}
}

func (c *Control) tell(ctx context.Context, call Call, r api.Tell) (api.Telling, error) {
	by, agent := called(r.From, call), ""
	if name, is := fleet.AgentOf(call.By); is {
		by, agent = call.By, name
	}
	m, err := c.messageOf(r, agent, call)
	if err != nil {
		return api.Telling{}, api.AsBadInput(err)
	}
	if agent != "" {
		if err := c.mayNotify(ctx, agent); err != nil {
			return api.Telling{}, err
		}
	}
	if err := c.Tell(ctx, m); err != nil {
		return api.Telling{}, err
	}
	out := api.Telling{By: by, Priority: string(m.Priority), Subject: m.Subject, To: append([]string{}, c.Receivers(m)...)}
	out.Failing = c.failing(out.To)
	if !c.Watched && len(out.To) > 0 {
		out.Waits = "no daemon runs now: custos up sends it, or the next custos patrol"
	}
	return out, nil
}

// failing are the receivers that do not take what they are told now, each with why.
func (c *Control) failing(to []string) (out []string) {
	for _, r := range c.Posts.Standing() {
		why := cmp.Or(r.Barred, r.Why)
		if why != "" && (r.Barred != "" || r.Tries > 0) && slices.Contains(to, r.Name) {
			out = append(out, r.Name+": "+fleet.Redact(fleet.Line(why, 200)))
		}
	}
	return out
}

// messageOf makes a message of it. The same words of the same one within an hour
// are one message.
func (c *Control) messageOf(r api.Tell, agent string, call Call) (fleet.Message, error) {
	if len(r.Text) > longestMessage {
		return fleet.Message{}, fmt.Errorf("cannot send people %d bytes: at most %d; put the rest in a file and say where it is", len(r.Text), longestMessage)
	}
	text := strings.TrimSpace(fleet.Redact(fleet.Text(r.Text)))
	p := fleet.Priority(cmp.Or(r.Priority, string(fleet.P2)))
	switch {
	case text == "":
		return fleet.Message{}, fmt.Errorf("cannot notify people of nothing: give a text")
	case !slices.Contains([]fleet.Priority{fleet.P0, fleet.P1, fleet.P2, fleet.P3, fleet.P4}, p):
		return fleet.Message{}, fmt.Errorf("cannot notify people at priority %q: want P0, P1, P2, P3 or P4", fleet.Line(r.Priority, 20))
	case agent != "" && p.AtLeast(fleet.P1):
		return fleet.Message{}, fmt.Errorf("cannot notify people at %s: an agent does so at P2 at most; what is worse Custos finds by itself", p)
	}
	now, who := c.Now(), fleet.Line(cmp.Or(r.From, call.By), 60)
	if agent != "" && r.From != "" { // an agent may be called as a person is
		who += " (" + call.By + ")"
	}
	head, _, more := strings.Cut(text, "\n")
	m := fleet.Message{ID: messageID(who, text, now), Kind: fleet.MessageTold, About: agent, At: now, Priority: p, Subject: fleet.Line(who+": "+head, 200)}
	if more || len(head) > 100 {
		m.Body = text
	}
	return m, nil
}

func messageID(who, text string, now fleet.Instant) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s", who, text, now.Wall.UTC().Format("2006-01-02T15"))
	return fmt.Sprintf("t-%016x", h.Sum64())
}

// mayNotify refuses an agent that has sent enough. The event log counts.
func (c *Control) mayNotify(ctx context.Context, agent string) error {
	list, err := c.Events(ctx, EventFilter{Subject: fleet.Subject{Kind: fleet.KindAgent, Name: agent}, Limit: 1000})
	if err != nil {
		return err
	}
	n := 0
	for _, e := range list {
		if e.Kind == string(fleet.MessageTold) && c.Now().Since(e.At) < time.Hour {
			n++
		}
	}
	if n >= messagesOfOne {
		return &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot notify people again: agent %s has done so %d times within an hour", agent, n),
			Hint: "write it into the journal or the scratch file"}
	}
	return nil
}
