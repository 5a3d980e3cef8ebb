package agents

import (
	"bytes"
	"math"
	"slices"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// stream is what an agent without a terminal told by its output: the part of it
// that means the same as hook events, and what its turns cost.
type stream struct {
	seen   time.Time // the output's last change, where that is long enough ago to tell each further one (settled)
	events []fleet.HookEvent
	cost   fleet.Leaf[int64] // millionths of a dollar
	tokens fleet.Leaf[int64]

	summed  bool             // a result told the tokens of all answers
	answers map[string]int64 // tokens of each, by key
}

// streamed reads the output of a registered agent's newest instance, when it has
// changed. Output is a program's own protocol here, not a screen: each line is
// JSON of its kind's language, or says nothing.
func (l *look) streamed(reg *fleet.Registration) *stream {
	kind, is := l.streaming(reg)
	if !is {
		return nil
	}
	old := l.streams[reg.Instance]
	text, at, err := l.o.Stream(reg.Instance, old.changed())
	if err != nil || text == nil {
		return old
	}
	s := readStream(kind, reg.Instance, text, at, l.now)
	l.streams[reg.Instance] = s
	return s
}

// streaming says whether the output of an agent is read, and by which kind.
func (l *look) streaming(reg *fleet.Registration) (kind agent.Kind, is bool) {
	if reg == nil || reg.Where != fleet.WhereHeadless || reg.Instance == "" || l.o.Stream == nil {
		return kind, false
	}
	kind, known := l.o.Kinds.Get(reg.Kind)
	return kind, known && kind.Headless.Stream != ""
}

func (s *stream) changed() time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.seen
}

// readStream folds the lines of an output's end. The first may be cut off. No
// line tells its time: all are taken to be as old as the newest.
func readStream(kind agent.Kind, instance string, text []byte, at time.Time, now fleet.Instant) *stream {
	s := &stream{answers: map[string]int64{}, cost: fleet.Unknown[int64]("it has not told"), tokens: fleet.Unknown[int64]("it has not told")}
	when := now.Add(min(0, at.Sub(now.Wall)))
	if now.Wall.Sub(at) > settled {
		s.seen = at
	}
	for line := range bytes.Lines(text) {
		events, err := conversation.ReadOutput(kind.Headless.Stream, line)
		if err != nil {
			continue
		}
		for _, e := range events {
			s.spent(e)
			if h, ok := e.Hook(kind.Name, when); ok {
				h.Instance = instance
				s.events = append(s.events, h)
			}
		}
	}
	return s
}

// spent takes what is told of tokens and money. A result tells that of all answers so
// far, so that the newest counts; of a CLI whose results do not, the answers are summed.
func (s *stream) spent(e conversation.Event) {
	tokens, known := e.Tokens.Get()
	usd, priced := e.Cost.Get()
	micro := int64(math.Round(usd * 1e6))
	switch {
	case e.What == conversation.Result && known:
		s.tokens, s.summed = fleet.Known(tokens.All()), true
	case e.What == conversation.Response && known && !s.summed:
		s.tokens = fleet.Known(s.tokens.Or(0) + s.answer(e.Key, tokens.All()))
	}
	switch {
	case !priced || usd >= 1e6:
	case e.What == conversation.Result:
		s.cost = fleet.Known(micro)
	case e.What == conversation.Response:
		s.cost = fleet.Known(s.cost.Or(0) + micro)
	}
}

// answer returns how many tokens of an answer were not counted yet: each of its parts
// repeats what was told before.
func (s *stream) answer(key string, all int64) int64 {
	if key == "" {
		return all
	}
	more := max(0, all-s.answers[key])
	s.answers[key] += more
	return more
}

// spoke lets an agent's output speak where it has no hooks; both together would
// tell each tool call twice.
func (l *look) spoke(r run, hooked []fleet.HookEvent) []fleet.HookEvent {
	if _, is := l.streaming(r.reg); !is || len(hooked) > 0 || r.ours {
		return hooked
	}
	if r.Process.ID.PID != 0 {
		l.listens = append(l.listens, r.reg.Instance)
	}
	if s := l.streamed(r.reg); s != nil {
		return s.events
	}
	return hooked
}

// Listens lists the instances that ran at the last look, and of which their output alone tells.
func (p *Probe) Listens() []string {
	p.newsMu.Lock()
	defer p.newsMu.Unlock()
	return slices.Clone(p.listening)
}

// bill notes what an agent told of its cost.
func (l *look) bill(a *fleet.Agent, reg *fleet.Registration) {
	a.Cost, a.Tokens = fleet.Unknown[int64]("it has not told"), fleet.Unknown[int64]("it has not told")
	if s := l.streamed(reg); s != nil {
		a.Cost, a.Tokens = s.cost, s.tokens
	}
}
